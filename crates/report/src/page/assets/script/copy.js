// --- into a ticket -----------------------------------------------------------------------------------------
// The page gives its answer as text: whole, in Markdown, and in one line.

const answer = () => byId('markdown').content.textContent.trim();
const oneLine = () => `${textOf(document.querySelector('h1'))}: ${byId('one-line').content.textContent.trim()}`;

async function copy(text, status) {
  try {
    await navigator.clipboard.writeText(text);
    status.textContent = 'Copied';
  } catch {
    // A browser may keep the clipboard from a file, or have none: then the text is there to be taken by hand.
    status.textContent = '';
    offer(text);
  }
}

function offer(text) {
  const dialog = make('dialog', 'offer');
  const area = make('textarea', '', '', { readOnly: true, value: text, rows: 16 });
  area.setAttribute('aria-label', 'Text to copy');
  const close = make('button', '', 'Close', { type: 'button' });
  close.addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => dialog.remove());
  dialog.append(make('p', '', 'Copy the selected text:'), area, close);
  document.body.append(dialog);
  dialog.showModal();
  area.focus();
  area.select();
}

function addCopyButtons() {
  const group = make('div', 'copy');
  const status = make('output', '');
  const all = [['Copy as Markdown', answer], ['Copy one line', oneLine]];
  for (const [name, text] of all.filter(([, one]) => one())) {
    const button = make('button', '', name, { type: 'button' });
    button.addEventListener('click', () => copy(text(), status));
    group.append(button);
  }
  group.append(status);
  document.querySelector('.masthead').append(group);
}
