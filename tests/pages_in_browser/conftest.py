"""A Chromium, and a page of every kind for it."""

from contextlib import ExitStack

import pytest

from tests.pages_in_browser.example_pages import ExamplePages
from tools.install_browser import MISSING, find_browser


@pytest.fixture(scope="package")
def browser():
    """Return a running Chromium; it ends before the tests of another folder begin."""
    # As long as Playwright runs, this thread has an event loop, which other tests could not bear.
    try:
        from playwright.sync_api import Error, sync_playwright
    except ImportError:
        pytest.skip("Playwright is not installed; `make venv` installs it")
    with ExitStack() as stack:
        playwright = stack.enter_context(sync_playwright())
        place = find_browser(playwright.chromium.executable_path)
        if place is None:
            pytest.skip(MISSING)
        try:
            browser = playwright.chromium.launch(executable_path=place)
        except Error as error:
            pytest.skip(f"{place} does not start: {error.message.splitlines()[0]}")
        stack.callback(browser.close)
        yield browser


@pytest.fixture(scope="session")
def pages(tmp_path_factory):
    """Return the pages by kind."""
    return ExamplePages(tmp_path_factory.mktemp("pages"))


@pytest.fixture(scope="package")
def windows(browser):
    """Return a function that gives the window of a size and with some options, opened once."""
    opened = {}
    with ExitStack() as stack:

        def window(width, options):
            key = width, repr(sorted(options.items()))
            if key not in opened:
                is_phone = width < 600
                context = browser.new_context(
                    viewport={"width": width, "height": 844 if is_phone else 900},
                    is_mobile=is_phone, has_touch=is_phone, **options,
                )  # fmt: skip
                stack.callback(context.close)
                page = opened[key] = context.new_page()
                page.on("console", lambda said: page.faults.append(said.text))
                page.on("pageerror", lambda error: page.faults.append(str(error)))
                page.on("request", lambda request: page.requests.append(request.url))
            return opened[key]

        yield window


@pytest.fixture
def open_page(windows):
    """Return a function that opens a file, in a window that had other pages before."""

    def open_one(path, *, width=1300, fragment="", **options):
        page = windows(width, options)
        page.faults, page.requests = [], []
        page.emulate_media(media="null")
        page.mouse.move(0, 0)
        page.goto("about:blank")  # to another part of the same file, nothing would be loaded
        page.goto(path.as_uri() + fragment)
        return page

    return open_one
