"""The check of the built documentation prints its faults, and says when no browser looked."""

import re
from pathlib import Path

import pytest

from tests.processes import python
from tools import install_browser

ROOT = Path(__file__).parents[2]


@pytest.fixture
def check(tmp_path, monkeypatch):
    """Return a function that checks a folder where no browser can be found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))
    return lambda: python("-m", "tools.check_docs", str(tmp_path), cwd=ROOT)


def test_faults_are_printed_and_a_missing_browser_is_said_loudly(check, tmp_path):
    pytest.importorskip("playwright")
    (tmp_path / "index.html").write_text('<a href="missing.html">a</a>')
    done = check()
    assert done.returncode == 1
    lines = done.stderr.splitlines()
    assert lines[0] == lines[3] == "!" * 78
    assert lines[1] == "NO BROWSER TRIED THE SEARCH AND THE PAGES OF THE DOCUMENTATION:"
    assert lines[2] == install_browser.MISSING
    assert lines[4:] == ["index.html: the link 'missing.html' is broken: there is no missing.html"]


def test_without_faults_it_ends_with_0(check, tmp_path):
    pytest.importorskip("playwright")
    (tmp_path / "index.html").write_text("<p>")
    assert check().returncode == 0


def test_a_folder_without_a_built_site_is_refused(check, tmp_path):
    done = check()
    assert done.returncode == 2
    assert f"{tmp_path} has no index.html: build the documentation first" in done.stderr


def test_a_link_into_another_page_has_a_target_there():
    """The build finds that out as well, in minutes."""
    docs = ROOT / "docs"
    pages = [page for page in docs.rglob("*.md") if page.relative_to(docs).parts[0][0] != "_"]
    links = [
        (page, other, target)
        for page in pages
        for other, target in re.findall(r"\]\(([\w./-]+\.md)#([\w-]+)\)", page.read_text())
    ]
    assert len(links) > 20
    for page, other, target in links:
        assert f"({target})=" in (page.parent / other).read_text(), f"{page}: {other}#{target}"
