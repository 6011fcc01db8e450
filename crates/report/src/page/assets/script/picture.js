// --- pictures to take away -----------------------------------------------------------------------------------
// A picture leaves the page, so it carries what the page says around a chart: title, finding, key and source, on white.

const PICTURE = { width: 1000, edge: 20, plot: 340, panel: 190, below: 96 };
// Heights of lines: those of a title are all as high as Plotly makes its largest.
const LINE = { title: 26, key: 22 };

const ruler = document.createElement('canvas').getContext('2d');

function widthOf(text, size) {
  ruler.font = `${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

// The text in lines no wider than the picture.
function wrapped(text, size) {
  const lines = [];
  for (const word of text.split(' ')) {
    const longer = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && widthOf(longer, size) <= PICTURE.width - 2 * PICTURE.edge) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

// Rows that Plotly's horizontal legend takes: one, or columns as wide as the longest entry.
function rowsOfKey(names) {
  const widths = names.map((name) => widthOf(name, 13) + 50);
  const room = PICTURE.width - 2 * PICTURE.edge;
  if (widths.reduce((sum, width) => sum + width, 0) <= room) return 1;
  return Math.ceil(names.length / Math.max(1, Math.floor(room / Math.max(...widths))));
}

// Text of a heading without its link, and its small print after a comma.
function textOf(head) {
  const inner = head.querySelector('.anchor') ?? head;
  const small = inner.querySelector('small')?.textContent.trim();
  const own = [...inner.childNodes].filter((node) => node.nodeName !== 'SMALL').map((node) => node.textContent).join('').trim();
  return [own, small].filter(Boolean).join(', ');
}

// What a chart over the whole study is of: its heading, the figure chosen, and the workload that it stands under.
function titleOf(figure) {
  const chosen = figure.querySelector('[data-choose]')?.selectedOptions[0].textContent;
  const above = figure.closest('.sweeps') && find('h3, h4').findLast((head) =>
    !head.closest('figure') && head.compareDocumentPosition(figure) & Node.DOCUMENT_POSITION_FOLLOWING);
  return [textOf(figure.querySelector('.head :is(h2, h3, h4)')), chosen, above && textOf(above)].filter(Boolean).join(' – ');
}

// Puts what stands around a chart onto its picture; `height` is that of the axes.
function framed({ data: traces, layout }, { title, finding, height, margin }) {
  const [heads, told] = [wrapped(title, 20), finding ? wrapped(finding, 13) : []];
  const lines = heads.length + told.length;
  const above = PICTURE.edge + lines * LINE.title + 6;
  // Plotly moves the first of several lines up by half of those below it.
  const place = PICTURE.edge + (lines - 1) * LINE.title / 2;
  const names = traces.filter((trace) => trace.showlegend !== false && trace.visible !== false).map((trace) => trace.name);
  const top = above + rowsOfKey(names) * LINE.key + margin;
  const whole = top + height + PICTURE.below;
  const small = told.map((line) => `<span style="font-size:13px">${label(line)}</span>`);
  const source = { text: label(data.source), showarrow: false, xref: 'paper', yref: 'paper', x: 1, y: 0, xanchor: 'right',
    yanchor: 'bottom', yshift: 8 - PICTURE.below, font: { size: 12, color: colours.soft } };
  return { data: traces, layout: { ...layout, width: PICTURE.width, height: whole, autosize: false, showlegend: true,
    paper_bgcolor: '#ffffff', plot_bgcolor: '#ffffff',
    margin: { ...layout.margin, l: 64, r: PICTURE.edge, t: top, b: PICTURE.below },
    title: { text: [...heads.map((line) => `<b>${label(line)}</b>`), ...small].join('<br>'), font: { size: 20, color: colours.ink },
      xref: 'container', x: PICTURE.edge / PICTURE.width, xanchor: 'left', yref: 'container', y: 1 - place / whole, yanchor: 'top' },
    legend: { orientation: 'h', xref: 'container', x: PICTURE.edge / PICTURE.width, xanchor: 'left', yref: 'container',
      y: 1 - above / whole, yanchor: 'top', font: { size: 13, color: colours.ink }, traceorder: 'normal' },
    annotations: [...(layout.annotations ?? []), source] } };
}

function pictureOfPlot(element) {
  const built = buildPlot(element, true);
  const figure = element.closest('figure');
  const traces = built.data.map((trace) => ({ ...trace, showlegend: true }));
  return framed({ ...built, data: traces }, { title: titleOf(figure), finding: figure.querySelector('.finding:not([hidden])')?.textContent,
    height: Math.max(PICTURE.plot, element.clientHeight), margin: 16 });
}

// All panels of a chart of seconds in one picture, on the axes that they have in common.
function pictureOfPanels(figure, second) {
  const shown = find('.panel:not([hidden]) .chart:not([hidden])', figure);
  const built = shown.flatMap((element) => {
    const config = Number(element.closest('[data-config]').dataset.config);
    const panel = buildPanel(element, second, config);
    return panel ? [{ ...panel, config }] : [];
  });
  const columns = Math.min(built.length, 3);
  const rows = Math.ceil(built.length / columns);
  const height = rows * PICTURE.panel + (rows - 1) * 60;
  const all = { data: [], layout: { template: colours.template, annotations: [], shapes: [], hovermode: false } };
  const hasRoles = second.plot.data.length > 1;
  built.forEach((panel, place) => addPanel(all, panel, { place, hasRoles, spot: spotOf(place, columns, rows, height) }));
  if (hasRoles) all.data.push(...neutral(second, all.data));
  const chosen = [...find('#choose-workload, #choose-threads, #choose-repeat')].map((one) => one.selectedOptions[0]?.textContent ?? '');
  const run = `${chosen[0]}, threads: ${chosen[1]}, repeat ${chosen[2]}`;
  const title = figure.dataset.second === 'any' ? figure.querySelector('figcaption').textContent : textOf(figure.querySelector('.head h3'));
  return framed(all, { title: `${title} – ${run}`, finding: '', height, margin: 34 });
}

// Where a panel lies, in shares of the picture's axes.
function spotOf(place, columns, rows, height) {
  const gap = 0.07;
  const [column, row] = [place % columns, Math.floor(place / columns)];
  const wide = (1 - gap * (columns - 1)) / columns;
  const left = column * (wide + gap);
  const top = 1 - row * (PICTURE.panel + 60) / height;
  return { x: [left, left + wide], y: [top - PICTURE.panel / height, top] };
}

function addPanel(all, { data: traces, layout, config }, { place, hasRoles, spot }) {
  const number = place ? String(place + 1) : '';
  const axes = { xaxis: `x${number}`, yaxis: `y${number}` };
  const name = label(data.configs[config]);
  for (const trace of traces) all.data.push({ ...trace, ...axes, ...(hasRoles ? { showlegend: false } : { name, showlegend: true }) });
  all.layout[`xaxis${number}`] = { ...layout.xaxis, anchor: axes.yaxis, domain: spot.x };
  all.layout[`yaxis${number}`] = { ...layout.yaxis, anchor: axes.xaxis, domain: spot.y };
  all.layout.shapes.push(...layout.shapes.map((shape) => ({ ...shape, xref: axes.xaxis, yref: `${axes.yaxis} domain` })));
  all.layout.annotations.push({ text: `<b><span style="color:${colours.configs[config]}">■</span> ${name}</b>`, showarrow: false,
    xref: `${axes.xaxis} domain`, x: 0, xanchor: 'left', yref: `${axes.yaxis} domain`, y: 1, yanchor: 'bottom', yshift: 4,
    font: { size: 13, color: colours.ink } });
}

// Entries of the key for lines whose colour is their configuration's: the dash alone says what they are.
function neutral(second, traces) {
  return rolesOf(second).map((role) => {
    const name = label(role.name);
    const painted = traces.find((trace) => trace.name === name);
    const colour = second.is_stacked ? colours.roles[role.colour] : colours.ink;
    return { type: 'scatter', mode: 'lines', x: [null], y: [null], name, showlegend: true,
      line: second.is_stacked ? { width: 8, color: colour } : { ...painted?.line, width: 2, color: colour } };
  });
}

// As an address of data in the format asked for.
function pictureOf(compose, format) {
  const made = inLight(compose);
  const { width, height } = made.layout;
  return Plotly.toImage(made, { format, width, height, scale: format === 'png' ? 2 : 1 });
}

async function save(compose, format, name) {
  const link = make('a', '', '', { href: await pictureOf(compose, format), download: `${name}.${format}` });
  link.click();
}
