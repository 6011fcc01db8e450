// --- one time axis -----------------------------------------------------------------------------------------
// What is zoomed to in one chart of seconds is shown in all of them.

let zoom = null;

function setZoom(range) {
  showZoom(range);
  remember();
}

function showZoom(range) {
  zoom = range;
  const shown = byId('span');
  if (shown) shown.textContent = range ? `Shown: second ${Math.round(range[0])} to ${Math.round(range[1])}.` : '';
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
  const { xaxis, yaxis } = charts.get(element).build().layout;
  const range = (name, axis) => axis.range ? { [`${name}.range`]: axis.range } : { [`${name}.autorange`]: true };
  Plotly.relayout(element, { ...range('xaxis', xaxis), ...range('yaxis', yaxis) });
}

// The keyboard does the same: each step halves or doubles what is seen, or moves it by a quarter.
const LEAST_S = 2;

function within([from, to], last) {
  const span = Math.min(Math.max(to - from, LEAST_S), last);
  const first = Math.min(Math.max(from, 0), last - span);
  return span >= last ? null : [first, first + span];
}

function stepped([from, to], key) {
  const span = to - from;
  const middle = (from + to) / 2;
  switch (key) {
    case '+': case '=': return [middle - span / 4, middle + span / 4];
    case '-': case '−': case '_': return [middle - span, middle + span];
    case 'ArrowLeft': return [from - span / 4, to - span / 4];
    case 'ArrowRight': return [from + span / 4, to + span / 4];
    case '0': return [0, Infinity];
    default: return null;
  }
}

// Whether the key means anything.
function step(key) {
  const last = Math.max(1, ...data.seconds.map((second) => scale(second).x[1]));
  const next = stepped(zoom ?? [0, last], key);
  if (next) setZoom(within(next, last));
  return Boolean(next);
}

function zoomByKeys(figure) {
  figure.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest('select, .menu[open]')) return;
    if (step(event.key)) event.preventDefault();
  });
}

// Fingers have buttons, beside the choice of a run.
function addZoomButtons(form) {
  const group = make('span', 'zooms');
  group.setAttribute('role', 'group');
  group.setAttribute('aria-label', 'Time shown in all charts');
  const buttons = [['−', '-', 'Zoom out'], ['+', '+', 'Zoom in'], ['←', 'ArrowLeft', 'Earlier'],
    ['→', 'ArrowRight', 'Later'], ['all', '0', 'All seconds']];
  for (const [text, key, name] of buttons) {
    const button = make('button', '', text, { type: 'button', title: name });
    button.setAttribute('aria-label', name);
    button.addEventListener('click', () => step(key));
    group.append(button);
  }
  form.append(group);
}
