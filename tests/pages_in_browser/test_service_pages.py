"""The pages of the service, in a real browser: forms, scripts under their policy, news."""

import threading
import time
from contextlib import contextmanager

import pytest
import uvicorn

from keyhole.serve import Settings, make_app
from keyhole.serve.api_keys import add_key
from keyhole.stochastic import UCB1
from keyhole.study import Study
from tests.pages_in_browser.example_pages import OPEN, measure
from tests.pages_in_browser.test_all_pages import violations

SMALL = 360


@pytest.fixture(scope="module")
def storage(tmp_path_factory):
    """Return a database with a study of many arms."""
    path = tmp_path_factory.mktemp("service") / "s.db"
    with Study.create(path, "shop", UCB1(), [f"arm {n}" for n in range(60)]) as study:
        study.tell_many([(decision, 1) for decision in study.ask_many(60)])
    return path


@contextmanager
def serve(storage, **options):
    """Run a service in a thread, and yield its address."""
    app = make_app(Settings(storage=str(storage), **options))
    config = uvicorn.Config(app, port=0, log_level="error")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()


@pytest.fixture(scope="module")
def url(storage):
    """Yield the address of a service without keys."""
    with serve(storage) as address:
        yield address


@pytest.fixture
def page(windows):
    """Return a small dark window."""
    page = windows(SMALL, {"color_scheme": "dark"})
    page.faults, page.requests = [], []
    return page


@pytest.mark.parametrize("path", ["/", "/studies/shop", "/studies/none"])
def test_axe_finds_nothing_and_nothing_is_wider_than_a_phone(page, url, path):
    page.goto(url + path)
    page.evaluate(OPEN)
    assert violations(page) == []
    assert measure(page)["overflow"] <= 0
    # The browser itself says that a page is unknown.
    assert [fault for fault in page.faults if "404" not in fault] == []


def test_news_are_shown_where_the_reader_is(page, url, storage):
    page.goto(f"{url}/studies/shop#events")
    page.evaluate("document.getElementById('waiting').closest('details').open = true")
    page.evaluate("scrollTo(0, 40)")
    with Study.open(storage, "shop") as study:
        study.ask()
    page.get_by_text("The page shows new events.").wait_for(state="attached")
    assert "61 decisions so far" in page.inner_text("main")
    assert page.evaluate("scrollY") == 40
    assert page.locator("details[open]").count() == 2
    assert page.locator("thead button").count() > 0, "tables can no longer be sorted"
    assert page.faults == []


def test_what_was_typed_stays(page, url, storage):
    page.goto(f"{url}/studies/shop")
    page.locator("summary", has_text="Add or retire arms").click()
    page.locator("textarea[name=arms]").fill("emu")
    page.locator("h1").click()
    with Study.open(storage, "shop") as study:
        study.ask()
    page.wait_for_timeout(4000)  # the page asks for news every three seconds
    assert page.locator("textarea[name=arms]").input_value() == "emu"


def test_forms_work_by_the_keyboard(page, url, storage):
    page.goto(f"{url}/studies/shop")
    page.locator("summary", has_text="Add or retire arms").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.type("emu")
    page.keyboard.press("Tab")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url == f"{url}/studies/shop"
    with Study.open(storage, "shop") as study:
        assert study.arms[-1] == "emu"


@pytest.mark.parametrize("width", [SMALL, 1300])
def test_a_key_is_given_by_the_keyboard(windows, tmp_path, width):
    Study.create(tmp_path / "s.db", "shop", UCB1(), ["red", "blue"]).close()
    key, _ = add_key(str(tmp_path / "s.db"), "ann", "admin", "*")
    page = windows(width, {"color_scheme": "light"})
    page.faults, page.requests = [], []
    with serve(tmp_path / "s.db", needs_key=True) as address:
        page.goto(f"{address}/studies/shop")
        assert violations(page) == []
        assert measure(page)["overflow"] <= 0
        page.locator("input[name=key]").focus()
        page.keyboard.type(key)
        with page.expect_navigation():
            page.keyboard.press("Enter")
        assert page.url == f"{address}/"
        page.evaluate(OPEN)
        assert violations(page) == []
        assert measure(page)["overflow"] <= 0
        with page.expect_navigation():
            page.get_by_role("button", name="Log out").click()
        assert "A key is needed." in page.inner_text("main")
