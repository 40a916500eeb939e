import sys
from types import SimpleNamespace

import keyhole.play.progress
from keyhole.play.progress import print_step_name, progress_callback


def test_nothing_is_shown_unless_wanted(capsys):
    with progress_callback(False) as report:
        assert report is None
    assert capsys.readouterr() == ("", "")


def test_plain_lines_go_to_standard_error(capsys):
    with progress_callback(True) as report:
        report("LSA", 0, 10)
        report("LSA", 10, 10)
        report("LSA", 10, 10)
    shown = capsys.readouterr()
    assert shown.out == ""
    (line,) = shown.err.splitlines()
    assert line.startswith("LSA: 100 %")


def test_lines_say_how_much_time_is_left_in_all(capsys):
    seen = []

    def observe(*what):
        seen.append(what)
        return "about 5 s left"

    with progress_callback(True, observe) as report:
        report("LSA", 0, 10)
        report("LSA", 10, 10)
    assert seen == [("LSA", 0, 10), ("LSA", 10, 10)]
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("LSA: 100 %")
    assert line.endswith("; about 5 s left")


def test_a_speed_of_the_first_moment_says_no_time(capsys, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(keyhole.play.progress.time, "monotonic", lambda: now[0])
    with progress_callback(True) as report:
        now[0] = 10.0  # compiling
        report("LSA", 0, 100)
        now[0] = 10.2
        report("LSA", 1, 100)
        now[0] = 20.0
        report("LSA", 50, 100)
    first, second = capsys.readouterr().err.splitlines()
    assert first == "LSA: 1 %, 5 rounds/s"
    assert second == "LSA: 50 %, 5 rounds/s, 10 s left"


class Notebook:
    """What a notebook shows: for each output of its cells, the texts that it had in turn."""

    def __init__(self, monkeypatch):
        self.shown = []
        self.shell = SimpleNamespace(kernel="some", execution_count=1)
        main = SimpleNamespace(get_ipython=lambda: self.shell)
        monkeypatch.setitem(sys.modules, "IPython", main)
        monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=self.display))
        monkeypatch.setattr(keyhole.play.progress, "_SECONDS_BETWEEN_UPDATES", 0.0)
        monkeypatch.setattr(keyhole.play.progress, "_cells_with_line", set())
        self.texts = {}

    def display(self, data, *, raw, display_id, update):
        assert raw
        if not update:
            self.texts[display_id] = []
            self.shown.append(self.texts[display_id])
        self.texts[display_id].append(data["text/plain"])


def test_a_notebook_has_one_line_that_changes(capsys, monkeypatch):
    notebook = Notebook(monkeypatch)
    with progress_callback(True) as report:
        for played in (0, 5, 10):
            report("LSA", played, 10)
        report("APT", 10, 10)
    print_step_name("writing tables")
    assert capsys.readouterr() == ("", "")
    ((half, whole, other, step),) = notebook.shown
    assert half.startswith("LSA: 50 %")
    assert whole.startswith("LSA: 100 %")
    assert other.startswith("APT: 100 %")
    assert step == "writing tables"


def test_another_cell_of_a_notebook_has_a_line_of_its_own(monkeypatch):
    notebook = Notebook(monkeypatch)
    for count in (1, 1, 2):
        notebook.shell.execution_count = count
        print_step_name(f"step {count}")
    assert notebook.shown == [["step 1", "step 1"], ["step 2"]]


def test_ipython_on_a_terminal_is_no_notebook(capsys, monkeypatch):
    shells = SimpleNamespace(get_ipython=lambda: SimpleNamespace())
    monkeypatch.setitem(sys.modules, "IPython", shells)
    with progress_callback(True) as report:
        report("LSA", 10, 10)
    assert capsys.readouterr().out == ""
