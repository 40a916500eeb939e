import re

import numpy as np
import pytest
from pydantic import ValidationError

from keyhole.papers.claims import Between, Counts, Excess, Growth, Ratio
from tests.papers.made_up import COMMON, WORDS, judge, result, results


def between(**more):
    return Between(kind="between", policy="us", **COMMON, **more)


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ({"low": 1.9, "high": 2.1}, "holds"),
        ({"low": 1.9}, "holds"),
        ({"high": 2.1}, "holds"),
        ({"low": 2.1}, "does not hold"),
        ({"high": 1.9}, "does not hold"),
        ({"low": 2.0, "high": 2.1}, "undecided"),
        ({"high": 2.0}, "undecided"),
    ],
)
def test_a_mean_lies_between_two_numbers(ends, status):
    assert judge(between(**ends), result({"us": [1, 2]}))[0] == status


def test_a_mean_lies_between_the_numbers_of_each_round():
    found = result({"us": [1, 2]})
    claim = between(rounds=[10, 20], low=[0.9, 1.9], high=[1.1, 2.1])
    status, detail, _ = judge(claim, found)
    assert status == "holds"
    assert detail.startswith("aggregate regret at T = 10: 1.000 [0.989")
    assert detail.endswith("(claimed: 1.9 to 2.1)")
    assert judge(between(rounds=[10, 20], low=0.9, high=1.1), found)[0] == "does not hold"
    assert judge(between(rounds=[10, 20], low=[0.9, 2.0], high=3), found)[0] == "undecided"


def test_one_interval_of_many_that_lies_outside_by_chance_decides_nothing():
    # The mean is 2.2 standard errors outside: significant alone, not among ten.
    checkpoints = tuple(range(10, 110, 10))
    found = result({"us": [1.0] * 10}, checkpoints=checkpoints)
    error = found.estimate("us", "aggregate_regret", 10).error
    high = 1.0 - 2.2 * error
    assert judge(between(rounds=[10], high=high), found)[0] == "does not hold"
    many = between(rounds=list(checkpoints), high=[high] + [2.0] * 9)
    assert judge(many, found)[0] == "undecided"


def test_one_replication_decides_nothing():
    assert judge(between(low=0.0), result({"us": [1, 2]}, runs=1))[0] == "undecided"


def test_what_is_the_same_in_every_replication_is_decided():
    found = result({"us": [1, 2]})
    found.curves.values("us", "aggregate_regret")[:] = 2775.6
    assert judge(between(low=2775.6, high=2775.6), found)[0] == "holds"
    assert judge(between(low=2775.7), found)[0] == "does not hold"


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({}, "low or high must be given"),
        ({"low": 2.0, "high": 1.0}, "high must be at least low, 2, got 1"),
        ({"rounds": [10, 20], "low": [1.0]}, "low must have one number for each round, 2"),
        ({"low": [1.0, 2.0]}, "low must have one number for each round, 1"),
        ({"rounds": [], "low": 1.0}, "rounds"),
    ],
)
def test_ranges_in_which_nothing_can_lie_are_refused(ends, message):
    with pytest.raises(ValidationError, match=message):
        between(**ends)


def ratio(**more):
    cells = {"numerator": {"policy": "u"}, "denominator": {"policy": "v"}}
    return Ratio.model_validate({"kind": "ratio", "problem": "p"} | cells | WORDS | more)


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ({"low": 1.9, "high": 2.1}, "holds"),
        ({"high": 1.9}, "does not hold"),
        ({"low": 2.1}, "does not hold"),
        ({"low": 2.0}, "undecided"),
    ],
)
def test_a_ratio_of_means_lies_between_two_numbers(ends, status):
    found = {"p": result({"u": [3, 4], "v": [1, 2]})}
    assert ratio(**ends).judge(found)[0] == status


def test_a_ratio_is_that_of_its_rounds():
    found = {"p": result({"u": [3, 4], "v": [1, 2]})}
    status, detail, _ = ratio(rounds=[10, 20], low=[2.9, 1.9], high=[3.1, 2.1]).judge(found)
    assert status == "holds"
    assert detail.startswith("u / v at T = 10: 3.000 [2.9")


def test_a_ratio_may_be_of_two_problems():
    cells = {"numerator": {"problem": "b"}, "denominator": {"problem": "a"}}
    claim = Ratio.model_validate({"kind": "ratio", "policy": "us", "low": 1.9} | cells | WORDS)
    verdict = claim.verdict(results({"a": 1.0, "b": 2.0}))
    assert verdict.status == "holds"
    assert verdict.claim == "us on B, A: so it is"
    assert verdict.detail.startswith("B / A at the end: 2.000 [")


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ({"low": 1.9, "high": 2.1}, "holds"),
        ({"high": 1.9}, "does not hold"),
        ({"low": 2.0}, "undecided"),
    ],
)
def test_an_excess_over_another_cell_lies_between_two_numbers(ends, status):
    cells = {"cell": {"policy": "u"}, "over": {"policy": "v"}}
    claim = Excess.model_validate({"kind": "excess", "problem": "p"} | cells | WORDS | ends)
    found, detail, _ = claim.judge({"p": result({"u": [1, 2], "v": [3, 0]})})
    assert found == status
    assert detail.startswith("u less v at the end: 2.00")


