// --- the address -------------------------------------------------------------------------------------------
// What is switched, chosen and zoomed to stands in the address: its link shows the same, and going back undoes it.

const CHOICES = new Map([['workload', 'workload'], ['threads', 'threads'], ['repeat', 'repeat'], ['series', 'counter']]);

const choiceOf = (what) => byId(`choose-${what}`);
const chosenText = (choice) => choice?.selectedOptions[0]?.textContent;
const untouched = new Map([...CHOICES.keys()].map((what) => [what, chosenText(choiceOf(what))]));

function addressNow() {
  const now = new URLSearchParams(location.search);
  for (const name of ['hide', 'seconds', ...CHOICES.values()]) now.delete(name);
  for (const config of hiddenConfigs) now.append('hide', data.configs[config]);
  for (const [what, name] of CHOICES) {
    const text = chosenText(choiceOf(what));
    if (text !== untouched.get(what)) now.set(name, text);
  }
  if (zoom) now.set('seconds', zoom.map((second) => Math.round(second * 10) / 10).join('-'));
  return now;
}

function remember() {
  const [was, now] = [new URLSearchParams(location.search), addressNow()];
  if (String(was) === String(now)) return;
  // A step of a zoom follows the one before; going back leaves the zoom as a whole.
  const isStep = was.has('seconds') && now.has('seconds');
  const address = (String(now) ? `?${now}` : location.pathname) + location.hash;
  try {
    history[isStep ? 'replaceState' : 'pushState'](null, '', address);
  } catch {
    // A page within another page, or a browser that keeps the address of files: the page works, its link shows all.
  }
}

function recall() {
  const from = new URLSearchParams(location.search);
  hiddenConfigs.clear();
  for (const name of from.getAll('hide')) {
    const config = data.configs.indexOf(name);
    if (config >= 0) hiddenConfigs.add(config);
  }
  for (const [what, name] of CHOICES) recallChoice(choiceOf(what), from.get(name) ?? untouched.get(what));
  nameCounter();
  const range = (from.get('seconds') ?? '').split('-').map(Number);
  showZoom(range.length === 2 && range[0] < range[1] ? range : null);
  showConfigs();
}

function recallChoice(choice, text) {
  const place = [...(choice?.options ?? [])].findIndex((option) => option.textContent === text);
  if (place >= 0) choice.selectedIndex = place;
}

// A link may lead into what is folded.
function unfold() {
  const target = location.hash.length > 1 && byId(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  const folded = [];
  for (let one = target.closest('details'); one; one = one.parentElement.closest('details')) if (!one.open) folded.push(one);
  for (const one of folded) one.open = true;
  if (folded.length) target.scrollIntoView();
}
