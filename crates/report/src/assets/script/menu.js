// --- a chart's menu ----------------------------------------------------------------------------------------
// Every chart has one, which the keyboard reaches: pictures of it, and the whole of it after a zoom.

function fileName(element) {
  return `assay-${element.dataset.chart}`.replace(/[^a-z0-9]+/gi, '-');
}

const ACTIONS = [
  ['Save as PNG', (element) => Plotly.downloadImage(element, { format: 'png', scale: 2, filename: fileName(element) })],
  ['Save as SVG', (element) => Plotly.downloadImage(element, { format: 'svg', filename: fileName(element) })],
  ['Show all of it', (element) => showAll(element)],
];

function addMenu(element) {
  const menu = document.createElement('details');
  menu.className = 'menu';
  const head = document.createElement('summary');
  head.textContent = '⋯';
  head.setAttribute('aria-label', `Menu: ${element.getAttribute('aria-label')}`);
  head.title = 'Save this chart';
  menu.append(head);
  for (const [text, act] of ACTIONS) {
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = text;
    button.addEventListener('click', () => { menu.open = false; head.focus(); act(element); });
    menu.append(button);
  }
  menu.addEventListener('keydown', (event) => {
    if (event.key === 'Escape') { menu.open = false; head.focus(); }
  });
  menu.addEventListener('focusout', (event) => {
    if (!menu.contains(event.relatedTarget)) menu.open = false;
  });
  element.before(menu);
}

