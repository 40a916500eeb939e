"""The time left of compilation, by a clock of the test's own."""

import pytest

from keyhole.experiment import compilation_progress
from keyhole.experiment.compilation_progress import CompilationProgress


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def begin(tmp_path, monkeypatch):
    """Return a function that begins the progress of kernels, of which some are compiled already."""
    monkeypatch.setattr(compilation_progress, "find_file", lambda job: tmp_path / job[0])
    monkeypatch.setattr(compilation_progress, "import_numba", lambda: None)

    def make(names, there=""):
        for name in there:
            (tmp_path / name).touch()
        clock = Clock()
        return clock, CompilationProgress([(name, None) for name in names], clock)

    return make


def test_each_kernel_left_takes_the_mean_of_those_compiled(begin):
    clock, progress = begin("abcd")
    assert progress.seconds_left is None
    for now, left in ((2.0, 6.0), (6.0, 6.0), (9.0, 3.0), (12.0, 0.0)):
        clock.now = now
        progress.count_next()
        assert progress.seconds_left == pytest.approx(left)
    assert progress.compiled == 4


def test_kernels_in_the_cache_take_no_time(begin):
    clock, progress = begin("abcde", there="acd")
    progress.count_next()
    assert progress.seconds_left is None  # b and e are missing, and nothing was compiled yet
    clock.now = 5.0
    progress.count_next()
    assert progress.seconds_left == pytest.approx(5.0)  # e
    clock.now = 5.1
    progress.count_next()
    progress.count_next()
    assert progress.seconds_left == pytest.approx(5.0)
    assert progress.compiled == 1


def test_with_a_full_cache_nothing_is_left(begin, capsys):
    _, progress = begin("ab", there="ab")
    assert progress.seconds_left == 0.0
    progress.count_next()
    progress.show()
    assert capsys.readouterr().err == ""


def test_the_time_left_is_shown_once_it_is_known(begin, capsys):
    clock, progress = begin("abc")
    clock.now = 90.0
    progress.count_next()
    progress.show()
    progress.count_next()
    progress.show()  # a moment later: nothing
    assert capsys.readouterr().err == "2 left to compile, about 3.0 min\n"
