import math

import pytest
from pydantic import ValidationError

from keyhole.papers.claims import BOUNDS, Increment, Slope
from tests.papers.made_up import COMMON, judge, result

ROUNDS = (1_000, 10_000)


@pytest.fixture
def five(monkeypatch):
    """Register the bound 5 ln T."""
    bound = lambda problem, policy, t, horizon: 5.0 * math.log(t)  # noqa: E731
    monkeypatch.setitem(BOUNDS, "thresholding.five", bound)


def claim(kind, **more):
    early, late = ROUNDS
    table = COMMON | {"kind": kind, "policy": "us", "early": early, "late": late} | more
    return {"increment": Increment, "slope": Slope}[kind].model_validate(table)


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ({"high": 9.2}, "holds"),
        ({"low": 8.8, "high": 9.2}, "holds"),
        ({"high": 8.8}, "does not hold"),
        ({"high": 9.0}, "undecided"),
        ({"high": 0.0011, "each_round": True}, "holds"),
        ({"high": 0.0009, "each_round": True}, "does not hold"),
    ],
)
def test_a_gain_forgets_what_came_before(ends, status):
    found = result({"us": [500, 509]}, checkpoints=ROUNDS)
    assert judge(claim("increment", **ends), found)[0] == status


def test_a_slope_is_by_ln_t():
    found = result({"us": [500, 500 + 7 * math.log(10)]}, checkpoints=ROUNDS)
    status, detail, _ = judge(claim("slope", low=6.9, high=7.1), found)
    assert status == "holds"
    assert detail.startswith("slope in ln T from T = 1,000 to 10,000: 7.00")
    assert judge(claim("slope", high=6.9), found)[0] == "does not hold"


def test_a_slope_is_held_against_a_bounds(five):
    found = result({"us": [500, 500 + 7 * math.log(10)]}, checkpoints=ROUNDS)
    status, detail, _ = judge(claim("slope", low=1.3, high=1.5, bound="thresholding.five"), found)
    assert status == "holds"
    assert "(that of the bound is 5; claimed: 1.3 to 1.5 times)" in detail
    assert judge(claim("slope", high=1.3, bound="thresholding.five"), found)[0] == "does not hold"


def test_a_witness_is_held_to_the_same_gain():
    found = result({"us": [500, 509], "bad": [1, 900]}, checkpoints=ROUNDS)
    assert judge(claim("increment", high=10, negative_control="bad"), found)[0] == "holds"
    assert judge(claim("increment", high=1000, negative_control="bad"), found)[0] == "undecided"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"early": 10_000, "high": 1.0}, "late must come after early"),
        ({}, "low or high must be given"),
        ({"high": 1.0, "bound": "thresholding.six"}, "bound must be one of"),
    ],
)
def test_gains_that_cannot_be_are_refused(table, message):
    with pytest.raises(ValidationError, match=message):
        claim("slope", **table)
