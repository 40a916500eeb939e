// Measures of a page as a person sees it at first: evaluated in the page.
() => {
  const [width, height] = [document.documentElement.clientWidth, innerHeight];

  const isVisible = element =>
    element.checkVisibility({ opacityProperty: true, visibilityProperty: true });

  function describe(element) {
    const names = [];
    for (let one = element; one !== document.body && names.length < 4; one = one.parentElement)
      names.unshift([one.tagName.toLowerCase(), ...one.classList].join("."));
    return names.join(" > ");
  }

  // The part of a rectangle that no element around it cuts off, if there is one.
  function visiblePart(element, { left, top, right, bottom }) {
    for (let one = element; one !== document.documentElement; one = one.parentElement) {
      const style = getComputedStyle(one);
      if (style.clipPath !== "none") return null;
      if (style.overflowX === "visible" && style.overflowY === "visible") continue;
      const box = one.getBoundingClientRect();
      [left, right] = [Math.max(left, box.left), Math.min(right, box.right)];
      [top, bottom] = [Math.max(top, box.top), Math.min(bottom, box.bottom)];
    }
    return right - left > 1 && bottom - top > 1 ? { left, top, right, bottom } : null;
  }

  function isOnScreen(element, rectangle) {
    const part = visiblePart(element, rectangle);
    return part && part.left < width && part.right > 0 && part.top < height && part.bottom > 0;
  }

  function findFirstPicture() {
    const found = [...document.querySelectorAll("figure, .tiles, svg, canvas, img, [role=img]")]
      .filter(isVisible)
      .map(element => ({ element, box: element.getBoundingClientRect() }))
      .filter(({ box }) => box.width >= 150 && box.height >= 80)
      .sort((a, b) => a.box.top - b.box.top)[0];
    return found && { top: found.box.top + scrollY, what: describe(found.element) };
  }

  // Words have a letter; those of pictures are not counted.
  function findWords() {
    const words = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const text = walker.currentNode;
      const element = text.parentElement;
      const isPicture = element.closest("figure, svg, [role=img]") && !element.closest("figcaption");
      if (isPicture || !isVisible(element)) continue;
      for (const found of text.data.matchAll(/[^\s\u00a0]*\p{L}[^\s\u00a0]*/gu)) {
        const range = document.createRange();
        range.setStart(text, found.index);
        range.setEnd(text, found.index + found[0].length);
        if ([...range.getClientRects()].some(box => isOnScreen(element, box))) words.push(found[0]);
      }
    }
    return words;
  }

  const findWider = () => [...document.body.querySelectorAll("*")]
    .filter(element => isVisible(element))
    .filter(element => visiblePart(element, element.getBoundingClientRect())?.right > width + 1)
    .map(describe);

  // What holds more than it shows: pictures, what does not scroll, and what no key scrolls.
  const findCut = () => [...document.body.querySelectorAll("*")]
    .filter(element => isVisible(element) && !(element instanceof SVGElement) && element.clientWidth > 1)
    .filter(element => element.scrollWidth > element.clientWidth + 1)
    .filter(element => {
      const { overflowX, textOverflow } = getComputedStyle(element);
      if (overflowX === "visible" || textOverflow === "ellipsis") return false;
      const scrolls = overflowX === "auto" || overflowX === "scroll";
      return !scrolls || element.tabIndex < 0 || element.closest(".first figure");
    })
    .map(describe);

  return {
    firstPicture: findFirstPicture(),
    words: findWords(),
    overflow: document.scrollingElement.scrollWidth - width,
    wider: findWider().slice(0, 5),
    cut: findCut().slice(0, 5),
    allWords: document.body.innerText.split(/\s+/).filter(Boolean).length,
  };
}
