// Draws the report's charts. Traces and layouts come ready from the program; this adds the theme's colours, fills
// in the chosen cell's series, and keeps arms, theme and choices in step over the whole page. A chart is drawn
// when it comes into view; `?all` in the address, printing, or assay.drawAll() draw every one.
(() => {
'use strict';
const root = document.documentElement;
const data = JSON.parse(document.getElementById('data').textContent);
const find = (selector, from = document) => [...from.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);
const hiddenArms = new Set();
const armIsOn = (arm) => !hiddenArms.has(arm);

// --- theme -------------------------------------------------------------------------------------------------

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (root.dataset.theme || (prefersDark.matches ? 'dark' : 'light')) === 'dark';

function theme() {
  const style = getComputedStyle(root);
  const get = (name) => style.getPropertyValue(name).trim();
  const [ink, soft, line, surface, strong, font] =
    ['--ink', '--soft', '--line', '--surface', '--strong-line', '--font'].map(get);
  const axis = { gridcolor: line, linecolor: strong, zerolinecolor: strong, tickcolor: strong,
    title: { font: { size: 12, color: soft }, standoff: 6 } };
  return {
    arms: data.arms.map((_, arm) => get(`--arm-${arm}`)), surface, shade: get('--shade'),
    template: { layout: {
      font: { family: font, size: 12, color: soft }, paper_bgcolor: surface, plot_bgcolor: surface,
      xaxis: { ...axis, showgrid: false, showline: true, ticks: 'outside', ticklen: 4 }, yaxis: axis,
      hoverlabel: { bgcolor: surface, bordercolor: strong, font: { family: font, size: 12, color: ink } },
      modebar: { bgcolor: 'rgba(0,0,0,0)', color: soft, activecolor: ink },
    } },
  };
}

// Mixes two colours of the form #rrggbb.
function mix(colour, other, share) {
  const part = (from) => [colour, other].map((one) => parseInt(one.slice(from, from + 2), 16));
  const channel = ([a, b]) => Math.round(a * share + b * (1 - share)).toString(16).padStart(2, '0');
  return `#${[1, 3, 5].map((from) => channel(part(from))).join('')}`;
}

// --- series ------------------------------------------------------------------------------------------------

const DIGITS = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
const digitOf = new Map([...DIGITS].map((digit, value) => [digit, value]));
const placeOf = new Map(data.heads.map((head, place) => [head.name, place]));

// The inverse of what series.rs does: [first, step, low, high, codes] or [first, step, count, value].
function decode([first, step, low, high, codes]) {
  const at = (_, i) => first + i * step;
  if (codes === undefined) {
    return { x: Array.from({ length: low }, at), y: new Array(low).fill(high) };
  }
  const y = Array.from({ length: codes.length / 2 }, (_, i) => {
    const code = digitOf.get(codes[2 * i]) * 64 + digitOf.get(codes[2 * i + 1]);
    if (code < 2) return code === 0 ? null : 0;
    const place = (code - 2) / 4093;
    return low < 0 ? low + place * (high - low) : low * (high / low) ** place;
  });
  return { x: y.map(at), y };
}

const chosen = () => ['workload', 'threads', 'repeat'].map((what) => Number(byId(`choose-${what}`).value));

function cellOf(arm) {
  const [workload, threads, repeat] = chosen();
  return data.cells.find((cell) => cell.arm === arm && cell.workload === workload &&
    cell.threads === threads && cell.repeat === repeat);
}

// --- charts ------------------------------------------------------------------------------------------------

// A chart: its element, what it would draw now (or why nothing), and whether that is on the screen.
const charts = new Map();

function register(element, build) {
  charts.set(element, { element, build, isStale: true, isNear: false });
}

// Draws that Plotly has begun and not ended.
const drawing = new Set();

function draw(chart) {
  const { element } = chart;
  // A chart without data hides itself; only what is around it can keep it from being drawn.
  if (!chart.isStale || element.parentElement.closest('[hidden]')) return;
  chart.isStale = false;
  delete element.dataset.drawn;
  const built = chart.build();
  if (!built) {
    Plotly.purge(element);
    return;
  }
  const drawn = Plotly.react(element, built.data, built.layout, data.config)
    .then(() => { element.dataset.drawn = 'true'; })
    .finally(() => drawing.delete(drawn));
  drawing.add(drawn);
}

function refresh() {
  colours = theme();
  for (const chart of charts.values()) chart.isStale = true;
  for (const chart of charts.values()) if (chart.isNear) draw(chart);
}

function drawAll() {
  for (const chart of charts.values()) draw(chart);
  return settled();
}

const settled = () => Promise.all(drawing);

let colours = theme();

// A chart over the whole study: complete but for colours and hidden arms.
function buildPlot(element) {
  const plot = data.plots[element.dataset.plot];
  const traces = plot.data.map((trace, i) => {
    const arm = plot.arms[i];
    const colour = colours.arms[arm];
    const painted = { ...trace, visible: armIsOn(arm), marker: { ...trace.marker, color: colour },
      error_y: { ...trace.error_y, color: colour } };
    if (trace.line) painted.line = { ...trace.line, color: colour };
    return painted;
  });
  return { data: traces, layout: { ...plot.layout, template: colours.template } };
}

// What one panel shows: the chosen cell's series of the chart, those that it has.
function panelSeries(second, arm) {
  const cell = cellOf(arm);
  const names = second.name === 'any' ? [Number(byId('choose-series').value)] :
    second.series.map(([name]) => placeOf.get(name));
  const found = names.map((place) => cell?.series[place]).map((coded) => coded && decode(coded));
  const reason = !cell ? 'no such cell' : cell.reason || (found.some(Boolean) ? null : 'not recorded');
  return { cell, found, reason };
}

// The common scale of a chart's panels, over the arms that are on.
function scale(second) {
  let [low, high, last] = [0, 0, 0];
  for (const arm of data.arms.keys()) {
    if (!armIsOn(arm)) continue;
    const found = panelSeries(second, arm).found.filter(Boolean);
    for (const { x, y } of found) {
      last = Math.max(last, x[x.length - 1]);
      if (!second.is_stacked) for (const value of y) {
        high = Math.max(high, value);
        low = Math.min(low, value);
      }
    }
    if (second.is_stacked && found.length) {
      for (const i of found[0].y.keys()) high = Math.max(high, found.reduce((sum, { y }) => sum + (y[i] || 0), 0));
    }
  }
  return { y: [low * 1.06, second.top ?? ((high * 1.06) || 1)], x: [0, last || 1] };
}

const SHARES = [1, 0.88, 0.72, 0.6];
const FILLS = [0.85, 0.5, 0.22, 0.07];

function paint(second, trace, i, arm) {
  const share = SHARES[i] ?? 0.6;
  const colour = mix(colours.arms[arm], colours.surface, share);
  const painted = { ...trace, line: { ...trace.line, color: colour } };
  if (second.is_stacked) {
    painted.fillcolor = mix(colours.arms[arm], colours.surface, FILLS[i] ?? 0.07);
    painted.line.color = mix(colours.arms[arm], colours.surface, 0.9);
  }
  return painted;
}

// Warm-up before the window and what came after it.
function shades(cell, [first, last]) {
  const shade = (x0, x1) => ({ type: 'rect', xref: 'x', yref: 'paper', x0, x1, y0: 0, y1: 1, layer: 'below',
    line: { width: 0 }, fillcolor: colours.shade });
  if (!cell.window) return [];
  const [from, to] = cell.window;
  return [[first, from], [to, last]].filter(([a, b]) => b > a).map(([a, b]) => shade(a, b));
}

function buildPanel(element, second, arm) {
  const { cell, found, reason } = panelSeries(second, arm);
  const hasData = found.some(Boolean);
  const empty = element.parentElement.querySelector('.empty');
  element.hidden = !hasData;
  empty.hidden = hasData;
  empty.textContent = reason || '';
  element.parentElement.dataset.reason = reason || '';
  if (!hasData) return null;
  const range = scale(second);
  const traces = second.plot.data
    .map((trace, i) => found[i] && { ...paint(second, trace, i, arm), ...found[i] })
    .filter(Boolean);
  const { layout } = second.plot;
  return { data: traces, layout: { ...layout, template: colours.template, shapes: shades(cell, range.x),
    xaxis: { ...layout.xaxis, range: range.x }, yaxis: { ...layout.yaxis, range: range.y } } };
}

// The heading of "all counters" is the counter's own.
function nameCounter() {
  const choice = byId('choose-series');
  if (!choice) return;
  const head = data.heads[choice.value];
  const figure = choice.closest('figure');
  figure.querySelector('figcaption').textContent = `${head.label}, ${head.unit}; layer: ${head.layer}`;
  for (const chart of find('.chart', figure)) {
    const arm = data.arms[chart.closest('[data-arm]').dataset.arm];
    chart.setAttribute('aria-label', `${head.label}, ${head.unit}, second by second: ${arm}`);
  }
}

// --- wiring ------------------------------------------------------------------------------------------------

for (const element of find('.chart[data-plot]')) register(element, () => buildPlot(element));
for (const figure of find('figure[data-second]')) {
  const second = figure.dataset.second === 'any' ? data.any : data.seconds[figure.dataset.second];
  for (const element of find('.chart', figure)) {
    const arm = Number(element.closest('[data-arm]').dataset.arm);
    register(element, () => buildPanel(element, second, arm));
  }
}

// Panels without data hide their chart, so the panel is what is watched.
const watched = new Map([...charts.values()].map((chart) => [chart.element.closest('.card'), chart]));
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const chart = watched.get(target);
    chart.isNear = isIntersecting;
    if (isIntersecting) draw(chart);
  }
}, { rootMargin: '300px 0px' });
for (const card of watched.keys()) observer.observe(card);

