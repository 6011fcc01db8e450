// --- wiring ------------------------------------------------------------------------------------------------

linkHeadings();
addSkipLink();
addCopyButtons();
linkFiles();
for (const table of find('.table > table')) if (isSortable(table)) makeSortable(table);

for (const element of find('.chart[data-plot]')) {
  register(element, () => buildPlot(element));
  addPlotMenu(element);
  fillKey(element);
}
for (const figure of find('figure[data-second]')) {
  const second = figure.dataset.second === 'any' ? data.any : data.seconds[figure.dataset.second];
  for (const element of find('.chart', figure)) {
    const config = Number(element.closest('[data-config]').dataset.config);
    register(element, () => buildPanel(element, second, config), true);
  }
  addPanelsMenu(figure, second);
}
for (const form of find('.choose')) addZoomButtons(form);

// Panels without data hide their chart, so the panel is what is monitored.
const monitored = new Map([...charts.values()].map((chart) => [chart.element.closest('.card'), chart]));
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    const chart = monitored.get(target);
    chart.isNear = isIntersecting;
    if (isIntersecting) draw(chart);
  }
}, { rootMargin: '300px 0px' });
for (const card of monitored.keys()) observer.observe(card);

for (const button of find('[data-switch]')) button.addEventListener('click', () => switchConfig(Number(button.dataset.switch)));

for (const choice of find('[data-choose]')) {
  choice.addEventListener('change', () => {
    const figure = choice.closest('figure');
    const option = choice.selectedOptions[0];
    const chart = figure.querySelector('.chart');
    chart.dataset.plot = choice.value;
    chart.setAttribute('aria-label', `${option.textContent} ${choice.getAttribute('aria-label')}`);
    figure.querySelector('figcaption').textContent = option.dataset.caption;
    figure.querySelector('.finding').textContent = option.dataset.finding;
    fillKey(chart);
    hideSentences();
    refresh();
  });
}
for (const what of CHOICES.keys()) {
  choiceOf(what)?.addEventListener('change', () => { nameCounter(); refresh(); remember(); });
}

byId('theme').addEventListener('click', () => {
  root.dataset.theme = isDark() ? 'light' : 'dark';
  refresh();
});
prefersDark.addEventListener('change', refresh);
isCoarse.addEventListener('change', refresh);
addEventListener('resize', () => {
  for (const chart of charts.values()) {
    if (chart.element.dataset.drawn && chart.wasNarrow !== isNarrow(chart.element)) chart.isStale = true;
    if (chart.isNear) draw(chart);
  }
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') for (const menu of find('.menu[open]')) menu.open = false;
});

hintScrolls();
keepClear();
recall();
addEventListener('popstate', recall);
unfold();
addEventListener('hashchange', unfold);

if (new URLSearchParams(location.search).has('all')) {
  openAll();
  drawAll();
}
window.assay = { drawAll, settled, pictureOf: (figure, format) => pictureOf(compositions.get(figure), format), readyMs: performance.now() };
})();
