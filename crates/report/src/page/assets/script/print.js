// --- paper -------------------------------------------------------------------------------------------------
// Printed is everything: what is folded is opened, charts are drawn to the width of the page in the light theme, and a table
// wider than it stands below itself in parts. Afterwards all is as it was.

let beforePrint = null;

const closedDetails = () => find('details:not([open]):not(.menu)');

function openAll() {
  const closed = closedDetails();
  for (const one of closed) one.open = true;
  return closed;
}

// The columns of a table in runs that fit beside its first one; each cell with the columns it spans.
function runsOf(table, width) {
  const heads = [...table.tHead.rows[0].cells].filter((head) => !head.hidden);
  const widths = heads.map((head) => head.offsetWidth);
  const runs = [];
  let taken = Infinity;
  heads.forEach((head, place) => {
    if (place === 0) return;
    if (taken + widths[place] > width) {
      runs.push([]);
      taken = widths[0];
    }
    taken += widths[place];
    runs.at(-1).push(head.cellIndex);
  });
  return runs;
}

// A copy of the table with its first column and those of the run. What spans columns stands in every part.
function partOf(table, run) {
  const part = table.cloneNode(true);
  part.classList.add('paper-part');
  for (const row of part.rows) {
    const cells = [...row.cells];
    const isWhole = cells.some((cell) => cell.colSpan > 1);
    cells.forEach((cell, place) => {
      if (cell.colSpan > 1) cell.colSpan = Math.max(1, run.length + (place === 0 ? 1 : 0));
      else if (!isWhole && place > 0 && !run.includes(place)) cell.remove();
    });
  }
  return part;
}

// Columns stood up as rows, for a table of few rows and columns without end. What spans a row's columns stands in the first.
function turned(table) {
  const heads = [...table.tHead.rows[0].cells];
  const rows = [...table.tBodies].flatMap((body) => [...body.rows].map((row) => ({ row, block: body.querySelector('.block') })))
    .filter(({ row }) => !row.matches('.block, [hidden]'));
  const cell = (tag, from) => {
    const made = make(tag, '');
    made.append(...[...from.childNodes].map((node) => node.cloneNode(true)));
    return made;
  };
  const top = document.createElement('tr');
  top.append(cell('th', heads[0]), ...rows.map(({ row, block }) => {
    const head = cell('th', row.cells[0]);
    if (block) head.prepend(make('small', '', block.textContent.trim()));
    return head;
  }));
  const lines = heads.slice(1).map((head, place) => {
    const line = document.createElement('tr');
    line.append(cell('th', head));
    for (const { row } of rows) {
      const whole = [...row.cells].find((one) => one.colSpan > 1);
      if (!whole) line.append(cell('td', row.cells[place + 1]));
      else line.append(place === 0 ? cell('td', whole) : make('td', '', '–'));
    }
    return line;
  });
  const made = make('table', `${table.className} paper-part turned`);
  made.createTHead().append(top);
  made.createTBody().append(...lines);
  return made;
}

// More parts than this are no table any more.
const MOST_PARTS = 3;

function splitWide() {
  for (const box of find('.table')) {
    const table = box.querySelector('table');
    if (!table?.tHead || table.offsetWidth <= box.clientWidth + 1) continue;
    const runs = runsOf(table, box.clientWidth);
    if (runs.length < 2) continue;
    box.classList.add('split');
    if (runs.length <= MOST_PARTS) box.append(...runs.map((run) => partOf(table, run)));
    else fitTurned(box, turned(table));
  }
}

function fitTurned(box, table) {
  box.append(table);
  if (table.offsetWidth <= box.clientWidth + 1) return;
  const parts = runsOf(table, box.clientWidth).map((run) => partOf(table, run));
  table.replaceWith(...parts);
}

function joinWide() {
  for (const part of find('.paper-part')) part.remove();
  for (const box of find('.split')) box.classList.remove('split');
}

addEventListener('beforeprint', () => {
  beforePrint ??= { theme: root.dataset.theme, closed: openAll() };
  root.dataset.theme = 'light';
  root.dataset.paper = '';
  splitWide();
  refresh();
  drawAll();
});

addEventListener('afterprint', () => {
  if (!beforePrint) return;
  joinWide();
  delete root.dataset.paper;
  for (const one of beforePrint.closed) one.open = false;
  setTheme(beforePrint.theme);
  beforePrint = null;
  refresh();
  drawAll();
});
