// --- ways into the page ------------------------------------------------------------------------------------

// Every heading of the page is a link to itself; those of sections are stops for the keyboard.
function linkHeadings() {
  const used = new Set(find('[id]').map((one) => one.id));
  const slug = (text) => text.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '') || 'part';
  const free = (text) => {
    let name = slug(text);
    for (let i = 2; used.has(name); i += 1) name = `${slug(text)}-${i}`;
    used.add(name);
    return name;
  };
  for (const head of find('main :is(h2, h3, h4)')) {
    if (head.closest('figure') || head.querySelector('a')) continue;
    const section = head.matches('h2') && head.closest('section[id]');
    if (!section) head.id ||= free(head.textContent);
    const link = make('a', 'anchor', '', { href: `#${section ? section.id : head.id}`, tabIndex: section ? 0 : -1 });
    link.append(...head.childNodes);
    head.append(link);
  }
}

function addSkipLink() {
  const main = document.querySelector('main');
  if (!main) return;
  main.id ||= 'main';
  document.body.prepend(make('a', 'skip', 'Skip to the results', { href: `#${main.id}` }));
}
