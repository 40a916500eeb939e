import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.data import ArrivalTimes, count_deadlines_met

minutes = st.one_of(st.integers(-60, 60).map(float), st.just(float("inf")))
grids = st.sets(st.integers(-60, 60), min_size=1, max_size=8).map(lambda s: sorted(s, reverse=True))


@pytest.fixture
def ferries():
    return ArrivalTimes("ferries", ("red", "blue"), ([3, 12, 5, np.inf], [8, 6]))


@settings(max_examples=40)
@given(minutes, grids)
def test_a_sample_reaches_a_threshold_exactly_where_its_deadline_is_kept(time, deadlines):
    sample = count_deadlines_met(time, deadlines)
    for c, deadline in enumerate(deadlines, start=1):
        assert (sample >= c) == (time <= deadline)


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(minutes, min_size=1, max_size=9), min_size=1, max_size=4), grids)
def test_the_problem_is_as_the_shares_say(columns, deadlines):
    times = ArrivalTimes("made up", tuple(map(str, range(len(columns)))), columns)
    plain = [[sum(t <= d for t in column) / len(column) for d in deadlines] for column in columns]
    assert times.met_shares(deadlines).tolist() == plain
    problem = times.problem(deadlines, feedback="censored", order="cyclic")
    assert np.allclose(problem.survival, plain, rtol=0, atol=1e-15)
    assert problem.feedback == "censored"
    assert repr(problem.order) == "cyclic()"


def test_the_problem_gives_back_the_recorded_times(ferries):
    truth = ferries.problem([12, 5], feedback="uncensored").truth()
    assert truth["numbers"].tolist() == [2, 1, 2, 0, 1, 1]
    assert truth["ends"].tolist() == [4, 6]


def test_arrays_are_read_only_copies():
    mine = np.array([1.0, 2.0])
    times = ArrivalTimes("mine", ("a",), (mine,))
    mine[0] = 9.0
    assert times.minutes[0].tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        times.minutes[0][0] = 9.0


@pytest.mark.parametrize(
    ("arms", "columns", "message"),
    [
        ((), (), "arms must have at least one entry"),
        (("a", "a"), ([1], [2]), "arms must differ, got 'a' twice"),
        (("a", "b"), ([1],), "minutes must have one list for each arm, 2; got 1"),
        (("a",), ([],), r"minutes\[0\] must have at least one entry"),
        (("a", "b"), ([1], [2, np.nan]), r"minutes\[1\]\[1\] must be a number of minutes or inf"),
        (("a",), ([-np.inf],), r"minutes\[0\]\[0\] must be a number of minutes or inf, got -inf"),
    ],
)
def test_times_refuse_values_that_are_not_allowed(arms, columns, message):
    with pytest.raises(ValueError, match=message):
        ArrivalTimes("mine", arms, columns)


@pytest.mark.parametrize("column", [["1"], [[1.0]], [True], 3.0, "12"])
def test_times_refuse_what_is_no_list_of_numbers(column):
    with pytest.raises(TypeError, match=r"minutes\[0\] must be a flat list of numbers"):
        ArrivalTimes("mine", ("a",), (column,))


@pytest.mark.parametrize(
    ("deadlines", "message"),
    [
        ([], "deadlines must have at least one entry"),
        (
            [5, 10],
            "deadlines must be decreasing, from the most generous to the tightest; got 10 after 5",
        ),
        ([10, 10], "deadlines must be decreasing, .* got 10 after 10"),
        ([10, np.nan], r"deadlines\[1\] must be a finite number, got nan"),
        ([np.inf, 10], r"deadlines\[0\] must be a finite number, got inf"),
    ],
)
def test_deadlines_must_fall(ferries, deadlines, message):
    calls = (
        lambda: ferries.met_shares(deadlines),
        lambda: ferries.problem(deadlines, feedback="censored"),
        lambda: count_deadlines_met(3, deadlines),
    )
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call()


def test_the_representation_counts_the_times(ferries):
    assert repr(ferries) == "ArrivalTimes(ferries; red: 4, blue: 2)"
