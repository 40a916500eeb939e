"""One progress line for many experiments, with an estimate of the time left."""

import pytest

from keyhole.play.total_progress import TimeLeft, TotalProgress, WorkItem

LSA, APT, UCB1 = (
    ("none", setting, policy)
    for setting, policy in (
        ("thresholding", "LSA"),
        ("thresholding", "APT"),
        ("stochastic", "UCB1"),
    )
)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


class Shown(list):
    def __call__(self, *what):
        self.append(what)

    @property
    def left(self):
        """The last time left that was shown."""
        return self[-1][2]


@pytest.fixture
def told(tmp_path):
    """Return a clock, what is shown, and four policies, a second a round, the last of a setting."""
    work = [
        WorkItem("one/a", "LSA", LSA, 1000, 1000.0, tmp_path / "LSA"),
        WorkItem("one/a", "APT", APT, 1000, 1000.0, tmp_path / "APT"),
        WorkItem("two/b", "LSA again", LSA, 2000, 2000.0, tmp_path / "LSA"),
        WorkItem("two/b", "UCB1", UCB1, 4000, 4000.0, tmp_path / "UCB1"),
    ]
    clock, shown = Clock(), Shown()
    return clock, shown, TotalProgress(work, shown, clock)


def play(count, clock, place, label, rounds, begin, end):
    clock.now = begin
    count.of(place)(label, 0, rounds)
    clock.now = end
    count.of(place)(label, rounds, rounds)


def test_what_is_left_takes_as_much_longer_as_what_is_done(told, tmp_path):
    clock, shown, count = told
    (tmp_path / "LSA").touch()  # compiled in the first 2.7 seconds
    play(count, clock, "one/a", "LSA", 1000, 2.7, 2002.7)
    what, share, left = shown[-1]
    assert what == "one/a: LSA"
    assert share == pytest.approx(1 / 8)
    assert left.simulating == pytest.approx(7000 * 2, rel=0.02)
    assert left.compiling == pytest.approx(2 * 2.7)  # APT and UCB1; LSA is compiled


def test_before_anything_is_measured_compiling_says_how_slow_the_machine_is(told, tmp_path):
    clock, shown, count = told
    (tmp_path / "LSA").touch()
    clock.now = 8.1
    count.of("one/a")("LSA", 0, 1000)
    assert shown.left == TimeLeft(pytest.approx(8000 * 3), pytest.approx(2 * 8.1), 0.0)


def test_code_that_is_there_needs_no_time(told, tmp_path):
    clock, shown, count = told
    for name in ("LSA", "APT", "UCB1"):
        (tmp_path / name).touch()
    play(count, clock, "one/a", "LSA", 1000, 3.0, 5.0)
    assert shown.left.compiling == 0.0


def test_the_same_policy_on_another_problem_is_compiled_anew(tmp_path):
    clock, shown = Clock(), Shown()
    work = [WorkItem(place, "LSA", LSA, 1000, 1.0, tmp_path / place) for place in ("a", "b")]
    count = TotalProgress(work, shown, clock)
    (tmp_path / "a").touch()
    play(count, clock, "a", "LSA", 1000, 4.0, 6.0)
    assert shown.left.compiling == pytest.approx(4.0)


@pytest.mark.parametrize(("seconds", "compiling"), [(0.0, 10.0), (1.0, 7.5), (100.0, 0.0)])
def test_a_second_process_compiles_meanwhile(seconds, compiling, tmp_path):
    clock, shown = Clock(), Shown()
    work = [WorkItem(str(n), "LSA", LSA, 10, seconds, tmp_path / str(n)) for n in range(6)]
    count = TotalProgress(work, shown, clock, compilers=2)
    for n in (0, 5):  # this process has compiled the first one, the other process the last one
        (tmp_path / str(n)).touch()
    play(count, clock, "0", "LSA", 10, 5.0, 5.0 + seconds)
    # Four are missing, 20 s: half of them, less what is compiled while 5 policies are simulated.
    assert shown.left.compiling == pytest.approx(compiling, abs=2.0)


def test_the_first_moment_of_a_policy_says_little(told, tmp_path):
    clock, shown, count = told
    (tmp_path / "LSA").touch()
    clock.now = 2.7
    report = count.of("one/a")
    report("LSA", 0, 1000)
    clock.now = 3.7
    report("LSA", 0, 1000)  # nothing in a second: by this speed it would never end
    assert shown.left.simulating == pytest.approx(8000, rel=1.0)
    clock.now = 1002.7
    report("LSA", 500, 1000)
    assert shown.left.simulating == pytest.approx(7500 * 2, rel=0.05)