for (const button of find('[data-switch]')) {
  button.addEventListener('click', () => {
    const arm = Number(button.dataset.switch);
    if (!hiddenArms.delete(arm)) hiddenArms.add(arm);
    // With the last arm gone there is nothing left to look at: all come back.
    if (hiddenArms.size === data.arms.length) hiddenArms.clear();
    for (const one of find('[data-switch]')) one.setAttribute('aria-pressed', armIsOn(Number(one.dataset.switch)));
    for (const one of find('[data-arm]')) one.hidden = !armIsOn(Number(one.dataset.arm));
    refresh();
  });
}

for (const choice of find('[data-choose]')) {
  choice.addEventListener('change', () => {
    const figure = choice.closest('figure');
    const option = choice.selectedOptions[0];
    const chart = figure.querySelector('.chart');
    chart.dataset.plot = choice.value;
    chart.setAttribute('aria-label', `${option.textContent} ${choice.getAttribute('aria-label')}`);
    figure.querySelector('figcaption').textContent = option.dataset.caption;
    refresh();
  });
}
for (const what of ['workload', 'threads', 'repeat', 'series']) {
  byId(`choose-${what}`)?.addEventListener('change', () => { nameCounter(); refresh(); });
}
nameCounter();

byId('theme').addEventListener('click', () => {
  root.dataset.theme = isDark() ? 'light' : 'dark';
  refresh();
});
prefersDark.addEventListener('change', refresh);

let themeBeforePrint;
addEventListener('beforeprint', () => {
  themeBeforePrint = root.dataset.theme;
  root.dataset.theme = 'light';
  refresh();
  drawAll();
});
addEventListener('afterprint', () => {
  if (themeBeforePrint) root.dataset.theme = themeBeforePrint;
  else delete root.dataset.theme;
  refresh();
});

if (new URLSearchParams(location.search).has('all')) drawAll();
window.assay = { drawAll, settled, readyMs: performance.now() };
})();
