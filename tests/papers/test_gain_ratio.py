import pytest
from pydantic import ValidationError

from keyhole.papers.claims import GainRatio
from tests.papers.made_up import WORDS, result

TABLE = WORDS | {
    "kind": "gain-ratio",
    "problem": "made-up",
    "numerator": {"policy": "us"},
    "denominator": {"policy": "them"},
    "early": 10,
    "late": 20,
}


def judged(levels, **ends):
    claim = GainRatio.model_validate(TABLE | ends)
    return claim.judge({"made-up": result(levels)})


@pytest.mark.parametrize(
    ("ends", "status"),
    [
        ({"low": 0.9, "high": 1.1}, "holds"),
        ({"high": 0.9}, "does not hold"),
        ({"low": 1.1}, "does not hold"),
        ({"high": 1.0}, "undecided"),
    ],
)
def test_a_ratio_of_gains_forgets_what_came_before(ends, status):
    found, detail, _ = judged({"us": [500, 510], "them": [1, 11]}, **ends)
    assert found == status
    assert detail.startswith("gain of us / gain of them from T = 10 to 20: 1.00")


def test_where_nothing_is_gained_there_is_no_ratio():
    assert judged({"us": [5, 6], "them": [7, 7]}, high=2)[0] == "undecided"


@pytest.mark.parametrize(
    ("ends", "message"),
    [
        ({}, "low or high must be given"),
        ({"low": 2, "high": 1}, "high must be at least low, 2, got 1"),
        ({"low": 1, "late": 10}, "late must come after early, got 10 after 10"),
    ],
)
def test_a_claim_that_asks_for_nothing_is_refused(ends, message):
    with pytest.raises(ValidationError, match=message):
        GainRatio.model_validate(TABLE | ends)
