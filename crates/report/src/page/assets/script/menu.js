// --- a chart's menu ----------------------------------------------------------------------------------------
// Every figure has one, which is its only stop for the keyboard: pictures of it, and the whole of it after a zoom.

// What each figure's menu saves.
const compositions = new Map();

const plainName = (text) => `assay-${text}`.replace(/[^a-z0-9]+/gi, '-');

// Of what `compose` draws when asked; `before` is what the menu stands in front of.
function addMenu(before, { name, heading, compose, showAll: show }) {
  const menu = make('details', 'menu');
  const head = make('summary', '', '⋯', { title: 'Save this chart' });
  head.setAttribute('aria-label', `Menu: ${heading}`);
  menu.append(head);
  const close = () => { menu.open = false; head.focus(); };
  const actions = [
    ['Save as PNG', () => save(compose, 'png', name())],
    ['Save as SVG', () => save(compose, 'svg', name())],
    ['Show all of it', show],
  ];
  for (const [text, act] of actions) {
    const button = make('button', '', text, { type: 'button' });
    button.addEventListener('click', () => { close(); act(); });
    menu.append(button);
  }
  menu.addEventListener('keydown', (event) => { if (event.key === 'Escape') close(); });
  menu.addEventListener('focusout', (event) => {
    if (!menu.contains(event.relatedTarget)) menu.open = false;
  });
  before.before(menu);
  compositions.set(before.closest('figure'), compose);
}

function addPlotMenu(element) {
  addMenu(element, { name: () => plainName(element.dataset.chart), heading: element.getAttribute('aria-label'),
    compose: () => pictureOfPlot(element), showAll: () => showAll(element) });
}

function addPanelsMenu(figure, second) {
  const panels = figure.querySelector('.panels');
  // The menu is the stop, and the keys of zooming work on it.
  panels.removeAttribute('tabindex');
  addMenu(panels, { name: () => plainName(second.name), heading: panels.getAttribute('aria-label'),
    compose: () => pictureOfPanels(figure, second), showAll: () => setZoom(null) });
  const head = figure.querySelector('.menu summary');
  head.setAttribute('aria-describedby', 'keys');
  zoomByKeys(figure);
}
