import math
from dataclasses import replace

import numpy as np
import pytest

from keyhole.papers.claims import BOUNDS
from tests.papers.made_up import COMMON, WORDS, judge, make_claim, result, results

LATER = {"early": 10, "late": 20}
US = {"policy": "us"}
TWO = {"cell": {"policy": "u"}, "over": {"policy": "v"}}
LOG_RISE = 7 * math.log(2)

# of each quantity: fields, means at both checkpoints, the number that is estimated, numbers clearly
# below and above it, and the beginning of the words
CASES = {
    "mean": (US, {"us": [1, 2]}, (1.9, 2.0, 2.1), "aggregate regret at the end: 2.000 ["),
    "proportion": (
        US | {"metric_high": 0.5},
        {"us": [1, 1]},
        (0.4, 0.5, 0.6),
        "aggregate regret within the range in 200 of 400 replications at the end: 0.500 [",
    ),
    "growth": (
        US | LATER,
        {"us": [1, 3]},
        (2.9, 3.0, 3.1),
        "mean at T = 20 / mean at T = 10: 3.00",
    ),
    "growth of a ratio": (
        US | LATER | {"ratio_to": "you"},  # both grow threefold: their ratio stays
        {"us": [2, 6], "you": [1, 3]},
        (0.9, 1.0, 1.1),
        "us / you 2.000",
    ),
    "gain": (US | LATER, {"us": [500, 509]}, (8.8, 9.0, 9.2), "gain from T = 10 to 20: 9.00"),
    "gain over a bound": (
        US | LATER | {"bound": "thresholding.five"},
        {"us": [500, 500 + LOG_RISE]},
        (1.3, 1.4, 1.5),
        "gain from T = 10 to 20: 4.85",
    ),
    "ratio": (TWO, {"u": [3, 4], "v": [1, 2]}, (1.9, 2.0, 2.1), "u / v at the end: 2.00"),
    "difference": (TWO, {"u": [1, 2], "v": [3, 0]}, (1.9, 2.0, 2.1), "u less v at the end: 2.00"),
    "deviation-ratio": (
        TWO,
        {"u": [5, 5], "v": [5, 5]},
        (2.0, 3.0, 4.0),
        "deviation of u / v at the end: ",
    ),
    "ratio of gains": (
        TWO | {"since": 10},
        {"u": [500, 510], "v": [1, 11]},
        (0.9, 1.0, 1.1),
        "gain of u since T = 10 / gain of v since T = 10 at the end: 1.00",
    ),
}
RANGES = [
    ("low", None, "holds"),
    (None, "high", "holds"),
    ("low", "high", "holds"),
    ("high", None, "does not hold"),
    (None, "low", "does not hold"),
    ("value", None, "undecided"),
    (None, "value", "undecided"),
    ("value", "high", "undecided"),
]


@pytest.fixture
def five(monkeypatch):
    """Register the bound 5 ln T."""
    bound = lambda problem, policy, t, horizon: 5.0 * math.log(t)  # noqa: E731
    monkeypatch.setitem(BOUNDS, "thresholding.five", bound)


def estimate(of, **more):
    return make_claim(COMMON | {"kind": "estimate", "of": of} | more)


def values_of(found, policy="us"):
    return found.curves.values(policy, "aggregate_regret")


def played(case):
    """Return results in which the quantity of a case is what its table says."""
    found = result(CASES[case][1])
    if case == "proportion":
        values_of(found)[-1] = np.arange(400) >= 200
    if case == "deviation-ratio":
        rng = np.random.default_rng(8)
        values_of(found, "u")[1] = 5 + 3 * rng.standard_normal(400)
        values_of(found, "v")[1] = 5 + rng.standard_normal(400)
    return found


@pytest.mark.parametrize(("low", "high", "status"), RANGES)
@pytest.mark.parametrize("case", CASES)
def test_an_estimate_is_compared_with_its_range(five, case, low, high, status):
    fields, _, numbers, words = CASES[case]
    by_name = dict(zip(("low", "value", "high"), numbers, strict=True)) | {None: None}
    claim = estimate(case.split()[0], **fields, low=by_name[low], high=by_name[high])
    found, detail, _ = judge(claim, played(case))
    assert found == status
    assert detail.startswith(words)


