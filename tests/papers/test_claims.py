import math

import pytest
from pydantic import TypeAdapter, ValidationError

from keyhole.papers.claims import (
    AnyClaim,
    AxisEnd,
    Exactly,
    Level,
    NotBetter,
    Ordering,
    Reversal,
    Spread,
)
from tests.papers.made_up import COMMON, RUNS, judge, result


def ordering(**more):
    return Ordering(kind="ordering", policy="us", others=["a", "b"], **COMMON, **more)


def test_an_ordering_holds_where_all_others_are_worse_everywhere():
    found = ordering().verdict({"made-up": result({"us": [1, 1], "a": [2, 2], "b": [3, 3]})})
    assert found.status == "holds"
    assert "significantly better in 4 of 4 pairs" in found.detail
    assert found.claim == "us on Made up: so it is"
    assert found.cited == "ours; our set-up: nowhere."


def test_an_ordering_does_not_hold_where_another_is_better():
    status, detail, _ = judge(ordering(), result({"us": [1, 1], "a": [2, 0.5], "b": [3, 3]}))
    assert status == "does not hold"
    assert "us minus a at T = 20: 0.5" in detail


def test_an_ordering_is_undecided_where_intervals_contain_zero():
    status, detail, _ = judge(ordering(), result({"us": [1, 1], "a": [1, 1], "b": [3, 3]}))
    assert status == "undecided"
    assert "open in 2" in detail


@pytest.mark.parametrize(("at_least", "status"), [(0.75, "holds"), (0.76, "does not hold")])
def test_an_ordering_may_fail_in_some_pairs(at_least, status):
    found = result({"us": [1, 1], "a": [2, 0.5], "b": [3, 3]})
    assert judge(ordering(at_least=at_least), found)[0] == status


def test_an_ordering_over_rounds_needs_all_others_at_once():
    found = result({"us": [1, 1], "a": [2, 0.5], "b": [0.5, 3]})
    assert judge(ordering(at_least=0.5), found)[0] == "holds"
    assert judge(ordering(at_least=0.5, over="rounds"), found)[0] == "does not hold"


def test_an_ordering_looks_only_at_its_rounds():
    found = result({"us": [1, 1], "a": [2, 0.5], "b": [3, 3]})
    assert judge(ordering(rounds=[10]), found)[0] == "holds"


def test_a_policy_that_does_the_same_is_not_better():
    found = result({"us": [1, 1], "a": [1, 1], "b": [3, 3]})
    found.curves.values("a", "aggregate_regret")[:] = found.curves.values("us", "aggregate_regret")
    status, detail, _ = judge(ordering(), found)
    assert status == "does not hold"
    assert "us minus a at T = 10: 0, equal in every run" in detail
    # As long as nothing has gone wrong in either, something may.
    for policy in ("us", "a"):
        found.curves.values(policy, "aggregate_regret")[:] = 0.0
    assert judge(ordering(), found)[0] == "undecided"


def test_higher_may_be_better():
    means = {"us": [3, 3], "a": [2, 2], "b": [1, 2.9]}
    assert judge(ordering(), result(means))[0] == "does not hold"
    status, detail, _ = judge(ordering(), result(means, better="higher"))
    assert status == "holds"
    assert "highest mean of all at 2 of 2 T. The least clear: us minus b at T = 20" in detail


def test_one_comparison_that_holds_shows_its_numbers():
    found = result({"us": [1, 1], "a": [2, 2], "b": [3, 3]})
    claim = Ordering(kind="ordering", policy="us", others=["a"], rounds=[20], **COMMON)
    assert judge(claim, found)[1].startswith("us minus a at T = 20: -1.0000 [-1.00")


def test_many_equal_policies_do_not_make_an_ordering_fail():
    # 40 comparisons without a difference: some raw p-value falls below 5 % almost surely.
    means = {"us": [1.0] * 2} | {f"p{i}": [1.0] * 2 for i in range(20)}
    claim = Ordering(kind="ordering", policy="us", others=list(means)[1:], **COMMON)
    noisy = result(means)
    assert judge(claim, noisy)[0] == "undecided"


