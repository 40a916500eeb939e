"""Find a browser for the tests that look at pages, or install one: `make browser`.

These tests take the Chromium that Playwright has installed, or else one that is on the PATH.
Where there is none, and none can be installed, as without a network, they are skipped.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

MISSING: Final = "there is no Chromium; `make browser` installs one"
_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_COMMAND: Final = (sys.executable, "-m", "playwright", "install", "chromium")
_LIMIT: Final = 300  # seconds for the download


def find_browser(playwrights: str) -> str | None:
    """Return the path of a Chromium, given the one where Playwright installs its own."""
    if Path(playwrights).is_file():
        return playwrights
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


def main() -> None:
    """Install a browser unless there is one, and print which one the tests will take."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        place = playwright.chromium.executable_path
    found = find_browser(place)
    if found is None:
        _install()
        found = find_browser(place)
    if found is None:
        # No failure: the tests that need none can go on, as where there is no network.
        line = "!" * 78
        text = "THERE IS NO BROWSER: the tests of tests/pages_in_browser will be skipped."
        sys.stderr.write(f"{line}\n{text}\n{line}\n")
        return
    sys.stdout.write(f"browser of the tests: {found}\n")


def _install() -> None:
    try:
        done = subprocess.run(_COMMAND, capture_output=True, text=True, timeout=_LIMIT)
        why = "" if done.returncode == 0 else done.stderr
    except subprocess.TimeoutExpired:
        why = f"no end within {_LIMIT} s"
    if why:
        sys.stderr.write(f"playwright install chromium: {why.strip().splitlines()[0]}\n")


if __name__ == "__main__":
    main()
