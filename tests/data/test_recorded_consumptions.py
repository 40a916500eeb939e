import math

import numpy as np
import pytest

from keyhole.data import MeasuredRuns, read_measured_runs_csv
from keyhole.resource import Power

RUNS = MeasuredRuns(
    "two", ("a", "b"), ([0.5, 0.7], [0.9, 0.0]), ([1.0, 2.0], [30.0, np.inf]),
    ([np.inf, np.inf], [60.0, 60.0]),
)  # fmt: skip
COST, PENALTY = Power(slope=0.01), Power(slope=0.1)


def test_runs_and_limits_are_read_arm_by_arm(tmp_path):
    path = tmp_path / "two.csv"
    path.write_text("arm,reward,consumption,limit\na,0.5,1,\nb,0.9,30,60\na,0.7,2,\nb,,,60\n")
    runs = read_measured_runs_csv(path)
    assert (runs.name, runs.arms) == ("two", ("a", "b"))
    for name in ("rewards", "consumptions", "limits"):
        found, expected = getattr(runs, name), getattr(RUNS, name)
        assert [values.tolist() for values in found] == [values.tolist() for values in expected]
    assert runs.quartiles() == pytest.approx((8.625, 22.875))  # of the medians 1.5 and 30


def test_a_run_that_was_ended_exceeds_the_limits_up_to_its_own():
    problem = RUNS.problem([1.5, 40.0], cost=COST, penalty=PENALTY)
    assert problem.gains[0].tolist() == pytest.approx([(0.49 - 0.15) / 2, 0.6 - 0.015])
    assert problem.gains[1].tolist() == pytest.approx([-0.15, (0.6 - 4.0) / 2])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("arm,reward\n", "the header must have one column consumption"),
        ("arm,reward,consumption\n,1,1\n", "line 2: arm must not be empty"),
        ("arm,reward,consumption\na,1.5,1\n", r"line 2: reward must lie in \[0, 1\], got 1.5"),
        ("arm,reward,consumption\na,x,1\n", "reward must be a number, got 'x'"),
        ("arm,reward,consumption\na,1,-1\n", "consumption must be at least 0, got -1"),
        ("arm,reward,consumption\na,1,\n", "line 2: reward and consumption .* got reward alone"),
        ("arm,reward,consumption\na,,3\n", "both be empty for a run .* got consumption alone"),
        ("arm,reward,consumption\n", "at least one row must follow the header"),
        ("arm,reward,consumption\na,1,2\na,,\n", "line 3: limit must be given for a censored run"),
        ("arm,reward,consumption,limit\na,,,\n", "line 2: limit must be given for a censored run"),
        (
            "arm,reward,consumption,limit\na,1,2,1\n",
            "consumption must be at most the limit, 1, got 2",
        ),
        ("arm,reward,consumption,limit\na,1,2,0\n", "limit must be above 0, got 0"),
        ("arm,reward,consumption,limit\na,1,2,x\n", "limit must be a number, got 'x'"),
        (
            "limit,arm,reward,consumption,limit\n1,a,1,2,3\n",
            "the header must have one column limit",
        ),
    ],
)
def test_bad_files_are_named_with_the_line(tmp_path, text, message):
    (tmp_path / "x.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        read_measured_runs_csv(tmp_path / "x.csv")


@pytest.mark.parametrize(
    ("rewards", "used", "limits", "message"),
    [
        ((), ([1.0],), None, "rewards must have one list for each arm, 1; got 0"),
        (([1.0],), (), None, "consumptions must have one list for each arm, 1; got 0"),
        (([1.0],), ([1.0],), (), "limits must have one list for each arm, 1; got 0"),
        (([1.0],), ([1.0, 2.0],), None, r"consumptions\[0\] must have 1 entries, got 2"),
        (([1.0],), ([1.0],), ([1.0, 2.0],), r"limits\[0\] must have 1 entries, got 2"),
        (([0.5, 7],), ([1, 1],), None, r"rewards\[0\]\[1\] must lie in \[0, 1\], got 7"),
        (([np.nan],), ([1],), None, r"rewards\[0\]\[0\] must lie in \[0, 1\], got nan"),
        (([1.0],), ([-1],), None, r"consumptions\[0\]\[0\] must be at least 0, got -1"),
        (([1.0],), ([np.inf],), ([9.0],), r"rewards\[0\]\[0\] must be 0 for a censored run"),
        (([0.0],), ([np.inf],), None, r"limits\[0\]\[0\] must be given for a censored run"),
        (([1.0],), ([2.0],), ([1.0],), r"consumptions\[0\]\[0\] must be at most the run's limit"),
        (([1.0],), ([2.0],), ([0.0],), r"limits\[0\]\[0\] must be above 0, got 0"),
        (([],), ([],), None, r"rewards\[0\] must have at least one entry, got none"),
        ((["x"],), ([1.0],), None, r"rewards\[0\] must be a flat list of numbers, got \['x'\]"),
    ],
)
def test_what_cannot_have_been_measured_is_refused(rewards, used, limits, message):
    with pytest.raises((TypeError, ValueError), match=message):
        MeasuredRuns("x", ("a",), rewards, used, limits)


def test_all_runs_of_an_arm_may_have_been_ended(tmp_path):
    (tmp_path / "x.csv").write_text("arm,reward,consumption\na,,\nb,1,2\n")
    runs = read_measured_runs_csv(tmp_path / "x.csv", limit=5)
    assert runs.consumptions[0].tolist() == [math.inf]
    assert [values.tolist() for values in runs.limits] == [[5], [5]]
    assert runs.quartiles() == (2, 2)
    with pytest.raises(
        ValueError, match="limits must be at most 5, the largest limit that arm 'a'"
    ):
        runs.problem([1, 6], cost=COST, penalty=PENALTY)


def test_the_limit_of_all_runs_is_given_once(tmp_path):
    (tmp_path / "x.csv").write_text("arm,reward,consumption,limit\na,1,2,3\n")
    with pytest.raises(
        ValueError, match=r"line 2: limit must be given once, got 5\.0 for all and '3'"
    ):
        read_measured_runs_csv(tmp_path / "x.csv", limit=5)
    with pytest.raises(ValueError, match="limit must be above 0, got -1"):
        read_measured_runs_csv(tmp_path / "x.csv", limit=-1)


def test_a_log_of_runs_with_many_limits_is_not_held_against_the_larger_ones(tmp_path):
    # Three in ten runs of `slow` take .5 to 1, the others .05 to .1; a limit is drawn for each run.
    rng = np.random.default_rng(5)
    rewards = {"slow": 1.0, "quick": 0.3}
    lines, whole = ["arm,reward,consumption,limit"], {}
    for arm, reward in rewards.items():
        used = rng.uniform(0.05, 0.1, 3000)
        if arm == "slow":
            used[rng.random(3000) < 0.3] *= 10
        whole[arm] = used
        for took, limit in zip(used, rng.choice([0.2, 0.4, 1.0], 3000), strict=True):
            done = f"{reward},{took}" if took <= limit else ","
            lines.append(f"{arm},{done},{limit}")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    runs = read_measured_runs_csv(tmp_path / "log.csv")
    known = {"cost": Power(slope=0.1), "penalty": Power(slope=0.5)}
    grid = np.array([0.2, 0.4, 1.0])
    truth = MeasuredRuns("all", tuple(whole), tuple(
        np.full(3000, reward) for reward in rewards.values()
    ), tuple(whole.values())).problem(grid, **known)  # fmt: skip
    gains, counts = runs.estimates(grid, **known)
    problem = runs.problem(grid, **known)
    # A run's worth lies in [-.5, 1] and about 1,000 runs were let go on to 1.
    bound = 5 * 0.75 / np.sqrt(counts)
    assert counts[:, 0].tolist() == [3000, 3000]
    assert (counts[:, 2] < 1200).all()
    assert (np.abs(gains - truth.gains) < bound).all()
    assert (np.abs(problem.gains - truth.gains) < bound[:, 2:]).all()
    assert problem.best_pair == truth.best_pair == (0, 1.0)


def test_estimates_are_those_of_the_problem_where_all_limits_reach_that_far():
    gains, counts = RUNS.estimates([1.5, 40.0, 70.0], cost=COST, penalty=PENALTY)
    problem = RUNS.problem([1.5, 40.0], cost=COST, penalty=PENALTY)
    assert gains[:, :2] == pytest.approx(problem.gains)
    assert counts.tolist() == [[2, 2, 2], [2, 2, 0]]
    assert np.isnan(gains[1, 2])


def test_long_fields_are_cut_in_messages(tmp_path):
    (tmp_path / "x.csv").write_text(f"arm,reward,consumption\na,{'7' * 9000},1\n")
    with pytest.raises(
        ValueError, match=r"got '777.*7\.\.\. \(9,\d+ characters in all\)$"
    ) as caught:
        read_measured_runs_csv(tmp_path / "x.csv")
    assert len(str(caught.value)) < 2000