def not_better(runs):
    return NotBetter(kind="not-better", policy="us", others=["a"], rounds=[20], runs=runs, **COMMON)


@pytest.mark.parametrize(
    ("ours", "runs", "status"),
    [
        (2.0, RUNS, "holds"),  # no difference, in as many runs as the claim speaks of
        (2.0, RUNS + 1, "undecided"),  # no difference, in fewer
        (2.5, RUNS, "holds"),  # worse is not better
        (1.5, RUNS, "does not hold"),
        (1.5, RUNS + 1, "does not hold"),  # found in fewer runs, found all the same
    ],
)
def test_not_better_needs_enough_runs_to_hold(ours, runs, status):
    assert judge(not_better(runs), result({"us": [1, ours], "a": [1, 2.0]}))[0] == status


def reversal(policies):
    return Reversal(kind="reversal", policies=policies, early=10, late=20, **COMMON)


def test_a_reversal_holds_where_a_pair_changes_order():
    status, detail, _ = judge(
        reversal(["a", "b", "c"]), result({"a": [1, 2], "b": [2, 1], "c": [3, 3]})
    )
    assert status == "holds"
    assert "lowest at T = 10 is a, at T = 20 b; 1 of 3 pairs" in detail


def test_a_reversal_does_not_hold_where_one_is_best_throughout():
    found = result({"a": [1, 1], "b": [2, 3], "c": [3, 3.0]})
    assert judge(reversal(["a", "b", "c"]), found)[0] == "does not hold"
    assert judge(reversal(["c", "b", "a"]), found)[0] == "does not hold"


def test_a_reversal_is_not_shown_by_worse_ones_that_change_order():
    found = result({"a": [1, 1], "b": [2, 3], "c": [3, 2.0]})
    assert judge(reversal(["a", "b", "c"]), found)[0] == "does not hold"


def test_a_reversal_is_undecided_where_the_best_are_close():
    found = result({"a": [1, 1], "b": [1, 1.0], "c": [3, 3]})
    assert judge(reversal(["a", "b", "c"]), found)[0] == "undecided"


@pytest.mark.parametrize(
    ("off", "std_errors", "status"),
    [(0.0, 4, "holds"), (3.9, 4, "holds"), (-3.9, 4, "holds"), (4.1, 4, "does not hold")],
)
def test_a_level_is_met_within_its_standard_errors(off, std_errors, status):
    found = result({"us": [1, 2]})
    number = found.estimate("us", "aggregate_regret", 20)
    level = math.log(number.value / found.arms) + off * number.error / number.value
    claim = Level(
        kind="level", policy="us", rounds=[20], levels=[level], std_errors=std_errors, **COMMON
    )
    assert judge(claim, found)[0] == status


def test_the_error_of_a_level_counts_too():
    found = result({"us": [1, 2]})
    error = found.estimate("us", "aggregate_regret", 20).error
    table = {"kind": "level", "policy": "us", "rounds": [20], "of": "mean", "std_errors": 4}
    table |= COMMON | {"levels": [2 + 5 * error]}
    assert judge(Level(**table), found)[0] == "does not hold"
    assert judge(Level(**table, level_errors=error), found)[0] == "holds"
    with pytest.raises(ValidationError, match="level_errors must have one number for each round"):
        Level(**table, level_errors=[error, error])