def test_the_words_say_what_is_claimed(five):
    claim = estimate("gain", **CASES["gain over a bound"][0], low=1.3, high=1.5)
    detail = judge(claim, played("gain over a bound"))[1]
    assert detail.endswith(" (the bound gains 3.466; claimed: 1.3 to 1.5 times as much)")
    claim = estimate("growth", **CASES["growth of a ratio"][0], high=1.1)
    detail = judge(claim, played("growth of a ratio"))[1]
    assert " at T = 10; late ratio / early ratio 1.00" in detail
    assert detail.endswith(" (claimed: at most 1.1)")


@pytest.mark.parametrize(
    ("of", "cells", "levels", "ranges"),
    [
        ("mean", US, {"us": [1, 2]}, [(0.9, 1.9), (1.1, 2.1)]),
        ("ratio", TWO, {"u": [3, 4], "v": [1, 2]}, [(2.9, 1.9), (3.1, 2.1)]),
    ],
)
def test_every_round_has_its_range(of, cells, levels, ranges):
    (low, high), found = map(list, ranges), result(levels)
    at = {"rounds": [10, 20]} | cells
    status, detail, _ = judge(estimate(of, **at, low=low, high=high), found)
    assert status == "holds"
    assert f"at T = 10: {(low[0] + high[0]) / 2:.3f} [" in detail
    assert detail.endswith(f"(claimed: {low[1]} to {high[1]})")
    assert judge(estimate(of, **at, low=low[0], high=high[0]), found)[0] == "does not hold"
    middle = (low[1] + high[1]) / 2
    assert judge(estimate(of, **at, low=[low[0], middle], high=4), found)[0] == "undecided"


def test_one_interval_of_many_that_lies_outside_by_chance_decides_nothing():
    # The mean is 2.2 standard errors outside: significant alone, not among ten.
    checkpoints = tuple(range(10, 110, 10))
    found = result({"us": [1.0] * 10}, checkpoints=checkpoints)
    high = 1.0 - 2.2 * found.estimate("us", "aggregate_regret", 10).error
    one = estimate("mean", **US, rounds=[10], high=high)
    many = estimate("mean", **US, rounds=list(checkpoints), high=[high] + [2.0] * 9)
    assert judge(one, found)[0] == "does not hold"
    assert judge(many, found)[0] == "undecided"


def test_one_replication_decides_nothing():
    assert judge(estimate("mean", **US, low=0.0), result({"us": [1, 2]}, runs=1))[0] == "undecided"


def test_what_is_the_same_in_every_replication_is_decided():
    found = result({"us": [1, 2]})
    values_of(found)[:] = 2775.6
    assert judge(estimate("mean", **US, low=2775.6, high=2775.6), found)[0] == "holds"
    assert judge(estimate("mean", **US, low=2775.7), found)[0] == "does not hold"


def test_a_ratio_may_be_of_two_problems():
    cells = {"cell": {"problem": "b"}, "over": {"problem": "a"}}
    table = {"kind": "estimate", "of": "ratio", "low": 1.9} | US | cells | WORDS
    verdict = make_claim(table).verdict(results({"a": 1.0, "b": 2.0}))
    assert (verdict.status, verdict.kind) == ("holds", "estimate: ratio")
    assert verdict.claim == "us on B, A: so it is"
    assert verdict.detail.startswith("B / A at the end: 2.000 [")


@pytest.mark.parametrize(
    ("of", "fields", "levels", "words"),
    [
        ("ratio", TWO, {"u": [3, 4], "v": [1, 0.001]}, "the mean of v may be 0 at the end"),
        ("growth", US | LATER, {"us": [0, 3]}, "the mean may be 0 at T = 10"),
        (
            "growth",
            US | LATER | {"ratio_to": "you"},
            {"us": [2, 6], "you": [0, 3]},
            "a mean may be 0 at T = 10",
        ),
        (
            "growth",
            US | LATER | {"ratio_to": "you"},
            {"us": [2, 6], "you": [1, 0]},
            "a mean may be 0 at T = 20",
        ),
        (
            "ratio",
            TWO | {"since": 10},
            {"u": [5, 6], "v": [7, 7]},
            "the mean of gain of v since T = 10 may be 0 at the end",
        ),
    ],
)
def test_a_ratio_to_what_may_be_zero_is_undecided(of, fields, levels, words):
    assert judge(estimate(of, **fields, low=1.0), result(levels))[:2] == ("undecided", words)


