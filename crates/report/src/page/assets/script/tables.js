// --- tables ------------------------------------------------------------------------------------------------
// A table whose rows are things of one kind is sorted by a click on a head or Enter; each table is one stop for the keyboard,
// arrows go from head to head. Rows stay within their block.

const UNITS = { '%': 1, ns: 1e-9, 'µs': 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600, d: 86400, days: 86400, years: 31557600 };
const PREFIXES = { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 };

// The first number of a text in its base unit, or nothing of a text that does not begin with one.
function valueOf(text) {
  const plain = text.trim().replace(/(?<=\d)[\u202f\u00a0 ,](?=\d{3}(?!\d))/g, '').replaceAll('−', '-');
  const found = /^[+<>≈~×$€]*\s*(-?[\d.]+(?:e[+-]?\d+)?)\s*([^\s\d(;,/]*)/i.exec(plain);
  if (!found || Number.isNaN(Number(found[1]))) return null;
  const prefix = /^(Ki|Mi|Gi|Ti|k|M|G|T|P)B/.exec(found[2])?.[1] ?? '';
  return Number(found[1]) * (UNITS[found[2]] ?? PREFIXES[prefix]);
}

// What a cell is sorted by: its own text, without the small print under it.
function textOfCell(cell) {
  return [...cell.childNodes].filter((node) => !['SMALL', 'SUP'].includes(node.nodeName)).map((node) => node.textContent).join('').trim();
}

// Words come after numbers, and what is missing after both, whichever way it is sorted.
function compare(one, other, sign) {
  const rank = ({ text, value }) => (text === '' || text === '–' ? 2 : value === null ? 1 : 0);
  if (rank(one) !== rank(other)) return rank(one) - rank(other);
  if (rank(one) === 0) return sign * (one.value - other.value);
  return sign * one.text.localeCompare(other.text, undefined, { numeric: true });
}

function keyOf(row, column) {
  const text = row.cells[column] ? textOfCell(row.cells[column]) : '';
  return { row, text, value: valueOf(text) };
}

function sort(table, head) {
  const isUp = head.getAttribute('aria-sort') === 'ascending';
  for (const one of table.tHead.rows[0].cells) one.removeAttribute('aria-sort');
  head.setAttribute('aria-sort', isUp ? 'descending' : 'ascending');
  for (const body of table.tBodies) {
    const keys = [...body.rows].filter((row) => !row.matches('.block')).map((row) => keyOf(row, head.cellIndex));
    body.append(...keys.sort((a, b) => compare(a, b, isUp ? -1 : 1)).map(({ row }) => row));
  }
}

const isSortable = (table) => table.tHead && !table.tHead.querySelector('[data-config]') &&
  [...table.tBodies].some((body) => body.rows.length > 2);

function makeSortable(table) {
  const heads = [...table.tHead.rows[0].cells].filter((head) => head.textContent.trim());
  heads.forEach((head, place) => {
    const button = make('button', 'sort', '', { type: 'button', tabIndex: place ? -1 : 0 });
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener('click', () => sort(table, head));
  });
  table.tHead.addEventListener('keydown', (event) => {
    const way = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const buttons = find('.sort', table.tHead);
    const next = buttons[buttons.indexOf(document.activeElement) + way];
    if (!next) return;
    event.preventDefault();
    for (const one of buttons) one.tabIndex = one === next ? 0 : -1;
    next.focus();
  });
}

// A file that the text names is a link to it.
function linkFiles() {
  for (const code of find('code')) {
    const isFile = /^(tables\/[\w./-]+\.csv|results\.json)$/.test(code.textContent);
    if (isFile && !code.closest('a, pre, .notes')) code.replaceChildren(make('a', '', code.textContent, { href: code.textContent }));
  }
}
