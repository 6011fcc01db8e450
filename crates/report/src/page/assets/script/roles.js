// --- what a chart's lines and areas are ---------------------------------------------------------------------

// The parts of a stack that anything was recorded of: all where they are few, else the largest and the sum of the others.
// Lines are what they are.
function rolesOf(second) {
  const role = (place, colour) => ({ name: second.series[place][1], places: [place], colour });
  const places = [...second.plot.data.keys()];
  if (!second.is_stacked) return places.map((place) => role(place, place));
  const sizes = sizesOf(second);
  const present = places.filter((place) => sizes[place] > 0);
  if (places.length <= MOST_ROLES) return (present.length ? present : places).map((place) => role(place, place));
  if (present.length <= MOST_ROLES) return present.map(role);
  const largest = present.toSorted((a, b) => sizes[b] - sizes[a]).slice(0, MOST_ROLES - 1);
  const others = present.filter((place) => !largest.includes(place));
  return [...present.filter((place) => largest.includes(place)).map(role),
    { name: 'other', places: others, colour: MOST_ROLES }];
}

// Of each series, what it adds up to over the configurations that are on.
function sizesOf(second) {
  const sizes = new Array(second.plot.data.length).fill(0);
  for (const config of data.configs.keys()) {
    if (!configIsOn(config)) continue;
    panelSeries(second, config).found.forEach((line, place) => {
      sizes[place] += (line?.y ?? []).reduce((sum, value) => sum + (value || 0), 0);
    });
  }
  return sizes;
}

// Several lines as their sum, second by second.
function together(lines) {
  if (lines.length < 2) return lines[0];
  const sums = new Map();
  for (const { x, y } of lines) for (const [i, at] of x.entries()) sums.set(at, (sums.get(at) ?? 0) + (y[i] || 0));
  const x = [...sums.keys()].sort((a, b) => a - b);
  return { x, y: x.map((at) => sums.get(at)) };
}

// The key beside a stack's heading names what is in it.
function fillRoles(figure, second, roles) {
  const list = figure.querySelector('.roles');
  if (!list || !second.is_stacked) return;
  const text = roles.map((role) => role.name + role.colour).join();
  if (list.dataset.roles === text) return;
  list.dataset.roles = text;
  list.replaceChildren(...roles.map((role) => {
    const item = make('li', '');
    item.append(picture('0 0 22 10', 'path', { d: 'M0 5h22' }), role.name);
    item.style.setProperty('--role', `var(--role-${role.colour})`);
    return item;
  }));
}

// The key of a chart over the whole study: the configurations that it draws, unless its rows name them.
function fillKey(element) {
  const plot = data.plots[element.dataset.plot];
  const figure = element.closest('figure');
  figure.querySelector('.key')?.remove();
  const isNamed = (trace, i) => plot.layout.yaxis.type === 'category' &&
    trace.y.every((row) => row.replaceAll('<br>', ' ').includes(label(data.configs[plot.configs[i]])));
  if (plot.data.every(isNamed)) return;
  const key = make('ul', 'key');
  for (const config of new Set(plot.configs)) {
    const item = make('li', '', '', { hidden: !configIsOn(config) });
    item.dataset.config = config;
    item.append(swatch(config), make('span', '', data.configs[config]));
    key.append(item);
  }
  element.before(key);
}

const SVG = 'http://www.w3.org/2000/svg';

// A small drawing of one element, with nothing to say to those who do not see it.
function picture(viewBox, tag, attributes) {
  const [svg, inner] = ['svg', tag].map((one) => document.createElementNS(SVG, one));
  svg.setAttribute('viewBox', viewBox);
  svg.setAttribute('aria-hidden', 'true');
  for (const [name, value] of Object.entries(attributes)) inner.setAttribute(name, value);
  svg.append(inner);
  return svg;
}

function swatch(config) {
  const svg = picture('0 0 28 12', 'use', { href: `#config-${config}` });
  svg.setAttribute('class', 'swatch');
  return svg;
}

// A text in a label of Plotly, which reads a little HTML: shown as it is.
const label = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
