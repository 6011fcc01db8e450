// Draws the report's charts. Traces and layouts come ready from the program; this adds the theme's colours, fills
// in the chosen run's series, and keeps configurations, theme and choices in step over the whole page and with its address.
// A chart is drawn when it comes into view; `?all` in the address and printing open everything and draw every one.
(() => {
'use strict';
const root = document.documentElement;
const data = JSON.parse(document.getElementById('data').textContent);
const find = (selector, from = document) => [...from.querySelectorAll(selector)];
const byId = (id) => document.getElementById(id);

// An element with its class, its text and what else it is to have.
function make(tag, className, text = '', rest = {}) {
  const element = document.createElement(tag);
  element.className = className;
  element.textContent = text;
  return Object.assign(element, rest);
}

const hiddenConfigs = new Set();
const configIsOn = (config) => !hiddenConfigs.has(config);

// --- theme -------------------------------------------------------------------------------------------------

const prefersDark = matchMedia('(prefers-color-scheme: dark)');
const isDark = () => (root.dataset.theme || (prefersDark.matches ? 'dark' : 'light')) === 'dark';

// Parts of a stack that have a colour of their own; what comes after the last has that of "other".
const MOST_ROLES = 6;

function theme() {
  const style = getComputedStyle(root);
  const get = (name) => style.getPropertyValue(name).trim();
  const [ink, soft, line, surface, strong, font] =
    ['--ink', '--soft', '--line', '--surface', '--strong-line', '--font'].map(get);
  const axis = { gridcolor: line, linecolor: strong, zerolinecolor: strong, tickcolor: strong,
    title: { font: { size: 12, color: soft }, standoff: 6 } };
  return {
    configs: data.configs.map((_, config) => get(`--config-${config}`)),
    roles: Array.from({ length: MOST_ROLES + 1 }, (_, role) => get(`--role-${role}`)),
    surface, ink, soft, shade: get('--shade'),
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


// What `act` makes with the colours of the light theme, whatever the page's are.
function inLight(act) {
  const [before, shown] = [root.dataset.theme, colours];
  root.dataset.theme = 'light';
  colours = theme();
  try {
    return act();
  } finally {
    colours = shown;
    setTheme(before);
  }
}

function setTheme(name) {
  if (name) root.dataset.theme = name;
  else delete root.dataset.theme;
}