def test_what_does_not_vary_leaves_deviations_undecided():
    claim, found = estimate("deviation-ratio", **TWO, low=1.0), played("deviation-ratio")
    values_of(found, "v")[:] = 926.1
    assert judge(claim, found)[0] == "undecided"
    assert judge(claim, result({"u": [5, 5], "v": [5, 5]}, runs=2))[0] == "undecided"


def test_a_negative_control_is_held_to_the_same_range():
    found = result({"us": [2, 6], "you": [1, 3], "bad": [2, 20]})
    ratio = US | LATER | {"ratio_to": "you", "high": 1.1}
    status, detail, _ = judge(estimate("growth", **ratio, negative_control="bad"), found)
    assert status == "holds"
    assert "bad breaks it: bad / you 6.667 [6.6" in detail
    ratio |= {"ratio_to": "bad", "negative_control": "you"}
    assert judge(estimate("growth", **ratio), found)[0] == "undecided"
    gain = US | LATER | {"negative_control": "bad"}
    assert judge(estimate("gain", **gain, high=10), found)[0] == "holds"
    assert judge(estimate("gain", **gain, high=1000), found)[0] == "undecided"


def test_a_negative_control_is_held_to_the_bound_of_the_policy(monkeypatch):
    bound = lambda problem, policy, t, horizon: policy * math.log(t)  # noqa: E731
    monkeypatch.setitem(BOUNDS, "thresholding.own", bound)
    found = result({"us": [500, 500 + LOG_RISE], "bad": [500, 500 + 10 * LOG_RISE]})
    found = replace(found, policies={"us": 5.0, "bad": 500.0})
    fields = US | LATER | {"bound": "thresholding.own", "negative_control": "bad"}
    assert judge(estimate("gain", **fields, high=1.5), found)[0] == "holds"


@pytest.mark.parametrize(
    ("count", "share", "status"),
    [
        (400, {"low": 0.95}, "holds"),
        (390, {"low": 0.95}, "holds"),
        (384, {"low": 0.95}, "undecided"),
        (380, {"low": 0.95}, "undecided"),
        (360, {"low": 0.95}, "does not hold"),
        (10, {"high": 0.05}, "holds"),
        (40, {"high": 0.05}, "does not hold"),
        (400, {"low": 0.999}, "undecided"),  # 400 runs cannot show it
    ],
)
def test_a_proportion_has_its_exact_interval(count, share, status):
    found = result({"us": [1, 1]})
    values_of(found)[-1] = np.arange(400) >= count
    claim = estimate("proportion", **US, metric_high=0.5, **share)
    assert judge(claim, found)[0] == status


def test_both_ends_of_the_metrics_range_count_and_the_round_is_the_claims():
    found = result({"us": [1, 1]})
    values_of(found)[-1] = 0.0
    fields = US | {"metric_low": 0.0, "metric_high": 0.0, "low": 0.9}
    assert judge(estimate("proportion", **fields), found)[0] == "holds"
    assert judge(estimate("proportion", **fields, rounds=[10]), found)[0] == "does not hold"


def level(**more):
    return estimate("level", **(US | {"rounds": [20], "std_errors": 4} | more))


@pytest.mark.parametrize(
    ("off", "status"),
    [(0.0, "holds"), (3.9, "holds"), (-3.9, "holds"), (4.1, "does not hold")],
)
def test_a_level_is_met_within_its_standard_errors(off, status):
    found = result({"us": [1, 2]})
    number = found.estimate("us", "aggregate_regret", 20)
    claimed = math.log(number.value / found.arms) + off * number.error / number.value
    assert judge(level(levels=[claimed]), found)[0] == status


def test_the_error_of_a_level_counts_too():
    found = result({"us": [1, 2]})
    first, last = (found.estimate("us", "aggregate_regret", t) for t in (10, 20))
    levels = [math.log(end.value / found.arms) for end in (first, last)]
    error = last.error / last.value
    table = {"levels": [levels[1] + 5 * error]}
    assert judge(level(**table), found)[0] == "does not hold"
    assert judge(level(**table, level_errors=error), found)[0] == "holds"
    two = {"rounds": [10, 20], "levels": [levels[0], levels[1] + 5 * error]}
    assert judge(level(**two, level_errors=[0.0, error]), found)[0] == "holds"
    assert judge(level(**two, level_errors=[error, 0.0]), found)[0] == "does not hold"


