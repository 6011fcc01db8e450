// --- configurations that are on ----------------------------------------------------------------------------

// Sentences about a chart or a run; those that name a configuration that is off are hidden with it. The answer on top stays.
const SENTENCES = '.finding, figcaption, .caveats li, ul.plain > li, p.plain';

// Whether a text has the name as a word of its own: one name may begin another.
function names(text, name) {
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const around = [text[at - 1] ?? ' ', text[at + name.length] ?? ' '];
    if (!around.some((sign) => /[\p{L}\p{N}_-]/u.test(sign))) return true;
  }
  return false;
}

function hideSentences() {
  const off = [...hiddenConfigs].map((config) => data.configs[config]);
  const isOff = (text) => off.some((name) => names(text, name));
  for (const one of find(SENTENCES)) {
    if (one.dataset.config === undefined && !one.closest('#verdict')) one.classList.toggle('off', isOff(one.textContent));
  }
}

function showConfigs() {
  for (const one of find('[data-switch]')) one.setAttribute('aria-pressed', configIsOn(Number(one.dataset.switch)));
  for (const one of find('[data-config]')) one.hidden = !configIsOn(Number(one.dataset.config));
  hideSentences();
  refresh();
}

function switchConfig(config) {
  if (!hiddenConfigs.delete(config)) hiddenConfigs.add(config);
  // With the last configuration gone there is nothing left to look at: all come back.
  if (hiddenConfigs.size === data.configs.length) hiddenConfigs.clear();
  showConfigs();
  remember();
}
