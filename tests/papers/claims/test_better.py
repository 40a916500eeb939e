"""Claims that compare policies use the direction of the metric."""

import pytest

from keyhole.papers.claims.statistics import compare_pairs
from tests.papers.made_up import COMMON, RUNS, WORDS, kind_fields, make_claim, result

HERE = {"here": {"problem": "a", "round": 20}, "there": {"problem": "b", "round": 20}}
LOW, HIGH = {"us": [1, 1], "x": [3, 3]}, {"us": [3, 3], "x": [1, 1]}
TURNED = {"us": [1, 3], "x": [3, 1]}


def verdict(kind, table, found):
    return make_claim(kind_fields(kind) | table).judge(found)


@pytest.mark.parametrize("kind", ["ordering", "not-better", "computed: not_worse"])
@pytest.mark.parametrize(("better", "means"), [("lower", LOW), ("higher", HIGH)])
def test_the_metric_decides_which_policy_is_better(kind, better, means):
    other = {"lower": "higher", "higher": "lower"}[better]
    claim = COMMON | {"policy": "us", "others": ["x"], "rounds": [10, 20]}
    claim |= {} if kind == "ordering" else {"runs": RUNS}
    good, bad = ("does not hold", "holds") if kind == "not-better" else ("holds", "does not hold")
    for way, status in ((better, good), (other, bad)):
        found = {"made-up": result(means, better=way)}
        assert verdict(kind, claim, found)[0] == status


@pytest.mark.parametrize(
    ("better", "words"),
    [("lower", "lowest: P at T = 10: us; "), ("higher", "highest: P at T = 10: x; ")],
)
def test_the_metric_decides_which_policy_a_reversal_names(better, words):
    ends = {"here": {"problem": "p", "round": 10}, "there": {"problem": "p", "round": 20}}
    claim = WORDS | {"policies": ["us", "x"]} | ends
    found = {"p": result(TURNED, title="P", better=better)}
    status, detail, _ = verdict("computed: different_best", claim, found)
    assert status == "holds"
    assert words in detail


@pytest.mark.parametrize(("better", "best"), [("lower", "us"), ("higher", "x")])
def test_the_metric_decides_which_policy_is_best_elsewhere(better, best):
    found = {
        "a": result(LOW, title="A", better=better),
        "b": result(HIGH, title="B", better=better, own=1),
    }
    status, detail, _ = verdict(
        "computed: different_best", WORDS | HERE | {"policies": ["us", "x"]}, found
    )
    assert status == "holds"
    assert f"A at T = 20: {best}; " in detail


@pytest.mark.parametrize(
    ("better", "here", "there"),
    [
        ("lower", {"us": [1, 1], "x": [4, 4]}, {"us": [1, 1], "x": [2, 2]}),
        ("higher", {"us": [4, 4], "x": [1, 1]}, {"us": [2, 2], "x": [1, 1]}),
    ],
)
def test_a_lead_grows_in_the_direction_of_the_metric(better, here, there):
    found = {
        "a": result(here, title="A", better=better),
        "b": result(there, title="B", better=better, own=1),
    }
    claim = WORDS | {"policy": "us", "others": ["x"]}
    assert verdict("computed: growing_lead", claim | {"x": ["b", "a"]}, found)[0] == "holds"
    assert verdict("computed: growing_lead", claim | {"x": ["a", "b"]}, found)[0] == "does not hold"


def test_the_worst_of_several_is_the_smallest_where_higher_is_better():
    levels = {"a": 10, "b": 5, "c": 10, "d": 20, "e": 40, "f": 20}  # the smallest: 5, 10, 20
    found = {key: result({"us": [m]}, better="higher") for key, m in levels.items()}
    x = {"a": 1, "b": 1, "c": 2, "d": 2, "e": 4, "f": 4}
    claim = WORDS | {"policy": "us", "x": x}
    assert verdict("power", claim | {"at_least": 0.9, "at_most": 1.1}, found)[0] == "holds"


def test_a_comparison_leads_upwards_where_higher_is_better():
    curves = result(HIGH, better="higher").curves
    (cell,) = compare_pairs(curves, "aggregate_regret", [("us", "x", 20)])
    assert (cell.is_better, cell.is_worse) == (True, False)
    assert cell.lead == pytest.approx(2)