def test_a_ratio_to_what_may_be_zero_is_undecided():
    found = {"p": result({"u": [3, 4], "v": [1, 0.001]})}
    assert ratio(low=1.0).judge(found)[:2] == ("undecided", "the mean of v may be 0 at the end")


def growth(**more):
    return Growth(kind="growth", policy="us", **COMMON, **({"early": 10, "late": 20} | more))


@pytest.mark.parametrize(
    ("factors", "status"),
    [
        ({"at_most": 3.1}, "holds"),
        ({"at_least": 2.9}, "holds"),
        ({"at_least": 2.9, "at_most": 3.1}, "holds"),
        ({"at_most": 2.9}, "does not hold"),
        ({"at_least": 3.1}, "does not hold"),
        ({"at_least": 3.0}, "undecided"),
    ],
)
def test_a_metric_grows_by_a_factor(factors, status):
    found, detail, _ = judge(growth(**factors), result({"us": [1, 3]}))
    assert found == status
    assert "3.000 [2.989, 3.011] at T = 20, 1.000 [0.989, 1.011] at T = 10; ratio 3.000 [" in detail


def test_growth_from_nothing_is_undecided():
    assert judge(growth(at_least=2.0), result({"us": [0, 3]}))[0] == "undecided"


@pytest.mark.parametrize(
    ("factors", "status"),
    [
        ({"at_least": 0.9, "at_most": 1.1}, "holds"),
        ({"at_most": 1.0}, "undecided"),
        ({"at_most": 0.9}, "does not hold"),
        ({"at_least": 1.1}, "does not hold"),
    ],
)
def test_a_ratio_of_two_metrics_grows_by_a_factor(factors, status):
    # Both grow threefold: their ratio stays.
    found, detail, _ = judge(
        growth(ratio_to="you", **factors), result({"us": [2, 6], "you": [1, 3]})
    )
    assert found == status
    quotient = r"us / you 2\.0+ \[1\.9\d+, 2\.0\d+\]"
    assert re.match(
        rf"{quotient} at T = 20, {quotient.removeprefix('us / you ')} at T = 10; from the early",
        detail,
    )


def test_a_ratio_is_held_against_its_witness_too():
    found = result({"us": [2, 6], "you": [1, 3], "bad": [2, 20]})
    status, detail, _ = judge(growth(ratio_to="you", at_most=1.1, negative_control="bad"), found)
    assert status == "holds"
    assert "bad breaks it: bad / you 6.667 [6.6" in detail
    assert (
        judge(growth(ratio_to="bad", at_most=1.1, negative_control="you"), found)[0] == "undecided"
    )


@pytest.mark.parametrize("you", [[0, 3], [1, 0]])
def test_a_ratio_to_nothing_does_not_grow(you):
    found = result({"us": [2, 6], "you": you})
    status, detail, _ = judge(growth(ratio_to="you", at_most=9.0), found)
    assert status == "undecided"
    assert detail.startswith("a mean may be 0")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "at_least or at_most must be given"),
        ({"early": 20, "at_most": 2.0}, "late must come after early, got 20 after 20"),
        ({"ratio_to": "us", "at_most": 2.0}, "ratio_to must be another policy, got 'us'"),
    ],
)
def test_growth_needs_two_rounds_and_a_factor(table, message):
    with pytest.raises(ValidationError, match=message):
        growth(**table)


def counts(**more):
    return Counts(kind="counts", policy="us", **COMMON, **more)


def so_often(count):
    """Return results of 400 runs in which the metric is 0 so often, and else 1."""
    found = result({"us": [1, 1]})
    found.curves.values("us", "aggregate_regret")[-1] = np.arange(400) >= count
    return found


@pytest.mark.parametrize(
    ("count", "share", "status"),
    [
        (400, {"at_least": 0.95}, "holds"),
        (390, {"at_least": 0.95}, "holds"),
        (384, {"at_least": 0.95}, "undecided"),
        (380, {"at_least": 0.95}, "undecided"),
        (360, {"at_least": 0.95}, "does not hold"),
        (10, {"at_most": 0.05}, "holds"),
        (40, {"at_most": 0.05}, "does not hold"),
        (400, {"at_least": 0.999}, "undecided"),  # 400 runs cannot show it
    ],
)
def test_replications_are_counted(count, share, status):
    found, detail, _ = judge(counts(high=0.5, **share), so_often(count))
    assert found == status
    assert f"in {count} of 400 replications at the end" in detail


def test_both_ends_count_and_the_round_is_the_claims():
    found = so_often(400)
    assert judge(counts(low=0.0, high=0.0, at_least=0.9), found)[0] == "holds"
    assert judge(counts(low=0.0, high=0.0, at_least=0.9, round=10), found)[0] == "does not hold"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"at_least": 0.5}, "low or high must be given"),
        ({"low": 0.5}, "at_least or at_most must be given"),
        ({"low": 0.5, "at_least": 1.5}, "less than or equal to 1"),
    ],
)
def test_counts_need_a_range_and_a_share(table, message):
    with pytest.raises(ValidationError, match=message):
        counts(**table)
