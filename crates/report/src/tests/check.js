// Looks the whole page over and returns what is wrong with it, as texts.
(async () => {
  await assay.settled();
  const wrong = [];
  const isDrawn = (path) => {
    const line = path.getAttribute('d') || '';
    const box = path.getBBox();
    return line.length > 4 && !line.includes('NaN') && box.width + box.height > 0;
  };
  let count = 0;
  for (const chart of document.querySelectorAll('.chart')) {
    const name = chart.dataset.chart;
    const panel = chart.closest('.panel');
    if (chart.closest('.panel[hidden]')) continue;
    if (chart.hidden) {
      if (!panel.querySelector('.empty').textContent) wrong.push(`${name} is empty and does not say why`);
      continue;
    }
    count += 1;
    const box = chart.getBoundingClientRect();
    if (chart.dataset.drawn !== 'true') { wrong.push(`${name} was not drawn`); continue; }
    if (box.width < 100 || box.height < 100) wrong.push(`${name} is ${box.width} × ${box.height}`);
    if (!chart.getAttribute('aria-label')) wrong.push(`${name} has no name`);
    const traces = [...chart.querySelectorAll('.scatterlayer .trace, .barlayer .trace')];
    const expected = chart.data.filter((trace) => trace.visible !== false).length;
    if (traces.length !== expected || expected === 0) wrong.push(`${name} shows ${traces.length} of ${expected} traces`);
    for (const trace of traces) {
      const isOfWords = [...trace.querySelectorAll('.textpoint text')].some((one) => one.textContent.trim());
      if (!isOfWords && ![...trace.querySelectorAll('path')].some(isDrawn)) wrong.push(`${name} has an empty trace`);
    }
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) wrong.push(`the page is ${root.scrollWidth} wide on ${root.clientWidth}`);
  return { wrong, count };
})()
