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

// --- one time axis -----------------------------------------------------------------------------------------
// What is zoomed to in one chart of seconds is shown in all of them.

let zoom = null;

function setZoom(range) {
  zoom = range;
  for (const chart of charts.values()) if (chart.isOfSeconds) chart.isStale = true;
  for (const chart of charts.values()) if (chart.isNear) draw(chart);
}

function followZoom(chart) {
  if (chart.isFollowed) return;
  chart.isFollowed = true;
  chart.element.on('plotly_relayout', (change) => {
    if (change['xaxis.autorange']) setZoom(null);
    else if (change['xaxis.range[0]'] !== undefined) setZoom([change['xaxis.range[0]'], change['xaxis.range[1]']]);
  });
}

function showAll(element) {
  if (charts.get(element).isOfSeconds) { setZoom(null); return; }
  const { xaxis, yaxis } = charts.get(element).build().layout;
  const range = (name, axis) => axis.range ? { [`${name}.range`]: axis.range } : { [`${name}.autorange`]: true };
  Plotly.relayout(element, { ...range('xaxis', xaxis), ...range('yaxis', yaxis) });
}

