// Charts whose key does not name what they draw, as texts.
(() => {
  const wrong = [];
  const plain = (text) => new DOMParser().parseFromString(text.replaceAll('<br>', ' '), 'text/html').body.textContent;
  const texts = (from, selector) => [...from.querySelectorAll(selector)].filter((one) => one.checkVisibility())
    .map((one) => one.textContent.trim());
  for (const chart of document.querySelectorAll('.chart')) {
    if (!chart.checkVisibility() || !chart.data) continue;
    const figure = chart.closest('figure');
    const drawn = chart.data.filter((trace) => trace.visible !== false).map((trace) => plain(trace.name));
    const panel = chart.closest('.panel');
    if (panel) {
      if (!texts(panel, 'h4').join('')) wrong.push(`${chart.dataset.chart} has no configuration`);
      const roles = texts(figure, '.roles li');
      const isNamed = drawn.length === 1 || drawn.every((name) => roles.includes(name));
      if (!isNamed) wrong.push(`${chart.dataset.chart} draws ${drawn} and names ${roles}`);
      continue;
    }
    const key = texts(figure, '.key li');
    const rows = chart.layout.yaxis.type === 'category' ? chart.data.flatMap((trace) => trace.y.map(plain)) : [];
    for (const name of drawn) {
      const isNamed = key.includes(name) || (!key.length && rows.some((row) => row.includes(name)));
      if (!isNamed) wrong.push(`${chart.dataset.chart} does not name ${name}`);
    }
    for (const name of key) if (!drawn.includes(name)) wrong.push(`${chart.dataset.chart} names ${name}, which is not drawn`);
  }
  return wrong;
})()
