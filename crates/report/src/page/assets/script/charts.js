// --- charts ------------------------------------------------------------------------------------------------

// A chart: its element, what it would draw now (or why nothing), and whether that is on the screen.
const charts = new Map();

function register(element, build, isOfSeconds = false) {
  charts.set(element, { element, build, isOfSeconds, isStale: true, isNear: false, isFollowed: false });
}

// Draws that Plotly has begun and not ended.
const drawing = new Set();

function draw(chart) {
  const { element } = chart;
  // A chart without data hides itself; only what is around it, hidden or folded, can keep it from being drawn.
  if (!chart.isStale || !element.parentElement.getClientRects().length) return;
  chart.isStale = false;
  chart.wasNarrow = isNarrow(element);
  delete element.dataset.drawn;
  const built = chart.build();
  if (!built) {
    chart.isFollowed = false;
    Plotly.purge(element);
    return;
  }
  setHeight(element, built.height);
  const drawn = Plotly.react(element, built.data, withGestures(built.layout), data.config)
    .then(() => {
      element.dataset.drawn = 'true';
      if (chart.isOfSeconds) followZoom(chart);
    })
    .finally(() => drawing.delete(drawn));
  drawing.add(drawn);
}

// As high as it asks for, and no lower than the page gives it.
function setHeight(element, height) {
  element.dataset.height ??= element.style.height;
  const given = parseFloat(element.dataset.height);
  element.style.height = height > given ? `${height}px` : element.dataset.height;
}

// A finger scrolls the page, on a chart as beside it; buttons zoom. A mouse drags a zoom.
const isCoarse = matchMedia('(pointer: coarse)');
const withGestures = (layout) => (isCoarse.matches ? { ...layout, dragmode: false } : layout);

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

// A chart over the whole study: complete but for colours and hidden configurations.
function buildPlot(element, hasRoom = !isNarrow(element)) {
  const plot = data.plots[element.dataset.plot];
  const traces = plot.data.map((trace, i) => {
    const config = plot.configs[i];
    const colour = colours.configs[config];
    const painted = { ...trace, visible: configIsOn(config), marker: { ...trace.marker, color: colour },
      error_y: { ...trace.error_y, color: colour } };
    if (trace.error_x) painted.error_x = { ...trace.error_x, color: colour };
    if (trace.text) painted.textfont = { ...trace.textfont, color: colours.ink };
    if (trace.line) painted.line = { ...trace.line, color: colour };
    return painted;
  });
  const built = { data: traces, layout: { ...plot.layout, template: colours.template } };
  return hasRoom ? built : withWordsAboveRows(element, built);
}

// Where the words of points have no room beside them, in pixels.
const NARROW = 480;

const isNarrow = (element) => element.clientWidth < NARROW;

// Rows with names and points with words: there name and words stand in lines above the row's point, over the whole width.
function withWordsAboveRows(element, { data: traces, layout }) {
  if (layout.yaxis?.type !== 'category' || !traces.every((trace) => trace.text)) return { data: traces, layout };
  const words = (trace, i) => aboveRow(trace.customdata[i], trace.text[i], element.clientWidth);
  const above = (trace) => trace.y.map((name, i) => ({ xref: 'paper', x: 0, xanchor: 'left', y: name, yanchor: 'bottom', yshift: 8,
    align: 'left', showarrow: false, font: { size: 12, color: colours.ink }, text: words(trace, i) }));
  const lines = Math.max(...traces.flatMap((trace) => trace.y.map((_, i) => words(trace, i).split('<br>').length)));
  const rows = traces.reduce((sum, trace) => sum + trace.y.length, 0);
  return {
    height: AROUND_ROWS + rows * (lines * LINE_OF_WORDS + AROUND_LINES),
    data: traces.filter((trace) => trace.mode !== 'text').map((trace) => ({ ...trace, mode: 'markers' })),
    layout: { ...layout, margin: { ...layout.margin, t: 24 }, yaxis: { ...layout.yaxis, showticklabels: false },
      annotations: traces.flatMap((trace) => (trace.visible === true ? above(trace) : [])) },
  };
}

// In pixels: a line of such words, what keeps a point nearer to its own words than to those below, and axis and margins.
const LINE_OF_WORDS = 15;
const AROUND_LINES = 18;
const AROUND_ROWS = 76;

// A character of such a line, in pixels; bold ones are wider.
const CHARACTER = 7.2;

// In one line where that fits; else the words have lines of their own.
function aboveRow(name, words, width) {
  const most = width / CHARACTER;
  const said = words.replaceAll('<br>', ' ');
  if (name.length + said.length + 2 < most) return `${name}: <b>${said}</b>`;
  return [...linesOf(name, most), ...linesOf(said, most).map((line) => `<b>${line}</b>`)].join('<br>');
}

// Words in lines of so many characters.
function linesOf(text, most) {
  const lines = [''];
  for (const word of text.split(' ')) {
    if (lines.at(-1) && lines.at(-1).length + 1 + word.length > most) lines.push('');
    lines.push(`${lines.pop()} ${word}`.trim());
  }
  return lines;
}

// What one panel shows: the chosen run's series of the chart, those that it has.
function panelSeries(second, config) {
  const trial = trialOf(config);
  const names = second.name === 'any' ? [Number(byId('choose-series').value)] :
    second.series.map(([name]) => placeOf.get(name));
  const found = names.map((place) => trial?.series[place]).map((coded) => coded && decode(coded));
  const reason = !trial ? 'no such run' : trial.reason || (found.some(Boolean) ? null : 'not recorded');
  return { trial, found, reason };
}

