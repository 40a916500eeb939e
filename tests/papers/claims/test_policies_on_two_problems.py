import numpy as np
import pytest

from keyhole.results.estimate import mean_estimate
from tests.papers.made_up import COMMON, RUNS, WORDS, judge, make_claim, result

PLACES = {"here": {"problem": "a", "round": 20}, "there": {"problem": "b", "round": 20}}


def two(here, there):
    """Return results on two problems; the last checkpoint has the means given."""
    return {
        key: result({p: [9, mean] for p, mean in means.items()}, title=key.upper(), own=i)
        for i, (key, means) in enumerate({"a": here, "b": there}.items())
    }


def computed(by, table):
    return make_claim(table | {"kind": "computed", "by": f"keyhole.papers.claims.{by}"})


def other_best(*policies, **more):
    return computed(
        "judgements:different_best", WORDS | PLACES | {"policies": list(policies)} | more
    )


def growing_lead(**more):
    claim = {"policy": "us", "others": ["x", "y"], "x": ["b", "a"]}
    return computed("judgements:growing_lead", WORDS | claim | more)


def not_worse(**more):
    claim = {"policy": "us", "others": ["x", "y"], "rounds": [10, 20], "runs": RUNS}
    return computed("better_policy:not_worse", COMMON | claim | more)


@pytest.mark.parametrize(
    ("here", "there", "status"),
    [
        ({"x": 1.0, "y": 2.0}, {"x": 2.0, "y": 1.0}, "holds"),
        ({"x": 1.0, "y": 2.0}, {"x": 1.0, "y": 2.0}, "does not hold"),
        ({"x": 1.0, "y": 2.0}, {"x": 1.0, "y": 1.001}, "undecided"),
    ],
)
def test_the_best_of_one_problem_is_not_the_best_of_another(here, there, status):
    found, detail, _ = other_best("x", "y").judge(two(here, there))
    assert found == status
    assert detail.startswith("lowest: A at T = 20: x; B at T = 20: ")


@pytest.mark.parametrize(
    ("best", "status", "count"),
    [({"x": 1.0}, "does not hold", "0 of 2"), ({"x": 2.999}, "undecided", "0 of 2")],
)
def test_another_best_needs_more_than_worse_policies_that_change_order(best, status, count):
    here, there = best | {"y": 3.0, "z": 4.0}, best | {"y": 4.0, "z": 3.0}
    found, detail, _ = other_best("x", "y", "z").judge(two(here, there))
    assert found == status
    assert f": {count}" in detail


@pytest.mark.parametrize(
    ("here", "share", "status"),
    [
        ({"us": 1.0, "x": 4.0, "y": 5.0}, 1.0, "holds"),
        ({"us": 1.0, "x": 2.0, "y": 2.0}, 1.0, "does not hold"),
        ({"us": 1.0, "x": 4.0, "y": 2.0}, 1.0, "does not hold"),
        ({"us": 1.0, "x": 4.0, "y": 2.0}, 0.5, "holds"),
        ({"us": 1.0, "x": 3.0, "y": 3.0}, 1.0, "undecided"),
    ],
)
def test_distances_are_compared_between_problems(here, share, status):
    there = {"us": 2.0, "x": 6.0, "y": 6.0}
    found, detail, _ = growing_lead(at_least=share).judge(two(here, there))
    assert found == status
    assert "x / us on B at the end: 3.00" in detail


def test_the_interval_of_a_distance_is_that_of_the_delta_method():
    results = two({"us": 1.0, "x": 4.0}, {"us": 1.0, "x": 4.0})
    number = growing_lead(others=["x"]).judge(results).numbers[1]
    a, b = (results["a"].values(p, "aggregate_regret", 20) for p in ("x", "us"))
    expected = mean_estimate(np.log(4) + a / a.mean() - b / b.mean())
    assert number.value == pytest.approx(4)
    assert np.log([number.low, number.high]) == pytest.approx([expected.low, expected.high])


@pytest.mark.parametrize("wrong_runs", [0, 1])
def test_without_mistakes_enough_there_is_no_distance(wrong_runs):
    results = two({"us": 1.0, "x": 4.0, "y": 1.0}, {"us": 1.0, "x": 4.0, "y": 1.0})
    results["b"].curves.values("us", "aggregate_regret")[1] = 0.0
    results["b"].curves.values("us", "aggregate_regret")[1, :wrong_runs] = 0.01
    assert growing_lead().judge(results)[0] == "undecided"


@pytest.mark.parametrize(
    ("x", "runs", "status"),
    [
        ([3.0, 3.0], RUNS, "holds"),
        ([3.0, 1.0], RUNS, "does not hold"),
        ([3.0, 3.0], RUNS + 1, "undecided"),
        ([3.0, 1.0], RUNS + 1, "does not hold"),
        ([3.0, 2.0], RUNS, "holds"),
    ],
)
def test_no_other_policy_is_better(x, runs, status):
    found, detail, _ = judge(not_worse(runs=runs), result({"us": [2, 2], "x": x, "y": [4, 4]}))
    assert found == status
    assert "of 4 pairs of rival and T, the most favourable: x minus us at T = " in detail


def test_a_place_needs_a_round():
    with pytest.raises(ValueError, match=r"here\.round"):
        other_best("x", "y", here={"problem": "a"})
