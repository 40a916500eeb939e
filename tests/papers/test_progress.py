"""One progress line for many experiments, with an estimate of the time left."""

import pytest

from keyhole.papers.progress import TotalProgress, WorkItem, _format_remaining


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def told():
    """Return a clock, what is shown, and three policies, the last of another setting."""
    work = [
        WorkItem("one/a", "LSA", ("none", "thresholding", "LSA"), 1000),
        WorkItem("one/a", "APT", ("none", "thresholding", "APT"), 1000),
        WorkItem("two/b", "LSA again", ("none", "thresholding", "LSA"), 2000),
        WorkItem("two/b", "UCB1", ("none", "stochastic", "UCB1"), 4000),
    ]
    clock, shown = Clock(), []
    return clock, shown, TotalProgress(work, lambda *what: shown.append(what), clock)


def test_a_policy_counts_when_it_is_done_and_its_speed_is_that_of_its_kind(told):
    clock, shown, count = told
    report = count.of("one/a")
    clock.now = 3.0  # compiling
    report("LSA", 0, 1000)
    clock.now = 5.0
    report("LSA", 1000, 1000)
    what, share, playing, preparing = shown[-1]
    assert what == "one/a: LSA"
    assert share == pytest.approx(1 / 8)
    assert playing == pytest.approx(7000 * 2 / 1000)  # all that is left, at the only known pace
    assert preparing == pytest.approx(2 * 3.0)  # APT and UCB1; LSA is compiled


def test_speeds_with_and_without_simulated_workers_are_independent():
    clock, shown = Clock(), []
    alone = WorkItem("a", "alone", ("none", "thresholding", "LSA"), 1000)
    crowd = WorkItem("a", "crowd", ("64 workers", "resource", "RCUCB"), 1000)
    later = WorkItem("a", "later", ("none", "resource", "RCUCB"), 1000)
    count = TotalProgress([alone, crowd, later], lambda *what: shown.append(what), clock)
    for label, end in (("alone", 1.0), ("crowd", 101.0)):
        count.of("a")(label, 0, 1000)
        clock.now = end
        count.of("a")(label, 1000, 1000)
    _, _, playing, _ = shown[-1]
    assert playing == pytest.approx(1.0)  # as fast as "alone", not as the mean of all


def test_a_known_kind_has_its_own_speed_and_others_that_of_their_setting(told):
    clock, shown, count = told
    for label, begin, end in (("LSA", 0.0, 2.0), ("APT", 2.0, 10.0)):
        clock.now = begin
        count.of("one/a")(label, 0, 1000)
        clock.now = end
        count.of("one/a")(label, 1000, 1000)
    _, _, playing, _ = shown[-1]
    # LSA 2 ms a round; UCB1 is of a setting that has not played: as all, 5 ms.
    assert playing == pytest.approx(2000 * 0.002 + 4000 * 0.005)
    clock.now = 11.0
    report = count.of("two/b")
    report("LSA again", 0, 2000)
    clock.now = 12.0
    report("LSA again", 1000, 2000)
    _, share, playing, _ = shown[-1]
    assert share == pytest.approx(3 / 8)
    assert playing < 1000 * 0.002 + 4000 * 0.005  # it is faster than it was


def test_cached_work_needs_no_time(told):
    _, shown, count = told
    count.of("one/a")("LSA", 1000, 1000)  # read from a block
    _, share, playing, _ = shown[-1]
    assert share == pytest.approx(1 / 8)
    assert playing == 0.0  # nothing is known yet


def test_work_without_progress_is_done_with_its_entry(told):
    _, shown, count = told
    count.finish("one")  # on file, or played for another entry
    assert shown[-1][1] == pytest.approx(1 / 4)
    count.finish("two")
    assert shown[-1][1:] == (1.0, 0.0, 0.0)


def test_progress_of_unknown_work_is_ignored(told):
    _, shown, count = told
    count.of("one/a")("somebody", 5, 10)
    assert not shown


def test_the_remaining_time_is_formatted():
    assert _format_remaining(30.0, 0.5) == "about 30 s left"
    assert _format_remaining(300.0, 60.0) == "about 6 min left, 60 s of it compiling"
