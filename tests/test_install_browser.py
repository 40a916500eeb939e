"""Without a browser these tests are skipped, and nobody can overlook it."""

import sys
from pathlib import Path

import pytest

from tests.processes import python
from tools import install_browser

ROOT = Path(__file__).parents[1]
NAME = "chromium"


@pytest.fixture
def without_browser(tmp_path, monkeypatch):
    """Leave no browser that could be found."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("PLAYWRIGHT_BROWSERS_PATH", str(tmp_path))


@pytest.mark.usefixtures("without_browser")
def test_the_end_of_the_output_says_that_the_tests_did_not_run():
    pytest.importorskip("playwright")
    one = "tests/pages_in_browser/test_tables.py::test_the_keyboard_sorts"
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", one, cwd=ROOT)
    lines = done.stdout.splitlines()
    title = next(i for i, line in enumerate(lines) if line.startswith("!!!"))
    assert " THE TESTS OF PAGES IN A BROWSER DID NOT RUN !!!" in lines[title]
    assert lines[title + 1] == install_browser.MISSING
    assert lines[-1].startswith("1 skipped")


@pytest.mark.usefixtures("without_browser")
def test_playwrights_browser_is_taken_first_then_one_on_the_path(tmp_path):
    playwrights = tmp_path / "own"
    assert install_browser.find_browser(str(playwrights)) is None
    installed = tmp_path / NAME
    installed.write_text("")
    installed.chmod(0o755)
    assert install_browser.find_browser(str(playwrights)) == str(installed)
    playwrights.write_text("")
    assert install_browser.find_browser(str(playwrights)) == str(playwrights)


@pytest.mark.usefixtures("without_browser")
def test_a_browser_is_installed_only_where_there_is_none(tmp_path, monkeypatch, capsys):
    pytest.importorskip("playwright")
    installed, calls = tmp_path / NAME, []

    def install():
        calls.append(1)
        installed.write_text("")
        installed.chmod(0o755)

    monkeypatch.setattr(install_browser, "_install", install)
    for _ in range(2):
        install_browser.main()
        assert capsys.readouterr().out == f"browser of the tests: {installed}\n"
    assert calls == [1]


@pytest.mark.usefixtures("without_browser")
def test_a_failed_download_is_reported(monkeypatch, capsys):
    pytest.importorskip("playwright")
    monkeypatch.setattr(install_browser, "_COMMAND", (sys.executable, "-c", "exit('no network')"))
    install_browser.main()
    out, err = capsys.readouterr()
    assert not out
    assert err.startswith("playwright install chromium: no network\n!!!")
    assert "THERE IS NO BROWSER: the tests of tests/pages_in_browser will be skipped." in err
