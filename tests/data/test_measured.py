import math

import numpy as np
import pytest

from keyhole.data import Measured, read_measured_csv
from keyhole.resource import Power

RUNS = Measured(
    "two", ("a", "b"), (np.array([0.5, 0.7]), np.array([0.9, 0.0])),
    (np.array([1.0, 2.0]), np.array([30.0, np.inf])),
)  # fmt: skip


def test_what_is_saved_is_read_again(tmp_path):
    RUNS.save(tmp_path / "two.csv")
    again = read_measured_csv(tmp_path / "two.csv")
    assert (again.name, again.arms) == ("two", ("a", "b"))
    for mine, theirs in ((again.rewards, RUNS.rewards), (again.consumptions, RUNS.consumptions)):
        assert [values.tolist() for values in mine] == [values.tolist() for values in theirs]
    assert again.quartiles() == pytest.approx((1.5 + 28.5 / 4, 30 - 28.5 / 4))


def test_a_run_that_was_ended_exceeds_every_limit():
    problem = RUNS.problem([1.5, 40.0], cost=Power(slope=0.01), penalty=Power(slope=0.1))
    assert problem.gains[0].tolist() == pytest.approx([(0.49 - 0.15) / 2, 0.6 - 0.015])
    assert problem.gains[1].tolist() == pytest.approx([-0.15, (0.6 - 4.0) / 2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,reward\n", "the header must have one column consumption"),
        ("arm,reward,consumption\n,1,1\n", "line 2: arm must not be empty"),
        ("arm,reward,consumption\na,1.5,1\n", r"line 2: reward must lie in \[0, 1\], got '1.5'"),
        ("arm,reward,consumption\na,x,1\n", "reward must be a number, at least 0, got 'x'"),
        ("arm,reward,consumption\na,1,-1\n", "consumption must be a number, at least 0, got '-1'"),
        ("arm,reward,consumption\na,1,\n", "consumption must be a number, at least 0, got ''"),
        ("arm,reward,consumption\na,,3\n", "reward must be a number, at least 0, got ''"),
        ("arm,reward,consumption\n", "at least one row must follow the header"),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_measured_csv(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("rewards", "used", "message"),
    [
        ((), ([1.0],), "rewards must have one list for each arm, 1; got 0"),
        (([1.0],), (), "consumptions must have one list for each arm, 1; got 0"),
        (([1.0],), ([1.0, 2.0],), r"consumptions\[0\] must have 1 entries, got 2"),
    ],
)
def test_lists_that_do_not_fit_are_refused(rewards, used, message):
    with pytest.raises(ValueError, match=message):
        Measured("x", ("a",), rewards, used)


def test_all_runs_of_an_arm_may_have_been_ended(tmp_path):
    (tmp_path / "x.csv").write_text("arm,reward,consumption\na,,\nb,1,2\n")
    runs = read_measured_csv(tmp_path / "x.csv")
    assert runs.consumptions[0].tolist() == [math.inf]
    assert runs.quartiles() == (2, 2)
