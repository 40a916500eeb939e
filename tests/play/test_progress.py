import sys
from types import SimpleNamespace

import keyhole.play.progress
from keyhole.play.progress import progress_report


def test_nothing_is_shown_unless_wanted(capsys):
    with progress_report(False) as report:
        assert report is None
    assert capsys.readouterr() == ("", "")


def test_plain_lines_go_to_standard_error(capsys):
    with progress_report(True) as report:
        report("LSA", 0, 10)
        report("LSA", 10, 10)
        report("LSA", 10, 10)
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("LSA: 100 %")


def test_a_notebook_has_one_line_that_changes(capsys, monkeypatch):
    shell = SimpleNamespace(kernel="some")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setattr(keyhole.play.progress, "_SECONDS_IN_PLACE", 0.0)
    with progress_report(True) as report:
        for played in (0, 5, 10):
            report("LSA", played, 10)
        report("APT", 10, 10)
    shown = capsys.readouterr()
    assert shown.err == ""
    first, second, end = shown.out.split("\n")
    assert end == ""
    _, half, whole = first.split("\r")
    assert half.startswith("LSA: 50 %")
    assert whole.startswith("LSA: 100 %")
    assert len(whole) >= len(half)
    assert second.startswith("\rAPT: 100 %")


def test_ipython_on_a_terminal_is_no_notebook(capsys, monkeypatch):
    shells = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", shells)
    with progress_report(True) as report:
        report("LSA", 10, 10)
    assert capsys.readouterr().out == ""
