"""Checks of the files of a built site.

Links must not be broken, pages must fetch nothing from a network and be small, alternative texts of
pictures must say more than a file's name, and pages made of scripts must link their notebooks.
"""

import os
import re
from collections.abc import Iterator
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import unquote, urlsplit

LARGEST: Final = 500_000  # bytes of a page
GALLERIES: Final = ("_gallery/", "_tutorials/")  # pages with figures may be larger
SCRIPTS: Final = (*GALLERIES, "_exercises/")  # pages made of scripts, and their lists
# Attributes whose files a browser fetches when it shows a page; `link` depends on what it links.
_FETCHED: Final = {
    "audio": ("src",), "embed": ("src",), "iframe": ("src",), "img": ("src",),
    "input": ("src",), "object": ("data",), "script": ("src",), "source": ("src",),
    "track": ("src",), "video": ("src", "poster"),
}  # fmt: skip
_FOLLOWED: Final = {"a": ("href",), "area": ("href",), "form": ("action",), "link": ("href",)}
_FETCHED_LINKS: Final = frozenset(
    ("stylesheet", "icon", "preload", "prefetch", "preconnect", "modulepreload", "manifest")
)
_CSS_URL: Final = re.compile(r"""url\(\s*["']?([^"')]+)|@import\s+["']([^"']+)""")
_PICTURE_NAME: Final = re.compile(r"\S\.(?:png|svg|jpe?g|gif|webp)\b", re.IGNORECASE)
_NOT_LETTERS: Final = re.compile(r"[^a-z]+")
_ELSEWHERE: Final = re.compile(r"(?:https?:)?//", re.IGNORECASE)


class Page(HTMLParser):
    """A page's identifiers, links and pictures, and the addresses fetched to show it.

    A picture is an address and an alternative text, which is None if there is none.
    """

    def __init__(self, text: str) -> None:
        super().__init__()
        self.identifiers: set[str] = set()
        self.links: list[str] = []
        self.pictures: list[tuple[str, str | None]] = []
        self.fetched: list[str] = []
        self._in_style = False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element is called, and where it leads."""
        values = {name: value for name, value in attrs if value is not None}
        self._in_style = tag == "style"
        self.identifiers |= {values[name] for name in ("id", "name") if name in values}
        self.links += [values[name] for name in _FOLLOWED.get(tag, ()) if name in values]
        if tag == "img":
            self.pictures.append((values.get("src", ""), values.get("alt")))
        fetched = [values[name] for name in _FETCHED.get(tag, ()) if name in values]
        for choice in values.get("srcset", "").split(","):  # such as "a.png, b.png 2x"
            fetched += choice.split()[:1]
        if tag == "link" and _FETCHED_LINKS & set(values.get("rel", "").lower().split()):
            fetched.append(values.get("href", ""))
        self.links += [] if tag == "link" else fetched
        self.fetched += [*fetched, *find_css_urls(values.get("style", ""))]

    def handle_data(self, data: str) -> None:
        """Note what a style sheet within the page fetches."""
        if self._in_style:
            self.fetched += find_css_urls(data)

    def handle_endtag(self, tag: str) -> None:
        """Leave a style sheet."""
        self._in_style = False


def find_css_urls(text: str) -> list[str]:
    """Return the addresses that a style sheet fetches."""
    return [first or second for first, second in _CSS_URL.findall(text)]


def is_file_name(text: str, address: str) -> bool:
    """Return whether a text says no more than a picture's address does: "regret by round"."""
    if _PICTURE_NAME.search(text):
        return True
    stem = PurePosixPath(unquote(urlsplit(address).path)).stem
    words = [_NOT_LETTERS.sub("", part.lower()) for part in (text, stem.removeprefix("sphx_glr_"))]
    return words[0] != "" and words[0] == words[1]


class Site:
    """A folder of HTML pages that link to each other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @cached_property
    def pages(self) -> dict[str, Page]:
        """The pages, by their paths from the folder."""
        paths = sorted(self.folder.rglob("*.html"))
        return {
            path.relative_to(self.folder).as_posix(): Page(path.read_text("utf-8"))
            for path in paths
            if "_static" not in path.relative_to(self.folder).parts
        }

    def find_faults(self) -> list[str]:
        """Return one line for each of the faults that the module's docstring lists."""
        return [
            *self._broken_links(), *self._network_addresses(), *self._large_pages(),
            *self._meaningless_texts(), *self._missing_notebooks(),
        ]  # fmt: skip

    def _broken_links(self) -> Iterator[str]:
        for name, page in self.pages.items():
            for link in dict.fromkeys(page.links):
                why = self._why_broken(name, link)
                if why:
                    yield f"{name}: the link {link!r} is broken: {why}"

    def _why_broken(self, name: str, link: str) -> str:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            return ""
        target = name
        if parts.path:
            inside = PurePosixPath(name).parent / unquote(parts.path)
            target = os.path.normpath(inside)
            if (self.folder / target).is_dir():
                target = os.path.normpath(f"{target}/index.html")
            if target.startswith("..") or not (self.folder / target).is_file():
                return f"there is no {target}"
        identifier = unquote(parts.fragment)
        is_page = target in self.pages
        if is_page and identifier not in ("", "top", *self.pages[target].identifiers):
            return f"{target} has no element {identifier!r}"
        return ""

    def _network_addresses(self) -> Iterator[str]:
        for name, page in self.pages.items():
            for address in dict.fromkeys(page.fetched):
                if _ELSEWHERE.match(address.strip()):
                    yield f"{name}: fetches {address} from a network"
        for path in sorted(self.folder.rglob("*.css")):
            name = path.relative_to(self.folder).as_posix()
            for address in dict.fromkeys(find_css_urls(path.read_text("utf-8"))):
                if _ELSEWHERE.match(address.strip()):
                    yield f"{name}: fetches {address} from a network"

    def _meaningless_texts(self) -> Iterator[str]:
        for name, page in self.pages.items():
            for address, text in page.pictures:
                if text is None:
                    yield f"{name}: the picture {address} has no alternative text"
                elif is_file_name(text, address):
                    yield f"{name}: the alternative text of {address} is a file name: {text!r}"

    def _missing_notebooks(self) -> Iterator[str]:
        for name, page in self.pages.items():
            if name.startswith(SCRIPTS) and PurePosixPath(name).name != "index.html":
                notebook = PurePosixPath(name).with_suffix(".ipynb").name
                if notebook not in {PurePosixPath(link).name for link in page.links}:
                    yield f"{name}: has no link to its notebook {notebook}"

    def _large_pages(self) -> Iterator[str]:
        for name in self.pages:
            size = (self.folder / name).stat().st_size
            if size > LARGEST and not name.startswith(GALLERIES):
                yield f"{name}: has {size:,} bytes; at most {LARGEST:,} are allowed"
