"""Numbers of the verdicts of each kind of claim."""

import math

import numpy as np
import pytest

from keyhole import Curves
from keyhole.papers.claims import BOUNDS, KINDS, Result
from keyhole.papers.claims.statistics import exact_number, number_from_log, number_of
from keyhole.results.estimate import Estimate, mean_estimate
from keyhole.semibandit import Problem as Thresholds
from tests.papers.agreement import agree
from tests.papers.claims.test_computed_quantities import results as three_models_problem
from tests.papers.made_up import BY, RUNS, WORDS, kind_fields, make_claim, result

ROUNDS = (10, 40, 640)
ONE = {"problem": "a", "policy": "us"}
OTHERS = {"others": ["x", "y"], "rounds": [640]}
CELLS = {"cell": {"policy": "x"}, "over": {"policy": "us"}, "problem": "a"}
PLACES = {"here": {"problem": "a", "round": 640}, "there": {"problem": "b", "round": 640}}
X = {"x": {"a": 1.0, "b": 4.0, "c": 16.0}}
GAPS = ["us minus x at T = 640", "us minus y at T = 640"]
MEANS = ["mean at 1", "mean at 4", "mean at 16"]
CLAIMS = {
    "ordering": (
        ONE | OTHERS,
        ["significantly better in", "worse or equal in", *GAPS],
    ),
    "not-better": (ONE | OTHERS | {"runs": RUNS}, [*GAPS, "runs"]),
    "computed: not_worse": (
        ONE | OTHERS | {"runs": RUNS},
        ["x minus us at T = 640", "y minus us at T = 640", "runs"],
    ),
    "computed: different_best": (
        PLACES | {"policies": ["us", "x"]},
        [
            "places where the best policy significantly beats the best policy of the other place",
            "us minus x on A at T = 640",
            "us minus x on B at T = 640",
        ],
    ),
    "trend": (
        {"policy": "us", "cells": [{"problem": "a"}, {"problem": "b"}], "factors": 1.5},
        ["mean of A", "mean of B", "1.5 x A minus B"],
    ),
    "computed: equivalence": (
        {"policy": "us", "cells": [{"problem": "a"}, {"problem": "b"}], "tolerance": 0.5},
        ["mean of A", "mean of B", "A minus 1.5 x B", "B minus 1.5 x A"],
    ),
    "computed: growing_lead": (
        {"policy": "us", "others": ["x"], "x": ["a", "b"]},
        [
            "x / us on A at the end",
            "x / us on B at the end",
            "x / us from A to B, times",
            "significant rises",
            "significant falls",
        ],
    ),
    "estimate: mean": (
        ONE | {"rounds": [10, 640], "high": 50.0, "negative_control": "x"},
        [
            "mean at T = 10",
            "mean at T = 640",
            "x: mean at T = 10",
            "x: mean at T = 640",
        ],
    ),
    "estimate: ratio": (CELLS | {"low": 1.0}, ["x / us at the end"]),
    "estimate: difference": (
        CELLS | {"low": 1.0},
        ["x less us at the end"],
    ),
    "estimate: growth": (
        ONE | {"early": 10, "late": 640, "low": 1.0},
        ["mean at T = 640 / mean at T = 10"],
    ),
    "estimate: gain": (
        ONE | {"early": 10, "late": 640, "high": 99.0, "negative_control": "x"},
        ["gain from T = 10 to 640", "x: gain from T = 10 to 640"],
    ),
    "power": (ONE | {"problem": None, "at_most": 1.0} | X, [*MEANS, "exponent"]),
    "estimate: proportion": (
        ONE | {"metric_high": 20.0, "low": 0.9},
        ["share of replications at the end"],
    ),
    "computed: best_allocation": (
        ONE | {"problem": "e", "metric": "estimates[0]", "at_least": 0.5},
        ["share of replications at the end"],
    ),
    "estimate: level": (
        ONE | {"rounds": [10], "levels": [1.0], "std_errors": 4.0},
        ["ln(mean / arms) at T = 10", "s.e. from 1 at T = 10"],
    ),
    "computed: policy_spread": (
        {"problem": "a", "narrow": ["us", "x"], "wide": ["x", "y"]},
        [
            "largest mean / smallest mean among us, x",
            "largest mean / smallest mean among x, y",
            "ratio of the two",
        ],
    ),
    "estimate: deviation-ratio": (
        CELLS | {"low": 1.0, "rounds": [10]},
        ["deviation of x / us at T = 10"],
    ),
    "computed: identical_results": (
        {"problem": "a", "cells": [{"policy": "us"}, {"policy": "x"}]},
        ["replications in which aggregate_regret of x differs from us's"],
    ),
    "estimate: value": (
        {"problem": "a", "value": 0.0},
        [f"replications of {p} with another value" for p in ("us", "x", "y")],
    ),
    "below-bound": (
        ONE | {"bound": "thresholding.ln", "rounds": [10, 640]},
        ["mean at T = 10", "mean at T = 640"],
    ),
    "above-bound": (ONE | {"bound": "thresholding.ln", "rounds": [10]}, ["mean at T = 10"]),
    "computed: linear_fit": (
        {"policy": "us", "r_squared": 0.5} | X,
        ["slope", "R squared", *(f"{title} off the line by" for title in "ABC")],
    ),
    "computed: numbers_in_range": (
        {"problem": "strict", "number": "resource.lead_share", "arms": [2], "low": 0.5}
        | {"unlike": "soft"},
        ["resource.lead_share of arm 2", "SOFT: resource.lead_share of arm 2"],
    ),
    "computed: falling_numbers": (
        {"problem": "soft", "number": "resource.largest_gain", "arms": [0, 1]},
        ["resource.largest_gain of arm 0", "resource.largest_gain of arm 1"],
    ),
}
REVERSAL = (
    {"policies": ["us", "x"]}
    | {"here": {"problem": "a", "round": 10}, "there": {"problem": "a", "round": 640}},
    [
        "places where the best policy significantly beats the best policy of the other place",
        "us minus x on A at T = 10",
        "us minus x on A at T = 640",
    ],
)
BOUNDED_GAIN = (
    ONE | {"early": 10, "late": 640, "high": 1.0, "bound": "thresholding.ln"},
    ["gain from T = 10 to 640", "gain of the bound"],
)
# Its own test compares text and numbers.
APART = {"computed: potential_lemma"}