def test_a_level_of_nothing_is_undecided():
    found = result({"us": [1, 0]}, runs=1)
    values_of(found)[:] = 0.0
    assert judge(level(levels=[-3]), found)[0] == "undecided"


def test_a_value_allows_no_exception():
    found = result({"a": [0, 0], "b": [0, 0]})
    for label in found.curves.labels:
        values_of(found, label)[:] = 0.0
    claim = estimate("value", value=0.0)
    every = "so in all of 400 replications"
    assert judge(claim, found)[:2] == ("holds", every)
    values_of(found, "b")[1, 7] = 1.0
    words = "replications of b with another value: 1 of 400"
    assert judge(claim, found)[:2] == ("does not hold", words)
    assert judge(claim.model_copy(update={"policy": "a"}), found)[:2] == ("holds", every)


LOW = US | {"low": 1.0}


@pytest.mark.parametrize(
    ("of", "fields", "message"),
    [
        ("median", LOW, "of"),
        ("mean", US, "low or high must be given"),
        ("mean", {"low": 1.0}, "policy must be given"),
        ("mean", LOW | {"value": 1.0}, "each field must be one of .*; got 'value'"),
        ("mean", LOW | TWO, "each field must be one of .*; got 'cell'"),
        ("mean", LOW | {"high": 0.5}, "high must be at least low, 1, got 0.5"),
        ("mean", US | {"rounds": [10, 20], "low": [1.0]}, "low must have one number .* round, 2"),
        ("mean", US | {"low": [1.0, 2.0]}, "low must have one number for each round, 1"),
        ("mean", LOW | {"rounds": []}, "rounds"),
        ("proportion", LOW, "metric_low or metric_high must be given"),
        ("proportion", US | {"metric_low": 0.5}, "low or high must be given"),
        (
            "proportion",
            US | {"metric_low": 0.5, "low": 1.5},
            "low must lie in .*, got 1.5",
        ),
        ("growth", US | LATER, "low or high must be given"),
        ("growth", LOW | {"late": 20}, "early must be given"),
        ("growth", LOW | {"early": 20, "late": 20}, "late must come after early, got 20 after 20"),
        ("growth", LOW | LATER | {"ratio_to": "us"}, "ratio_to must be another policy, got 'us'"),
        (
            "growth",
            LOW | LATER | {"ratio_to": "x", "negative_control": "x"},
            "ratio_to must be another policy, got 'x'",
        ),
        ("growth", US | LATER | {"high": 0.0}, "high must be above 0, got 0"),
        ("gain", LOW | {"early": 20, "late": 10}, "late must come after early"),
        ("gain", US | LATER, "low or high must be given"),
        ("gain", LOW | LATER | {"bound": "thresholding.six"}, "bound must be one of"),
        ("ratio", LOW, "cell must be given"),
        (
            "ratio",
            TWO | {"low": 1.0, "negative_control": "x"},
            "each field must be one of .*; got 'negative_control'",
        ),
        ("deviation-ratio", TWO | {"low": -1.0}, "low must be above 0, got -1"),
        ("ratio", TWO, "low or high must be given"),
        ("ratio", TWO | {"low": 2, "high": 1}, "high must be at least low, 2, got 1"),
        (
            "ratio",
            TWO | {"low": 1, "since": 10, "rounds": [10, 20]},
            "since must be before each round, got 10",
        ),
        ("level", US | {"rounds": [20], "levels": [1.0]}, "std_errors must be given"),
        ("value", US, "value must be given"),
        ("value", {"value": 0.0, "low": 1.0}, "each field must be one of .*; got 'low'"),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused(of, fields, message):
    with pytest.raises(ValueError, match=message):
        estimate(of, **fields).check(None)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"levels": [1.0, 2.0]}, "levels must have one number for each round, 1"),
        ({"levels": [1.0], "level_errors": [1.0, 1.0]}, "level_errors must have one number"),
        ({"levels": [1.0], "level_errors": -1.0}, "level_errors must be at least 0, got -1"),
    ],
)
def test_levels_that_do_not_fit_their_rounds_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        level(**table).check(None)
