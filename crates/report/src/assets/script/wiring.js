// --- wiring ------------------------------------------------------------------------------------------------

for (const element of find('.chart[data-plot]')) register(element, () => buildPlot(element));
for (const figure of find('figure[data-second]')) {
  const second = figure.dataset.second === 'any' ? data.any : data.seconds[figure.dataset.second];
  for (const element of find('.chart', figure)) {
    const config = Number(element.closest('[data-config]').dataset.config);
    register(element, () => buildPanel(element, second, config), true);
  }
}

for (const panels of find('.panels')) zoomByKeys(panels);

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

for (const button of find('[data-switch]')) {
  button.addEventListener('click', () => {
    const config = Number(button.dataset.switch);
    if (!hiddenConfigs.delete(config)) hiddenConfigs.add(config);
    // With the last configuration gone there is nothing left to look at: all come back.
    if (hiddenConfigs.size === data.configs.length) hiddenConfigs.clear();
    for (const one of find('[data-switch]')) one.setAttribute('aria-pressed', configIsOn(Number(one.dataset.switch)));
    for (const one of find('[data-config]')) one.hidden = !configIsOn(Number(one.dataset.config));
    refresh();
  });
}

for (const choice of find('[data-choose]')) {
  choice.addEventListener('change', () => {
    const figure = choice.closest('figure');
    const option = choice.selectedOptions[0];
    const chart = figure.querySelector('.chart');
    chart.dataset.plot = choice.value;
    chart.setAttribute('aria-label', `${option.textContent} ${choice.getAttribute('aria-label')}`);
    figure.querySelector('figcaption').textContent = option.dataset.caption;
    figure.querySelector('.finding').textContent = option.dataset.finding;
    refresh();
  });
}
for (const what of ['workload', 'threads', 'repeat', 'series']) {
  byId(`choose-${what}`)?.addEventListener('change', () => { nameCounter(); refresh(); });
}
nameCounter();

byId('theme').addEventListener('click', () => {
  root.dataset.theme = isDark() ? 'light' : 'dark';
  refresh();
});
prefersDark.addEventListener('change', refresh);
addEventListener('resize', () => {
  for (const chart of charts.values()) {
    if (chart.element.dataset.drawn && chart.wasNarrow !== isNarrow(chart.element)) chart.isStale = true;
    if (chart.isNear) draw(chart);
  }
});

let themeBeforePrint;
addEventListener('beforeprint', () => {
  themeBeforePrint = root.dataset.theme;
  root.dataset.theme = 'light';
  refresh();
  drawAll();
});
addEventListener('afterprint', () => {
  if (themeBeforePrint) root.dataset.theme = themeBeforePrint;
  else delete root.dataset.theme;
  refresh();
});

if (new URLSearchParams(location.search).has('all')) drawAll();
window.assay = { drawAll, settled, readyMs: performance.now() };
})();
