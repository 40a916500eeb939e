import pytest

from keyhole.papers.claims.kinds import read_claims
from tests.papers.made_up import COMMON, RUNS, WORDS, judge, make_claim, result


def ordering(**more):
    table = {"kind": "ordering", "policy": "us", "others": ["a", "b"]}
    return make_claim(COMMON | table | more)


def test_an_ordering_holds_where_all_others_are_worse_everywhere():
    found = ordering().verdict({"made-up": result({"us": [1, 1], "a": [2, 2], "b": [3, 3]})})
    assert found.status == "holds"
    assert "significantly better in 4 of 4 pairs" in found.detail
    assert found.claim == "us on Made up: so it is"
    assert found.citation == "ours; our set-up: nowhere."


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
    assert "open in 0. The least favourable: us minus " in detail


def test_one_comparison_that_holds_shows_its_numbers():
    found = result({"us": [1, 1], "a": [2, 2], "b": [3, 3]})
    claim = ordering(others=["a"], rounds=[20])
    assert judge(claim, found)[1].startswith("us minus a at T = 20: -1.0000 [-1.00")


def test_many_equal_policies_do_not_make_an_ordering_fail():
    # 40 comparisons without a difference: some raw p-value falls below 5 % almost surely.
    means = {"us": [1.0] * 2} | {f"p{i}": [1.0] * 2 for i in range(20)}
    claim = ordering(others=list(means)[1:])
    noisy = result(means)
    assert judge(claim, noisy)[0] == "undecided"


def not_better(runs):
    table = {"kind": "not-better", "policy": "us", "others": ["a"], "rounds": [20], "runs": runs}
    return make_claim(COMMON | table)


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
    ends = {
        "here": {"problem": "made-up", "round": 10},
        "there": {"problem": "made-up", "round": 20},
    }
    table = {"kind": "computed", "by": "keyhole.papers.claims.judgements:different_best"}
    return make_claim(WORDS | table | {"policies": policies} | ends)


def reversal_on(claim, found):
    return claim.judge({"made-up": found})


def test_a_reversal_holds_where_a_pair_changes_order():
    status, detail, _ = reversal_on(
        reversal(["a", "b", "c"]), result({"a": [1, 2], "b": [2, 1], "c": [3, 3]})
    )
    assert status == "holds"
    assert "lowest: Made up at T = 10: a; Made up at T = 20: b; " in detail
    assert detail.endswith(": 2 of 2")


def test_a_reversal_does_not_hold_where_one_is_best_throughout():
    found = result({"a": [1, 1], "b": [2, 3], "c": [3, 3.0]})
    assert reversal_on(reversal(["a", "b", "c"]), found)[0] == "does not hold"
    assert reversal_on(reversal(["c", "b", "a"]), found)[0] == "does not hold"


def test_a_reversal_needs_more_than_worse_policies_that_change_order():
    found = result({"a": [1, 1], "b": [2, 3], "c": [3, 2.0]})
    assert reversal_on(reversal(["a", "b", "c"]), found)[0] == "does not hold"


def test_a_reversal_is_undecided_where_the_best_are_close():
    found = result({"a": [1, 1], "b": [1, 1.0], "c": [3, 3]})
    assert reversal_on(reversal(["a", "b", "c"]), found)[0] == "undecided"


def spread(narrow, wide):
    table = {"kind": "computed", "by": "keyhole.papers.claims.judgements:policy_spread"}
    return make_claim(COMMON | table | {"narrow": narrow, "wide": wide})


def test_a_spread_is_the_largest_over_the_smallest_mean():
    found = result({"a": [1, 1], "b": [1, 2], "c": [1, 1], "d": [1, 8]})
    status, detail, _ = judge(spread(["a", "b"], ["c", "d"]), found)
    assert status == "holds"
    assert "among a, b: 2.000 [1.9" in detail
    assert "among c, d: 8.000 [7.9" in detail
    assert "; ratio of the two: 4.000 [3.9" in detail
    assert judge(spread(["c", "d"], ["a", "b"]), found)[0] == "does not hold"


def test_equal_spreads_are_undecided():
    found = result({"a": [1, 1], "b": [1, 2], "c": [1, 1], "d": [1, 2]})
    assert judge(spread(["a", "b"], ["c", "d"]), found)[0] == "undecided"


def test_a_policy_that_is_never_wrong_leaves_a_spread_undecided():
    found = result({"a": [1, 1], "b": [1, 2]})
    found.curves.values("a", "aggregate_regret")[:] = 0.0
    assert judge(spread(["a"], ["b"]), found)[0] == "undecided"


def test_the_reading_of_a_claim_is_shown():
    table = {"kind": "estimate", "of": "value", "value": 0.0, "reading": "as zero."}
    claim = make_claim(COMMON | table)
    verdict = claim.verdict({"made-up": result({"a": [1, 1]})})
    assert verdict.citation == "ours; our set-up: nowhere. Read as: as zero."
    assert (verdict.origin, verdict.source, verdict.reading) == ("ours", "nowhere.", "as zero.")
    assert (verdict.kind, verdict.metric) == ("estimate: value", "aggregate_regret")


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"kind": "miracle"}, "kind must be one of"),
        ({"kind": "estimate", "of": "value", "value": 0.0, "valeu": 1.0}, "got 'valeu'"),
        ({"kind": "estimate", "of": "value", "value": 0.0, "origin": "hearsay"}, "origin must be"),
    ],
)
def test_a_claim_of_unknown_form_is_refused(table, message):
    with pytest.raises(ValueError, match=message):
        read_claims([COMMON | table], "aggregate_regret", "ours", "mine")
