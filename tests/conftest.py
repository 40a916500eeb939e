"""What all tests stand on."""

import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests import lengths
from tests.dask_processes import end_dask_server
from tests.processes import end_server

HERE = Path(__file__).parent
IN_BROWSER = "tests/pages_in_browser/"

# How long an example takes says of a busy machine that it is busy. A test has the same examples
# every time; `pytest --hypothesis-profile=random` looks at others.
settings.register_profile("keyhole", deadline=None, derandomize=True)
settings.register_profile("random", deadline=None)
settings.load_profile("keyhole")


def pytest_configure(config):
    lengths.LONG = config.getoption("--compiled", default=False)
    # Started in the background of a script, a process ignores Ctrl-C, and so do its children: the
    # tests that interrupt one would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure():
    end_server()
    end_dask_server()


def pytest_terminal_summary(terminalreporter):
    """Say it loudly if no browser looked at the pages."""
    skipped = terminalreporter.stats.get("skipped", [])
    why = {one.longrepr[2] for one in skipped if IN_BROWSER in one.nodeid}
    if why:
        text = "THE TESTS OF PAGES IN A BROWSER DID NOT RUN"
        terminalreporter.section(text, sep="!", red=True, bold=True)
        for line in sorted(why):
            terminalreporter.line(line.removeprefix("Skipped: "))


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path):
    """Look for no examples in docstrings of tests: each module would be gone through once more."""
    found = yield
    if not file_path.is_relative_to(HERE):
        return found
    return [one for one in found if type(one).__name__ != "DoctestModule"]


@pytest.fixture
def only_svg(monkeypatch):
    """Leave the PDF and PNG of a figure empty: they take more than half the time of a report."""
    draw_only_svg(monkeypatch)


@pytest.fixture
def no_figures(monkeypatch):
    """Write empty figures: drawing takes most of a report's time, and other tests look at them."""
    leave_figures_empty(monkeypatch)


def leave_figures_empty(patch):
    from keyhole.pages import figure_files

    # Below all that writes figures, however it imported the function.
    patch.setattr(figure_files, "figure_bytes", lambda figure, kind, **words: b"<svg/>")
    patch.setattr(figure_files.Figure, "get_layout_engine", lambda figure: None)


def draw_only_svg(patch):
    from keyhole.pages import figure_files

    really = figure_files.figure_bytes

    def draw(figure, kind, **words):
        return really(figure, kind, **words) if kind == "svg" else b""

    patch.setattr(figure_files, "figure_bytes", draw)


@pytest.fixture
def only_interpreted(request, monkeypatch):
    """Have `check_policy` compile nothing to compare it with, unless all is to be compiled."""
    from keyhole.testing import policy_checks
    from keyhole.testing.interpreter_agreement import interpreted_and_compiled_agree as compares

    if not request.config.getoption("--compiled"):
        kept = tuple(check for check in policy_checks.CHECKS if check is not compares)
        monkeypatch.setattr(policy_checks, "CHECKS", kept)
