import numpy as np
import pytest

from tests.papers.made_up import WORDS, make_claim, result, results


def trend(keys, **more):
    cells = [{"problem": key} for key in keys]
    return make_claim(
        {"kind": "trend", "policy": "us", "cells": cells} | WORDS | more,
    )


def equivalence(keys, tolerance, **more):
    cells = [{"problem": key} for key in keys]
    return make_claim(
        {"kind": "computed", "by": "keyhole.papers.claims.judgements:equivalence"}
        | {"policy": "us", "cells": cells, "tolerance": tolerance}
        | WORDS
        | more,
    )


def test_a_trend_holds_where_every_step_rises():
    found = trend("abc").verdict(results({"a": 1.0, "b": 1.1, "c": 1.2}))
    assert found.status == "holds"
    assert found.claim == "us on A, B, C: so it is"
    assert (
        "at the end: mean of A: 1.000 [0.989, 1.011]; mean of B: 1.100 [1.089, 1.111]; mean of C: "
        "1.200 [1.189, 1.211]; 2 of 2 steps" in found.detail
    )


def test_a_trend_does_not_hold_where_a_step_falls():
    status, detail, _ = trend("abc").judge(results({"a": 1.0, "b": 1.2, "c": 1.1}))
    assert status == "does not hold"
    assert "1 of 2 steps significant; the least clear: B minus C: 0.1000 [" in detail


def test_a_trend_is_undecided_where_a_step_may_be_zero():
    status, detail, _ = trend("abc").judge(results({"a": 1.0, "b": 1.0, "c": 1.1}))
    assert status == "undecided"
    assert "the least clear: A minus B" in detail


@pytest.mark.parametrize(
    ("factors", "status"),
    [
        (1.5, "holds"),
        ([1.9, 1.9], "holds"),
        ([1.0, 2.0], "undecided"),  # exactly twice as much
        ([1.0, 2.1], "does not hold"),
        ([2.1, 1.0], "does not hold"),
    ],
)
def test_a_trend_may_require_factors(factors, status):
    found = results({"a": 1.0, "b": 2.0, "c": 4.0})
    assert trend("abc", factors=factors).judge(found)[0] == status


def test_cells_may_be_policies_of_one_problem_at_a_round():
    table = {"kind": "trend", "problem": "p", "cells": [{"policy": "u"}, {"policy": "v"}]} | WORDS
    found = {"p": result({"u": [1, 3], "v": [2, 1]})}
    early = make_claim(table | {"round": 10})
    assert early.problem_keys == ("p",)
    assert early.judge(found)[0] == "holds"
    assert "at T = 10: mean of u: 1.000 [0.989, 1.011]; mean of v: 2" in early.judge(found)[1]
    assert make_claim(table).judge(found)[0] == "does not hold"


def test_cells_that_differ_in_both_are_named_by_both():
    cells = [{"problem": "a", "policy": "u"}, {"problem": "b", "policy": "v"}]
    claim = make_claim({"kind": "trend", "cells": cells} | WORDS)
    found = {"a": result({"u": [1, 1]}, title="A"), "b": result({"v": [2, 2]}, title="B")}
    assert "mean of u on A: 1.000 [0.989, 1.011]; mean of v on B: 2" in claim.judge(found)[1]


def test_cells_are_paired_over_problems():
    # The noise that the problems share cancels: unpaired, 0.01 would lie within the noise.
    found = results({"a": 1.0, "b": 1.01}, spread=0.1)
    assert trend("ab").judge(found)[0] == "holds"
    shuffled = found["b"].curves.values("us", "aggregate_regret")
    shuffled[:] = np.random.default_rng(0).permuted(shuffled, axis=1)
    assert trend("ab").judge(found)[0] == "undecided"


def test_of_many_problems_the_verdict_names_first_last_and_number():
    keys = "abcdef"
    levels = {key: 1.0 + i for i, key in enumerate(keys)}
    assert trend(keys).verdict(results(levels)).claim == "us on A, ..., F (6 problems): so it is"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"factors": [1.0]}, "one fewer than cells, got 1 factors for 3"),
        ({"factors": -1.0}, "greater than 0"),
        ({"cells": [{"problem": "a"}]}, "at least 2 items"),
        ({"policy": None}, r"cells\[0\]\.policy"),
    ],
)
def test_impossible_trends_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        trend("abc", **table).check(None)


@pytest.mark.parametrize(
    ("levels", "status"),
    [
        ((1.0, 1.05, 1.0), "holds"),
        ((1.0, 1.1, 1.0), "undecided"),  # exactly the tolerance
        ((1.0, 1.0, 1.15), "does not hold"),
        ((1.15, 1.0, 1.0), "does not hold"),
    ],
)
def test_means_within_the_tolerance_are_equivalent(levels, status):
    found = results(dict(zip("abc", levels, strict=True)))
    assert equivalence("abc", 0.1).judge(found)[0] == status


def test_too_few_replications_are_no_evidence_of_equivalence():
    few = results({"a": 1.0, "b": 1.0}, runs=4)
    assert equivalence("ab", 0.02).judge(few)[0] == "undecided"
    assert equivalence("ab", 0.02).judge(results({"a": 1.0, "b": 1.0}))[0] == "holds"


@pytest.mark.parametrize(("errors", "status"), [(1.8, "holds"), (1.5, "undecided")])
def test_each_test_of_equivalence_is_one_sided(errors, status):
    # One-sided, 5 % is 1.65 standard errors; two-sided it would be 1.97.
    found = results({"a": 1.0, "b": 1.0})
    values = found["a"].curves.values("us", "aggregate_regret")
    found["b"].curves.values("us", "aggregate_regret")[:] = 1.0
    values += 0.1 - errors * found["a"].curves.std_error("us", "aggregate_regret")[:, None]
    assert equivalence("ab", 0.1).judge(found)[0] == status


def test_equal_constants_are_equivalent_and_negative_means_undecided():
    found = results({"a": 1.0, "b": 1.0})
    for one in found.values():
        one.curves.values("us", "aggregate_regret")[:] = 0.0
    assert equivalence("ab", 0.1).judge(found)[0] == "holds"
    assert equivalence("ab", 0.1).judge(results({"a": -1.0, "b": -1.0}))[0] == "undecided"
