"""One progress line for many experiments, with an estimate of the time left."""

import pytest

from keyhole.play.progress import TotalProgress, WorkItem


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Shown(list):
    def __call__(self, *what):
        self.append(what)


@pytest.fixture
def told():
    """Return a clock, what is shown, and four policies that are expected to take 8,000 s."""
    work = [
        WorkItem("one/a", "LSA", 1000, 1000.0),
        WorkItem("one/a", "APT", 1000, 1000.0),
        WorkItem("two/b", "LSA again", 2000, 2000.0),
        WorkItem("two/b", "UCB1", 4000, 4000.0),
    ]
    clock, shown = Clock(), Shown()
    return clock, shown, TotalProgress(work, shown, clock)


def test_what_is_left_takes_as_much_longer_as_what_is_done(told):
    clock, shown, count = told
    report = count.tracker("one/a")
    clock.now = 10.0
    assert report("LSA", 0, 1000) == ""  # nothing is known yet
    clock.now = 1000.0
    assert report("LSA", 250, 1000) == "about 8.6 h left"  # four times as long as expected
    clock.now = 2000.0
    assert report("LSA", 1000, 1000) == "about 3.9 h left"  # twice: 14,000 s
    what, share, left = shown[-1]
    assert (what, left) == ("one/a: LSA", "about 3.9 h left")
    assert share == pytest.approx(1 / 8)


def test_what_is_expected_weighs_not_rounds_alone():
    clock = Clock()
    work = [WorkItem("a", "quick", 1000, 10.0), WorkItem("a", "slow", 1000, 90.0)]
    report = TotalProgress(work, None, clock).tracker("a")
    report("quick", 0, 1000)
    clock.now = 10.0
    assert report("quick", 1000, 1000) == "about 90 s left"
    report("slow", 0, 1000)
    clock.now = 55.0
    assert report("slow", 500, 1000) == "about 45 s left"
    clock.now = 100.0
    assert report("slow", 1000, 1000) == ""


def test_rounds_of_an_earlier_call_say_nothing_of_the_speed(told):
    clock, shown, count = told
    report = count.tracker("one/a")
    assert report("LSA", 1000, 1000) == ""  # all was read from a block
    assert shown[-1][1] == pytest.approx(1 / 8)
    assert report("APT", 500, 1000) == ""
    clock.now = 1000.0
    assert report("APT", 1000, 1000) == "about 3.3 h left"  # twice as long as expected: 12,000 s


def test_work_without_progress_is_done_with_its_place(told):
    _, shown, count = told
    count.mark_as_done("one")  # on file, or played for another entry
    assert shown[-1][1] == pytest.approx(1 / 4)
    count.mark_as_done("two/b")
    assert shown[-1][1:] == (1.0, "")


def test_progress_of_unknown_work_is_ignored(told):
    _, shown, count = told
    assert count.tracker("one/a")("somebody", 5, 10) == ""
    assert not shown
