import math

import numpy as np
import pytest

from keyhole.papers.claims.fits import _step_excess
from tests.papers.made_up import WORDS, judge, make_claim, result, results

ROUNDS = (1_000, 4_000, 64_000)


def power(**more):
    table = {"kind": "power", "policy": "us", "problem": "made-up", "rounds": list(ROUNDS)}
    return make_claim(WORDS | table | more)


def curve(f, **more):
    return result({"us": [f(t) for t in ROUNDS]}, checkpoints=ROUNDS, **more)


GROWTHS = {
    0.0: lambda t: 300 + 20 * math.log(t),
    0.25: lambda t: 300 + 9 * t**0.25,
    0.5: lambda t: 300 + t**0.5,
    1.0: lambda t: 300 + 0.01 * t,
}


@pytest.mark.parametrize("exponent", GROWTHS)
def test_the_exponent_is_that_of_the_growth_whatever_came_before(exponent):
    found = curve(GROWTHS[exponent])
    assert judge(power(at_least=exponent - 0.1, at_most=exponent + 0.1), found)[0] == "holds"
    assert judge(power(at_most=exponent - 0.1), found)[0] == "does not hold"
    assert judge(power(at_least=exponent + 0.1), found)[0] == "does not hold"
    assert judge(power(at_most=exponent), found)[0] == "undecided"
    assert f"exponent of the increase {exponent:.2f} [" in judge(power(at_most=2), found)[1]


def test_ln_squared_is_distinguished_from_ln():
    found = curve(lambda t: 300 + 5 * math.log(t) ** 2)
    assert judge(power(at_most=0.05), found)[0] == "does not hold"
    assert judge(power(at_most=0.25), found)[0] == "holds"


def test_a_metric_that_may_not_rise_has_no_exponent():
    assert judge(power(at_most=1), curve(lambda t: 300.0))[0] == "undecided"
    assert judge(power(at_most=1), curve(lambda t: 900 - t**0.5))[0] == "undecided"
    assert judge(power(at_most=1), curve(GROWTHS[0.5], runs=1))[0] == "undecided"


def test_a_linear_negative_control_breaks_a_root():
    found = result(
        {"us": [GROWTHS[0.5](t) for t in ROUNDS], "bad": [0.1 * t for t in ROUNDS]},
        checkpoints=ROUNDS,
    )
    assert judge(power(at_most=0.6, negative_control="bad"), found)[0] == "holds"
    assert judge(power(at_most=1.1, negative_control="bad"), found)[0] == "undecided"


def test_the_order_may_be_in_a_number_of_the_problem():
    arms = {"a": 2.0, "b": 8.0, "c": 32.0}
    found = results({key: 5 + 3 * k for key, k in arms.items()})
    claim = power(problem=None, rounds=None, x=arms, at_most=1.1, at_least=0.9)
    assert claim.problem_keys == ("a", "b", "c")
    assert claim.judge(found)[0] == "holds"


def test_the_test_of_the_true_exponent_rejects_in_5_percent():
    # 2,000 experiments of 30 paired replications: 5 standard errors.
    rng, covered, experiments = np.random.default_rng(5), 0, 2000
    x, means = np.array(ROUNDS, float), np.array([GROWTHS[0.5](t) for t in ROUNDS])
    for _ in range(experiments):
        excess = _step_excess(x, means[:, None] + rng.normal(size=(3, 30)).cumsum(axis=0), 0.5)
        covered += excess.low < 0.0 < excess.high
    assert abs(covered / experiments - 0.95) < 5 * math.sqrt(0.95 * 0.05 / experiments)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({}, "at_least or at_most must be given"),
        ({"at_most": 1, "rounds": [1, 2]}, "rounds must have three different numbers"),
        ({"at_most": 1, "rounds": [1, 2, 2]}, "rounds must have three different numbers"),
        ({"at_most": 1, "x": {"a": 1, "b": 2, "c": 3}}, "either problem and rounds"),
        ({"at_most": 9}, "less than or equal to 8"),
    ],
)
def test_impossible_powers_are_refused(table, message):
    with pytest.raises(ValueError, match=message):
        power(**table).check(None)


ALIKE = {"a": 100, "b": 100, "c": 400, "d": 400, "e": 1600, "f": 1600}
MEANS = {
    "a": {"us": 10, "bad": 50},
    "b": {"us": 6, "bad": 10},
    "c": {"us": 12, "bad": 200},
    "d": {"us": 20, "bad": 40},
    "e": {"us": 13, "bad": 800},
    "f": {"us": 40, "bad": 160},
}


def worst_power(**more):
    table = {"kind": "power", "policy": "us", "x": ALIKE}
    return make_claim(WORDS | table | more)


def on_six_problems():
    return {key: result({name: [m] for name, m in means.items()}) for key, means in MEANS.items()}


def test_the_worst_problem_of_each_horizon_counts():
    assert worst_power(at_most=0.6).judge(on_six_problems())[0] == "holds"
    assert worst_power(at_most=0.4).judge(on_six_problems())[0] == "does not hold"
    assert worst_power(at_least=0.4).problem_keys == tuple(ALIKE)
    assert "means 10" in worst_power(at_most=0.6).judge(on_six_problems())[1]


def test_a_linear_negative_control_breaks_a_root_in_the_worst_case():
    assert worst_power(at_most=0.6, negative_control="bad").judge(on_six_problems())[0] == "holds"
    assert (
        worst_power(at_most=1.1, negative_control="bad").judge(on_six_problems())[0] == "undecided"
    )


@pytest.mark.parametrize("x", [{"a": 1, "b": 2, "c": 2}, {"a": 1, "b": 2, "c": 3, "d": 4}])
def test_there_are_three_numbers(x):
    with pytest.raises(ValueError, match="x must have three different numbers"):
        worst_power(x=x, at_most=1).check(None)
