"""Check the built documentation: `make docs` runs it after the build.

Its links and anchors must lead somewhere, its pages must fetch nothing from a network and be
small, the alternative texts of its pictures must be more than file names, its search must answer
the queries of `search_queries.toml`, a phone must not break long names inside a word, and axe-core
must find no serious violation. Search, names and axe-core need a Chromium, as the tests of pages do
(`make browser`).
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from tools import site_in_browser
from tools.check_site_files import Site
from tools.install_browser import MISSING, find_browser


def main() -> int:
    """Print each fault of the site in a folder; return 1 if there is one, else 0."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", default=Path("docs/_build/html"))
    folder = parser.parse_args().folder
    if not (folder / "index.html").is_file():
        parser.error(f"{folder} has no index.html: build the documentation first")
    faults = [*Site(folder).find_faults(), *_faults_in_browser(folder)]
    for fault in faults:
        sys.stderr.write(f"{fault}\n")
    return 1 if faults else 0


def _faults_in_browser(folder: Path) -> Iterator[str]:
    from playwright.sync_api import Error, sync_playwright

    with sync_playwright() as playwright:
        place = find_browser(playwright.chromium.executable_path)
        if place is None:
            _say_that_none_looked(MISSING)
            return
        try:
            browser = playwright.chromium.launch(executable_path=place)
        except Error as error:
            _say_that_none_looked(f"{place} does not start: {error.message.splitlines()[0]}")
            return
        try:
            yield from site_in_browser.find_faults(browser, folder)
        finally:
            browser.close()


def _say_that_none_looked(why: str) -> None:
    line = "!" * 78
    text = "NO BROWSER TRIED THE SEARCH AND THE PAGES OF THE DOCUMENTATION:"
    sys.stderr.write(f"{line}\n{text}\n{why}\n{line}\n")


if __name__ == "__main__":
    sys.exit(main())
