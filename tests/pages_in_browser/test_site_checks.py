"""The checks of the built documentation see, in a browser, what a reader sees."""

import pytest

from tools import site_in_browser

PAGE = '<!doctype html><html lang="en"><title>A</title><main><h1>A</h1>{}</main>'


@pytest.fixture
def site(tmp_path):
    """Return the address of a site with a good page and a page with faults."""
    (tmp_path / "good.html").write_text(PAGE.format("<p>a</p>"))
    (tmp_path / "bad.html").write_text(PAGE.format('<img src="http://127.0.0.1:1/a.png">'))
    with site_in_browser.serve(tmp_path) as address:
        yield address


def test_a_good_page_has_no_faults(browser, site):
    views = [("light", 390)]
    assert list(site_in_browser.find_page_faults(browser, site, "good.html", views)) == []


def test_requests_to_a_network_and_violations_are_faults(browser, site):
    views = [("light", 1300), ("dark", 1300)]
    faults = list(site_in_browser.find_page_faults(browser, site, "bad.html", views))
    for words in ("fetches http://127.0.0.1:1/a.png from a network", "image-alt: "):
        assert sum(words in fault for fault in faults) == len(views)
    assert faults[0].startswith("bad.html, light, 1300 pixels: ")


def test_the_first_page_like_a_pattern_is_examined(tmp_path):
    (tmp_path / "part").mkdir()
    for name in ("b.html", "a.html"):
        (tmp_path / "part" / name).write_text("")
    assert site_in_browser.find_page(tmp_path, "part/*.html?q=x") == "part/a.html?q=x"
    with pytest.raises(FileNotFoundError, match=r"there is no page like c\.html"):
        site_in_browser.find_page(tmp_path, "c.html")
