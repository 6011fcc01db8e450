// Every text whose contrast against what is behind it is under 4.5:1 (WCAG 2.2, 1.4.3), as texts.
(() => {
  const parse = (colour) => {
    const parts = (colour.match(/[\d.]+/g) || []).map(Number);
    return colour.startsWith('rgb') ? { rgb: parts.slice(0, 3), alpha: parts[3] ?? 1 } : { rgb: [0, 0, 0], alpha: 0 };
  };
  const luminance = (rgb) => {
    const [r, g, b] = rgb.map((one) => one / 255).map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4);
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const { rgb, alpha } = parse(getComputedStyle(one).backgroundColor);
      if (alpha === 1) return rgb;
    }
    return [255, 255, 255];
  };
  const weak = new Set();
  for (const element of document.querySelectorAll('body *')) {
    const hasText = [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
    if (!hasText || element.closest('script, style, noscript, option, [hidden]') || !element.getClientRects().length) continue;
    const style = getComputedStyle(element);
    const paint = element.namespaceURI.endsWith('svg') ? style.fill : style.color;
    const [a, b] = [luminance(parse(paint).rgb), luminance(behind(element))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) weak.add(`${element.tagName}.${element.getAttribute('class')} ${contrast.toFixed(2)}: ${element.textContent.slice(0, 30)}`);
  }
  return [...weak];
})()
