import numpy as np
import pytest

from keyhole.papers.claims.statistics import compare_pairs
from keyhole.results.holm_adjustment import LEVEL, holm
from tests.papers.made_up import result


def test_one_comparison_is_not_adjusted():
    assert holm([0.03]).tolist() == [0.03]


def test_holm_multiplies_by_how_many_are_left_and_keeps_the_order():
    # From Holm's (1979) procedure by hand: 4 x .01, 3 x .02, then the larger of 2 x .022 and
    # what came before, then 1 x .5.
    adjusted = holm([0.5, 0.01, 0.022, 0.02])
    assert adjusted.tolist() == pytest.approx([0.5, 0.04, 0.06, 0.06])


def test_adjusted_p_values_stay_below_1():
    assert holm([0.9, 0.8, 1.0]).tolist() == [1.0, 1.0, 1.0]


def test_among_many_equal_policies_false_findings_are_rare():
    # 200 experiments of 20 null comparisons each: at most 5 % may find anything.
    rng = np.random.default_rng(1)
    found = sum((holm(rng.uniform(size=20)) < LEVEL).any() for _ in range(200))
    assert found <= 20  # binomial(200, 0.05): more has chance 0.1 %


def test_a_comparison_knows_the_better_policy():
    curves = result({"a": [1.0, 2.0], "b": [1.5, 2.0]}).curves
    first, same = compare_pairs(curves, "aggregate_regret", [("a", "b", 10), ("a", "b", 20)])
    assert (first.is_better, first.is_worse) == (True, False)
    assert (same.is_better, same.is_worse) == (False, False)
    (turned,) = compare_pairs(curves, "aggregate_regret", [("b", "a", 10)])
    assert (turned.is_better, turned.is_worse) == (False, True)


def test_a_comparison_is_written_with_policies_round_and_difference():
    curves = result({"a": [1.0, 2.0], "b": [1.5, 2.0]}).curves
    (cell,) = compare_pairs(curves, "aggregate_regret", [("a", "b", 10)])
    assert str(cell).startswith("a minus b at T = 10: -0.5000 [-0.50")


def test_without_adjustment_p_values_are_those_of_the_curves():
    curves = result({"a": [1.0, 2.0], "b": [1.001, 2.0]}).curves
    pairs = [("a", "b", 10), ("a", "b", 20)]
    plain = compare_pairs(curves, "aggregate_regret", pairs, adjust=False)
    for cell, (a, b, t) in zip(plain, pairs, strict=True):
        assert cell.p_value == curves.paired(a, b, metric="aggregate_regret", round=t).p_value
