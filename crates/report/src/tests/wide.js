// What is wider than the page or cut off by its column without a hint that it scrolls, as texts.
(() => {
  const root = document.documentElement;
  const wrong = root.scrollWidth > root.clientWidth ? [`the page is ${root.scrollWidth} wide on ${root.clientWidth}`] : [];
  const scrolls = (element) => ['auto', 'scroll'].includes(getComputedStyle(element).overflowX);
  const isWithin = (element) => {
    for (let one = element.parentElement; one; one = one.parentElement) if (scrolls(one)) return true;
    return false;
  };
  for (const element of document.querySelectorAll('body *')) {
    if (!element.checkVisibility() || element.closest('svg, .menu, .skip, textarea')) continue;
    const name = `${element.tagName}.${element.className}`;
    if (scrolls(element)) {
      const isCut = element.scrollWidth > element.clientWidth + 1;
      if (isCut && getComputedStyle(element).maskImage === 'none') wrong.push(`${name} scrolls and does not show it`);
    } else if (!isWithin(element) && element.getBoundingClientRect().right > root.clientWidth + 1) {
      wrong.push(`${name} is cut off by the page`);
    }
  }
  return wrong;
})()
