import re

import numpy as np
import pytest

from tests.papers.made_up import WORDS, make_claim, result


def advantage(**more):
    by = "keyhole.papers.claims.judgements:growing_lead"
    table = {"kind": "computed", "by": by, "policy": "us", "others": ["them"], "x": ["a", "b"]}
    return make_claim(WORDS | table | more)


def results(quotients, **more):
    """Return results on several problems, where their mean is so many times ours."""
    return {
        key: result({"us": [2, 2], "them": [2 * q, 2 * q]}, title=key.upper(), own=i, **more)
        for i, (key, q) in enumerate(quotients.items())
    }


@pytest.mark.parametrize(
    ("quotients", "status"),
    [
        ({"a": 1.5, "b": 1.8}, "holds"),
        ({"a": 1.8, "b": 1.5}, "does not hold"),
        ({"a": 1.5, "b": 1.5}, "undecided"),
        ({"a": 0.0, "b": 1.5}, "undecided"),
    ],
)
def test_the_lead_over_others_must_rise_from_problem_to_problem(quotients, status):
    found, detail, _ = advantage().judge(results(quotients))
    assert found == status
    if quotients["a"] > 0:
        found = re.findall(r"on [AB] at the end: (\d\.\d+) \[(\d\.\d+), (\d\.\d+)\]", detail)
        for (value, low, high), truth in zip(found, quotients.values(), strict=True):
            assert value == f"{truth:.4f}"
            assert float(low) < truth < float(high)


def test_every_step_and_every_other_policy_counts():
    claim = advantage(x=["a", "b", "c"])
    assert claim.judge(results({"a": 1.2, "b": 1.5, "c": 1.8}))[0] == "holds"
    assert claim.judge(results({"a": 1.2, "b": 1.8, "c": 1.5}))[0] == "does not hold"


def test_the_interval_of_an_advantage_covers_the_true_value():
    # Mean quotients are equal: of 300 experiments about 7.5 find a significant rise.
    claim, wrong = advantage(), 0
    rng = np.random.default_rng(5)
    for _ in range(300):
        found = {}
        for key in ("a", "b"):
            one = result({"us": [2], "them": [3]}, checkpoints=(10,), runs=12)
            for policy, mean in (("us", 2.0), ("them", 3.0)):
                values = one.curves.values(policy, "aggregate_regret")
                values[:] = mean + 0.3 * rng.standard_normal(values.shape)
            found[key] = one
        wrong += claim.judge(found)[0] != "undecided"
    assert wrong <= 15 + 5 * np.sqrt(15)


def test_an_advantage_needs_two_problems():
    with pytest.raises(ValueError, match="at least 2"):
        advantage(x=["a"])
