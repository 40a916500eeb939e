"""Check of a built site in a browser as narrow as a phone: names are broken between their words."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from playwright.sync_api import Browser

COUNT: Final = 20  # pages of the reference with the longest names, which are examined
_WIDTH: Final = 390  # pixels
_MARKUP: Final = re.compile(r"<(pre|script|style)\b.*?</\1>|<[^>]*>", re.DOTALL)
_NAME: Final = re.compile(r"[\w.]{8,}")
# JavaScript that returns names that are broken inside a word, with a bar at the break. Words end at
# what is no letter or digit, and before a capital letter after a small one.
_BROKEN: Final = r"""() => {
  const isInside = (word, place) => {
    const [before, after, next] = [word[place - 1], word[place], word[place + 1] ?? ""];
    if (!/[A-Za-z0-9]/.test(before) || !/[A-Za-z0-9]/.test(after)) return false;
    return !/[A-Z]/.test(after) || (/[A-Z]/.test(before) && !/[a-z]/.test(next));
  };
  const broken = [];
  const range = document.createRange();
  // The top of the last line of a part of a text.
  const findTop = (node, from, to) => {
    range.setStart(node, from);
    range.setEnd(node, to);
    return [...range.getClientRects()].at(-1)?.top ?? 0;
  };
  const texts = document.createTreeWalker(document.querySelector("article"), NodeFilter.SHOW_TEXT);
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    if (node.parentElement.closest("pre, math, svg, script, style")) continue;
    for (const { 0: word, index } of node.data.matchAll(/\S{5,}/g)) {
      if (findTop(node, index, index + 1) === findTop(node, index, index + word.length)) continue;
      for (let place = 1; place < word.length; place += 1) {
        const at = index + place;
        const isBroken = findTop(node, at, at + 1) > findTop(node, at - 1, at) + 3;
        if (isBroken && isInside(word, place))
          broken.push(`${word.slice(0, place)}|${word.slice(place)}`);
      }
    }
  }
  return broken;
}"""


def find_faults(browser: "Browser", address: str, folder: Path) -> Iterator[str]:
    """Yield a line for each name that is broken inside a word, on the pages most at risk."""
    with browser.new_context(viewport={"width": _WIDTH, "height": 844}) as context:
        page = context.new_page()
        for path in find_pages(folder):
            name = path.relative_to(folder).as_posix()
            page.goto(address + name, wait_until="load")
            for word in page.evaluate(_BROKEN):
                yield f"{name}, {_WIDTH} pixels: a name is broken inside a word: {word}"


def find_pages(folder: Path) -> list[Path]:
    """Return the pages of the reference with the longest names outside blocks of code."""
    return sorted(folder.glob("reference/**/*.html"), key=find_longest_name, reverse=True)[:COUNT]


def find_longest_name(path: Path) -> int:
    """Return the number of letters of a page's longest name."""
    text = _MARKUP.sub(" ", path.read_text("utf-8").replace("<wbr>", ""))
    return max(map(len, _NAME.findall(text)), default=0)
