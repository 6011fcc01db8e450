// --- what is wider than its column -------------------------------------------------------------------------
// It scrolls by itself, its edge fades where more follows, and only then it is a stop for the keyboard.

const SCROLLERS = '.table, .configs, .flow .picture, pre';

function hintScroll(element) {
  const hidden = element.scrollWidth - element.clientWidth;
  const more = [];
  if (element.scrollLeft > 1) more.push('left');
  if (element.scrollLeft < hidden - 1) more.push('right');
  element.dataset.more = more.join(' ');
  if (element.matches('.configs')) return;
  const isTall = element.scrollHeight > element.clientHeight + 1;
  if (hidden > 1 || isTall) element.tabIndex = 0;
  else element.removeAttribute('tabindex');
}

function hintScrolls() {
  const sizes = new ResizeObserver((entries) => {
    for (const { target } of entries) hintScroll(target.closest(SCROLLERS));
  });
  for (const element of find(SCROLLERS)) {
    element.addEventListener('scroll', () => hintScroll(element), { passive: true });
    sizes.observe(element);
    if (element.firstElementChild) sizes.observe(element.firstElementChild);
  }
}

// What gets the focus or is linked to must not lie under what sticks to the top.
function keepClear() {
  const heights = new ResizeObserver(() => {
    for (const [name, selector] of [['--bar', '.bar'], ['--choose', '.choose']]) {
      const stuck = document.querySelector(selector);
      const height = stuck && getComputedStyle(stuck).position === 'sticky' ? stuck.offsetHeight : 0;
      root.style.setProperty(name, `${height}px`);
    }
  });
  for (const stuck of find('.bar, .choose')) heights.observe(stuck);
}
