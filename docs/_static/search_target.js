// A result of the search leads to the paragraph with the most words of the query, and not to the top
// of its page. `search_page.js` puts the words into the address, from which Sphinx removes them.
"use strict";

(() => {
  const BLOCKS = "h1, h2, h3, h4, p, li, dt, pre, tr";
  const FOLDED = "details.folded:not(.claims)"; // hints and solutions, which nobody wants to see unasked
  const AFTER_MARKS = 100; // milliseconds; the marks of Sphinx, and claims that open, move the text
  const given = new URLSearchParams(location.search).get("highlight") ?? "";
  // Words are stems: that of "studies" is "studi", which "study" has with a y.
  const patterns = (given.match(/[\p{Letter}\p{Number}_]{2,}/gu) ?? []).map(
    (word) => new RegExp(`(?<![a-z0-9])${word.replace(/i$/, "[iy]")}`, "i"),
  );

  // Paragraphs and rows of tables, and no blocks that contain others.
  function listBlocks() {
    return [...document.querySelectorAll(BLOCKS.replace(/\w+/g, "article $&"))].filter((block) => {
      if (block.closest(FOLDED)) return false;
      return block.matches("tr") || !(block.closest("tr") || block.querySelector(BLOCKS));
    });
  }

  function findHeading(block) {
    return block.closest("section")?.querySelector(":scope > :is(h2, h3, h4)");
  }

  function countWords(block) {
    const text = `${findHeading(block)?.textContent ?? ""} ${block.textContent}`;
    return patterns.filter((pattern) => pattern.test(text)).length;
  }

  function findBest(blocks) {
    let [best, most] = [null, 0];
    for (const block of blocks) {
      const count = countWords(block);
      if (count > most) [best, most] = [block, count];
    }
    return best;
  }

  // With its heading in the window, if both fit. The address names the section, as a link to it does.
  function scrollToBlock(block) {
    const fold = block.closest("details");
    if (fold) fold.open = true;
    const heading = findHeading(block);
    if (heading) location.replace(`#${heading.parentElement.id}`);
    const height = block.getBoundingClientRect().bottom - heading?.getBoundingClientRect().top;
    if (height < 0.75 * innerHeight) heading.parentElement.scrollIntoView({ behavior: "instant" });
    else block.scrollIntoView({ behavior: "instant", block: "center" });
  }

  if (patterns.length === 0 || location.hash) return;
  addEventListener("load", () => {
    setTimeout(() => {
      const block = findBest(listBlocks());
      if (!block || block.matches("h1")) return;
      block.classList.add("found");
      scrollToBlock(block);
    }, AFTER_MARKS);
  });
})();
