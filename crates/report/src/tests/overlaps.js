// What lies on what in the first chart, and what leaves it, as texts.
(() => {
  const chart = document.querySelector('[data-chart=first]');
  const frame = chart.getBoundingClientRect();
  const texts = [...chart.querySelectorAll('.annotation-text, .textpoint text, .ytick text')]
    .filter((one) => one.getClientRects().length && one.textContent.trim());
  const points = [...chart.querySelectorAll('.points path.point')];
  const box = (one) => one.getBoundingClientRect();
  const meet = (a, b) => Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1;
  const wrong = [];
  texts.forEach((one, i) => {
    const name = one.textContent.slice(0, 40);
    const its = box(one);
    if (its.left < frame.left - 1 || its.right > frame.right + 1) wrong.push(`“${name}” is cut off`);
    for (const other of texts.slice(i + 1)) if (meet(its, box(other))) wrong.push(`“${name}” lies on “${other.textContent.slice(0, 40)}”`);
    for (const point of points) if (meet(its, box(point))) wrong.push(`a point lies on “${name}”`);
  });
  return wrong;
})()
