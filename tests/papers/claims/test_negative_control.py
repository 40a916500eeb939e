import pytest

from keyhole.papers.claims import BOUNDS
from tests.papers.made_up import COMMON, judge, make_claim, result


@pytest.fixture
def bound(monkeypatch):
    """Register a bound of 10, for policies that are known."""
    monkeypatch.setitem(BOUNDS, "thresholding.ten", lambda problem, policy, round, horizon: 10.0)


def below(**more):
    table = {"bound": "thresholding.ten", "negative_control": "bad"} | more
    return make_claim(COMMON | {"kind": "below-bound", "policy": "us"} | table)


@pytest.mark.parametrize(
    ("ours", "bad", "status", "words"),
    [
        (2, 12, "holds", "bad breaks it"),
        (2, 9, "undecided", "But bad, which should break it, keeps it too"),
        (2, 10, "undecided", "But bad, which should break it, may keep it too"),
        (11, 12, "does not hold", "bad breaks it"),
        (11, 9, "does not hold", "keeps it too"),
    ],
)
def test_a_bound_that_its_negative_control_keeps_is_undecided(bound, ours, bad, status, words):
    found, detail, numbers = judge(below(), result({"us": [1, ours], "bad": [1, bad]}))
    assert found == status
    assert words in detail
    # How many more runs would decide is a matter of the policy's own numbers.
    control_numbers = [number for number in numbers if number.name.startswith("bad: ")]
    assert control_numbers
    assert not any(number.is_ranged for number in control_numbers)


def test_the_reason_for_no_negative_control_is_shown(bound):
    claim = below(negative_control=None, no_negative_control="a lower bound.")
    status, detail, _ = judge(claim, result({"us": [1, 2]}))
    assert status == "holds"
    assert detail.endswith("No policy is shown to break it: a lower bound.")


def test_estimates_may_have_a_negative_control():
    found = result({"us": [1, 2], "bad": [1, 3]})
    table = COMMON | {"kind": "estimate", "policy": "us", "negative_control": "bad"}
    claim = make_claim(table | {"of": "mean", "high": 2.5})
    assert judge(claim, found)[0] == "holds"
    claim = make_claim(table | {"of": "proportion", "metric_high": 9, "low": 0.9})
    assert judge(claim, found)[0] == "undecided"


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"negative_control": "us"}, "negative_control must be another policy than 'us'"),
        (
            {"no_negative_control": "none."},
            "negative_control must be left out where no_negative_control",
        ),
    ],
)
def test_a_negative_control_that_is_none_is_refused(bound, table, message):
    with pytest.raises(ValueError, match=message):
        below(**table)


def test_a_verdict_names_the_policy_that_its_text_leaves_out(bound):
    found = {"made-up": result({"us": [1, 2], "us-2": [1, 2], "bad": [1, 12]})}
    assert below().verdict(found).claim == "us on Made up: so it is"
    table = COMMON | {"kind": "estimate", "of": "mean", "policy": "us", "high": 9}
    claim = make_claim(table | {"text": "us-2, not us, is below"})
    assert claim.verdict(found).claim == "Made up: us-2, not us, is below"
    claim = make_claim(table | {"text": "us-2 is below"})
    assert claim.verdict(found).claim == "us on Made up: us-2 is below"