@pytest.fixture
def found(monkeypatch):
    """Return results on several problems; x is above us, and y is above x."""
    monkeypatch.setitem(BOUNDS, "thresholding.ln", lambda problem, policy, t, horizon: math.log(t))
    estimates = Curves((10,), [f"estimates[{i}]" for i in range(2)], {"us": np.ones((1, 2, 40))})
    problem = Thresholds([0.9, 0.8], [0.5, 0.4], resource=2.0)
    means = {"us": [1, 2, 10], "x": [2, 5, 30], "y": [4, 20, 40]}
    played = {
        key: result(
            {policy: [level + i * 3 for level in levels] for policy, levels in means.items()},
            checkpoints=ROUNDS,
            title=key.upper(),
            own=i,
        )
        for i, key in enumerate("abc")
    }
    return played | three_models_problem() | {"e": Result("E", problem, estimates)}


def judged(kind, table, found):
    return make_claim(WORDS | kind_fields(kind) | table).judge(found)


@pytest.mark.parametrize(
    ("kind", "case"),
    [*CLAIMS.items(), ("computed: different_best", REVERSAL), ("estimate: gain", BOUNDED_GAIN)],
)
def test_the_numbers_of_a_verdict_are_those_of_its_text(found, kind, case):
    table, names = case
    finding = judged(kind, table, found)
    assert [number.name for number in finding.numbers] == names
    agree(finding)


def test_every_kind_has_a_case_for_its_numbers():
    assert CLAIMS.keys() | APART == {*KINDS, *(f"computed: {name}" for name in BY)}
    assert not CLAIMS.keys() & APART


def test_a_difference_has_interval_and_p_value_of_the_curves(found):
    *_, number = judged("ordering", CLAIMS["ordering"][0], found).numbers
    gap = found["a"].curves.paired("us", "y", metric="aggregate_regret", round=640)
    assert (number.value, number.low, number.high) == (gap.difference, gap.low, gap.high)
    assert number.p_value == gap.p_value


def test_a_number_has_its_claimed_range(found):
    (number,) = judged("estimate: ratio", CELLS | {"low": 2.5, "high": 3.0}, found).numbers
    assert (number.at_least, number.at_most) == (2.5, 3.0)
    (number,) = judged("estimate: proportion", CLAIMS["estimate: proportion"][0], found).numbers
    assert (number.at_least, number.at_most) == (0.9, math.inf)
    number, bound = judged("estimate: gain", BOUNDED_GAIN[0], found).numbers
    assert number.at_most == pytest.approx(1.0 * bound.value)
    count = judged("ordering", CLAIMS["ordering"][0], found).numbers[0]
    assert (count.value, count.at_least) == (2.0, 2)


def test_an_exponent_beyond_what_is_tried_is_infinite():
    steep = result({"us": [1.0, 1.001, 50.0]}, checkpoints=(10, 11, 12), spread=0.0)
    values = steep.curves.values("us", "aggregate_regret")
    values[:] = np.array([1.0, 1.001, 50.0])[:, None]
    table = ONE | {"rounds": [10, 11, 12], "at_least": 1.0}
    finding = judged("power", table, {"a": steep})
    assert "exponent of the increase above 8 [above 8, above 8]" in finding.detail
    assert finding.numbers[-1].value == math.inf


@pytest.mark.parametrize(("policies", "told"), [(25, 50), (26, 3)])
def test_of_very_many_comparisons_those_of_the_text_are_kept(policies, told):
    others = [f"p{i}" for i in range(policies)]
    many = result({"us": [1, 1]} | {name: [1, 1] for name in others})
    table = ONE | {"others": others}
    finding = judged("ordering", table, {"a": many})
    assert len([number for number in finding.numbers if " minus " in number.name]) == told
    agree(finding)


def test_without_an_interval_the_ends_are_infinite():
    one = number_of("mean", mean_estimate(np.array([3.0])), at_least=4.0)
    assert (one.value, one.low, one.high, one.p_value) == (3.0, -math.inf, math.inf, 1.0)
    log = Estimate(0.0, math.inf, 1)
    assert str(number_from_log("times", log)) == "1.0 [0.0, inf]"


def test_a_count_is_its_own_interval_and_needs_no_test():
    count = exact_number("runs", 12, at_least=10)
    assert (count.low, count.value, count.high, count.p_value) == (12.0, 12.0, 12.0, None)


def test_a_factor_is_tested_as_its_logarithm():
    log = Estimate(math.log(2.0), 0.1, 50)
    factor = number_from_log("times", log, at_most=1.5)
    assert factor.value == pytest.approx(2.0)
    assert factor.high == pytest.approx(math.exp(log.high))
    assert factor.p_value == log.p_value(-math.inf, math.log(1.5))
    assert (factor.at_least, factor.at_most) == (-math.inf, 1.5)