def test_speeds_with_and_without_simulated_workers_are_independent():
    clock, shown = Clock(), Shown()
    alone = WorkItem("a", "alone", LSA, 1000, 1000.0)
    crowd = WorkItem("a", "crowd", ("64 workers", "resource", "RCUCB"), 1000, 1000.0)
    later = WorkItem("a", "later", ("none", "resource", "RCUCB"), 1000, 1000.0)
    count = TotalProgress([alone, crowd, later], shown, clock)
    play(count, clock, "a", "alone", 1000, 0.0, 1000.0)
    play(count, clock, "a", "crowd", 1000, 1000.0, 101_000.0)
    # As fast as "alone", not as the mean of all, 50 times slower.
    assert shown.left.simulating == pytest.approx(1000.0, rel=0.3)


def test_a_known_kind_has_its_own_speed_and_others_that_of_their_setting(told):
    clock, shown, count = told
    play(count, clock, "one/a", "LSA", 1000, 0.0, 2000.0)
    play(count, clock, "one/a", "APT", 1000, 2000.0, 10_000.0)
    # LSA twice as long as expected, and UCB1, of a setting that has not played, as all: five times.
    assert shown.left.simulating == pytest.approx(2000 * 2 + 4000 * 5, rel=0.02)
    before = shown.left.simulating
    clock.now = 11_000.0
    report = count.of("two/b")
    report("LSA again", 0, 2000)
    clock.now = 12_000.0
    report("LSA again", 1000, 2000)
    _, share, left = shown[-1]
    assert share == pytest.approx(3 / 8)
    assert left.simulating < before - 1000 * 2  # it is faster than it was


def test_cached_work_needs_no_time(told):
    _, shown, count = told
    count.of("one/a")("LSA", 1000, 1000)  # read from a block
    _, share, left = shown[-1]
    assert share == pytest.approx(1 / 8)
    assert left.simulating == pytest.approx(7000)  # as expected: nothing else is known


def test_work_without_progress_is_done_with_its_place(told):
    _, shown, count = told
    count.finish("one")  # on file, or played for another entry
    assert shown[-1][1] == pytest.approx(1 / 4)
    count.finish("two/b")
    assert shown[-1][1:] == (1.0, TimeLeft(0.0, 0.0, 0.0))


def test_progress_of_unknown_work_is_ignored(told):
    _, shown, count = told
    count.of("one/a")("somebody", 5, 10)
    assert not shown
    assert count.observer("one/a")("somebody", 5, 10) == ""


def test_an_observer_says_how_much_time_is_left(told, tmp_path):
    clock, _, count = told
    (tmp_path / "LSA").touch()
    clock.now = 2.7
    observed = count.observer("one/a")("LSA", 0, 1000)
    assert observed == "about 2.2 h left in all, 5.4 s of it compiling"


def test_tables_and_pages_take_longer_where_compiling_does(tmp_path):
    clock, shown = Clock(), Shown()
    work = [WorkItem("a", "LSA", LSA, 1000, 1.0, tmp_path / "LSA")]
    count = TotalProgress(work, shown, clock, writing=2.0)
    (tmp_path / "LSA").touch()
    play(count, clock, "a", "LSA", 1000, 27.0, 28.0)
    assert shown.left == TimeLeft(0.0, 0.0, pytest.approx(20.0))


def test_tables_and_pages_take_longer_where_simulations_do_if_nothing_is_compiled(tmp_path):
    clock, shown = Clock(), Shown()
    count = TotalProgress([WorkItem("a", "LSA", LSA, 1000, 15.0)], shown, clock, writing=2.0)
    play(count, clock, "a", "LSA", 1000, 0.0, 55.0)  # 55 s in place of 15, and 5 s as expected
    assert shown.left == TimeLeft(0.0, 0.0, pytest.approx(6.0))


def test_the_time_left_is_text():
    assert str(TimeLeft(29.0, 0.5, 0.5)) == "about 30 s left in all"
    assert str(TimeLeft(300.0, 60.0, 0.0)) == "about 6.0 min left in all, 60 s of it compiling"