def test_a_level_of_nothing_is_undecided():
    found = result({"us": [1, 0]}, runs=1)
    found.curves.values("us", "aggregate_regret")[:] = 0.0
    claim = Level(kind="level", policy="us", rounds=[20], levels=[-3], std_errors=4, **COMMON)
    assert judge(claim, found)[0] == "undecided"


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [(-3, -2, "holds"), (-2, -1, "does not hold"), (-5, -3, "does not hold")],
)
def test_the_lowest_curve_ends_between_two_marks(low, high, status):
    found = result({"us": [1, 1], "a": [2, 2]})  # ln(1 / 10) = -2.3
    claim = AxisEnd(kind="axis-end", low=low, high=high, **COMMON)
    verdict, detail, _ = judge(claim, found)
    assert verdict == status
    assert "the lowest, us, ends at -2.30" in detail


def test_the_end_may_be_that_of_a_policy():
    claim = AxisEnd(kind="axis-end", low=-2, high=-1, policy="a", **COMMON)
    status, detail, _ = judge(claim, result({"us": [1, 1], "a": [2, 2]}))
    assert (status, detail[:14]) == ("holds", "a ends at -1.6")


def test_an_end_within_noise_of_a_mark_is_undecided():
    claim = AxisEnd(kind="axis-end", low=math.log(0.1), high=0, **COMMON)
    assert judge(claim, result({"us": [1, 1]}))[0] == "undecided"


def spread(narrow, wide):
    return Spread(kind="spread", narrow=narrow, wide=wide, **COMMON)


def test_a_spread_is_the_largest_over_the_smallest_mean():
    found = result({"a": [1, 1], "b": [1, 2], "c": [1, 1], "d": [1, 8]})
    status, detail, _ = judge(spread(["a", "b"], ["c", "d"]), found)
    assert status == "holds"
    assert "at the horizon: 2.000 [1.9" in detail
    assert "among a, b; 8.000 [7.9" in detail
    assert "among c, d; ratio of the two 4.000 [3.9" in detail
    assert judge(spread(["c", "d"], ["a", "b"]), found)[0] == "does not hold"


def test_equal_spreads_are_undecided():
    found = result({"a": [1, 1], "b": [1, 2], "c": [1, 1], "d": [1, 2]})
    assert judge(spread(["a", "b"], ["c", "d"]), found)[0] == "undecided"


def test_a_policy_that_is_never_wrong_leaves_a_spread_undecided():
    found = result({"a": [1, 1], "b": [1, 2]})
    found.curves.values("a", "aggregate_regret")[:] = 0.0
    assert judge(spread(["a"], ["b"]), found)[0] == "undecided"


def test_exactly_allows_no_exception():
    found = result({"a": [0, 0], "b": [0, 0]})
    for label in found.curves.labels:
        found.curves.values(label, "aggregate_regret")[:] = 0.0
    claim = Exactly(kind="exactly", value=0.0, **COMMON)
    assert judge(claim, found)[:2] == (
        "holds",
        "so in all of 400 replications of each of 2 policies",
    )
    found.curves.values("b", "aggregate_regret")[1, 7] = 1.0
    assert judge(claim, found)[:2] == ("does not hold", "not so for b")
    of_one = claim.model_copy(update={"policy": "a"})
    assert judge(of_one, found)[:2] == ("holds", "so in all of 400 replications")


def test_the_reading_of_a_claim_is_shown():
    claim = Exactly(kind="exactly", value=0.0, reading="as zero.", **COMMON)
    verdict = claim.verdict({"made-up": result({"a": [1, 1]})})
    assert verdict.cited == "ours; our set-up: nowhere. Read as: as zero."
    assert (verdict.origin, verdict.source, verdict.reading) == ("ours", "nowhere.", "as zero.")
    assert (verdict.kind, verdict.metric) == ("exactly", "aggregate_regret")


@pytest.mark.parametrize(
    "table",
    [
        {"kind": "miracle"},
        {"kind": "exactly", "value": 0.0, "valeu": 1.0},
        {"kind": "exactly", "value": 0.0, "origin": "hearsay"},
    ],
)
def test_a_claim_of_unknown_form_is_refused(table):
    with pytest.raises(ValidationError):
        TypeAdapter(AnyClaim).validate_python(COMMON | table)
