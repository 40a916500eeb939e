// The claims of each entry are folded. A link to an entry opens its claims, so do words that a search
// has marked in them, and a button opens all: not every browser looks into what is folded.
"use strict";

(() => {
  const folds = [...document.querySelectorAll("details.claims")];

  function openLinked() {
    const fold = folds.find((one) => one.id === decodeURIComponent(location.hash.slice(1)));
    if (!fold) return;
    fold.open = true;
    fold.scrollIntoView();
  }

  function openMarked() {
    for (const fold of folds) if (fold.querySelector(".highlighted")) fold.open = true;
  }

  function addButton() {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "open-claims";
    button.textContent = "Open all claims";
    button.addEventListener("click", () => {
      const open = folds.some((fold) => !fold.open);
      for (const fold of folds) fold.open = open;
    });
    const name = () => {
      button.textContent = folds.every((fold) => fold.open) ? "Close all claims" : "Open all claims";
    };
    document.addEventListener("toggle", name, true);
    folds[0].closest("section").before(button);
  }

  if (folds.length === 0) return;
  addButton();
  openLinked();
  addEventListener("hashchange", openLinked);
  // The script of Sphinx marks words 10 ms after the page was read.
  addEventListener("load", () => setTimeout(openMarked, 50));
})();