// The common scale of a chart's panels, over the configurations that are on: of the seconds that were measured, so that a
// spike at the start flattens nothing.
function scale(second) {
  let [low, high, last] = [0, 0, 0];
  for (const config of data.configs.keys()) {
    if (!configIsOn(config)) continue;
    const { trial, found } = panelSeries(second, config);
    const [from, to] = trial?.window ?? [-Infinity, Infinity];
    const sums = new Map();
    for (const { x, y } of found.filter(Boolean)) {
      last = Math.max(last, x[x.length - 1]);
      for (const [i, at] of x.entries()) {
        if (at <= from || at > to) continue;
        sums.set(at, (sums.get(at) ?? 0) + (y[i] || 0));
        if (second.is_stacked) continue;
        high = Math.max(high, y[i]);
        low = Math.min(low, y[i]);
      }
    }
    if (second.is_stacked) high = Math.max(high, ...sums.values());
  }
  return { y: [low * 1.06, second.top ?? ((high * 1.06) || 1)], x: [0, last || 1] };
}

const SHARES = [1, 0.88, 0.72, 0.6];

// Lines have their configuration's colour; the parts of a stack have colours of their own, the same in every panel.
function paint(second, trace, role, config) {
  if (second.is_stacked) {
    return { ...trace, fillcolor: colours.roles[role.colour], line: { ...trace.line, width: 1, color: colours.surface } };
  }
  const colour = mix(colours.configs[config], colours.surface, SHARES[role.colour] ?? 0.6);
  return { ...trace, line: { ...trace.line, color: colour } };
}

// Warm-up before the window and what came after it.
function shades(trial, [first, last]) {
  const shade = (x0, x1) => ({ type: 'rect', xref: 'x', yref: 'paper', x0, x1, y0: 0, y1: 1, layer: 'below',
    line: { width: 0 }, fillcolor: colours.shade });
  if (!trial.window) return [];
  const [from, to] = trial.window;
  return [[first, from], [to, last]].filter(([a, b]) => b > a).map(([a, b]) => shade(a, b));
}

// A line where each phase but the first begins, and a band for as long as something happened in one.
function phaseShapes(trial, last) {
  const phases = trial.phases ?? [];
  const lines = phases.slice(1).map(({ from }) => ({ type: 'line', xref: 'x', yref: 'paper', x0: from, x1: from, y0: 0, y1: 1,
    layer: 'below', line: { width: 1, dash: 'dot', color: colours.soft } }));
  const bands = phases.filter(({ happened }) => happened).map(({ happened: [, began, ended] }) => ({ type: 'rect', xref: 'x',
    yref: 'paper', x0: began, x1: Math.min(ended ?? last, last), y0: 0, y1: 0.04, layer: 'above', line: { width: 0 },
    fillcolor: colours.ink, opacity: 0.55 }));
  return [...lines, ...bands];
}

// Its name where a phase begins, as far as it fits before the next one, and what happened when it is pointed at.
function phaseNames(element, trial, [first, last]) {
  const perSecond = element.clientWidth / Math.max(last - first, 1);
  return (trial.phases ?? []).filter(({ from, to }) => to > first && from < last).map(({ name, from, to, happened }) => {
    const begin = Math.max(from, first);
    const room = Math.floor(((Math.min(to, last) - begin) * perSecond) / CHARACTER);
    const text = name.length <= room ? name : name.slice(0, Math.max(room - 1, 0)) + (room > 1 ? '…' : '');
    const what = happened ? `: ${happened[0]}` : '';
    return { xref: 'x', x: begin, xanchor: 'left', yref: 'paper', y: 1, yanchor: 'top', showarrow: false, text: label(text),
      hovertext: label(name + what), font: { size: 11, color: colours.soft } };
  }).filter(({ text }) => text);
}

function buildPanel(element, second, config) {
  const { trial, found, reason } = panelSeries(second, config);
  const hasData = found.some(Boolean);
  const empty = element.parentElement.querySelector('.empty');
  element.hidden = !hasData;
  empty.hidden = hasData;
  empty.textContent = reason || '';
  element.parentElement.dataset.reason = reason || '';
  const finding = element.parentElement.querySelector('.finding');
  if (finding) finding.textContent = (hasData && trial.found[data.seconds.indexOf(second)]) || '';
  if (!hasData) return null;
  const range = scale(second);
  const roles = rolesOf(second);
  fillRoles(element.closest('figure'), second, roles);
  const traces = roles.flatMap((role) => {
    const line = together(role.places.map((place) => found[place]).filter(Boolean));
    const trace = { ...second.plot.data[role.places[0]], name: label(role.name) };
    return line ? [{ ...paint(second, trace, role, config), ...line }] : [];
  });
  const { layout } = second.plot;
  const shown = zoom ?? range.x;
  return { data: traces, layout: { ...layout, template: colours.template,
    shapes: [...shades(trial, range.x), ...phaseShapes(trial, range.x[1])], annotations: phaseNames(element, trial, shown),
    xaxis: { ...layout.xaxis, range: shown },
    yaxis: { ...layout.yaxis, range: range.y, fixedrange: true } } };
}

// The heading of "all counters" is the counter's own.
function nameCounter() {
  const choice = byId('choose-series');
  if (!choice) return;
  const head = data.heads[choice.value];
  const figure = choice.closest('figure');
  figure.querySelector('figcaption').textContent = `${head.label}, ${head.unit}; layer: ${head.layer}`;
  for (const chart of find('.chart', figure)) {
    const config = data.configs[chart.closest('[data-config]').dataset.config];
    chart.setAttribute('aria-label', `${head.label}, ${head.unit}, second by second: ${config}`);
  }
}

