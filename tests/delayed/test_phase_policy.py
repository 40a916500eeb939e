import warnings

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.delayed import (
    ODAAF,
    ODAAFB,
    ODAAFV,
    Geometric,
    NaivePhases,
    Poisson,
    Problem,
    Uniform,
)
from tests.delayed.cases import PHASED, make_policy, reference_of

pytestmark = pytest.mark.interpreted

WORKED = {
    ODAAF(expected_delay=50): [1350, 4986, 15471, 44558, 122854],
    ODAAFB(expected_delay=50, bound=100): [1076, 2746, 7359, 20491, 57962],
    ODAAFV(expected_delay=50, variance=50): [2126, 4986, 12149, 30698, 79511],
    ODAAFV(expected_delay=50, variance=2500): [44421, 91541, 190153, 398444],
    NaivePhases(bound=100): [638, 2475, 7645, 21507, 57429],
    ODAAFV(expected_delay=20, variance=400): [8336, 17931, 39320, 87997, 200442],
}


@pytest.mark.parametrize("policy", WORKED, ids=repr)
def test_phase_lengths_computed_by_hand(policy):
    assert policy.phase_lengths(250_000, len(WORKED[policy])) == WORKED[policy]


@pytest.mark.parametrize("kind", [type(policy) for policy in PHASED])
@given(
    horizon=st.integers(10, 10**7),
    mean=st.floats(0, 1000),
    more=st.floats(0, 1000),
    phases=st.integers(1, 8),
)
def test_a_phase_is_the_shortest_that_is_long_enough(kind, horizon, mean, more, phases):
    policy = make_policy(kind, expected_delay=mean, bound=int(mean + more) + 1, variance=more + 1.0)
    slow = reference_of(policy, 2, horizon)
    found = policy.phase_lengths(horizon, phases)
    before = 0
    for m, n in enumerate(found, start=1):
        expected = max(slow.enough(m), before + 1)
        # Where the root is within rounding of a whole number, either side is right.
        assume(abs(n - expected) != 1 or n > 10**9)
        assert n == expected
        before = n


# Worked out beforehand with an independent program: round of the first elimination in runs of
# 250,000 rounds; which phase that is does not depend on chance at these lengths.
SWITCHES = [
    (0.1, 20, Uniform(0, 40), ODAAF(expected_delay=20), 55512),
    (0.1, 50, Uniform(0, 100), ODAAF(expected_delay=50), 89116),
    (0.3, 50, Poisson(50), ODAAF(expected_delay=50), 9972),
    (0.1, 20, Uniform(0, 40), ODAAFB(expected_delay=20, bound=40), 39956),
    (0.3, 50, Uniform(0, 100), ODAAFB(expected_delay=50, bound=100), 6568),
    (0.1, 20, Poisson(20), ODAAFV(expected_delay=20, variance=20), 51017),
    (0.3, 50, Poisson(50), ODAAFV(expected_delay=50, variance=50), 12098),
    (0.3, 50, Geometric(50), ODAAFV(expected_delay=50, variance=2550), 231737),
]


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(("gap", "mean", "delay", "policy", "switch"), SWITCHES)
def test_the_arm_changes_in_the_computed_rounds(gap, mean, delay, policy, switch):
    curves = simulate(
        Problem([0.5, 0.5 + gap], delay), {"it": policy}, horizon=250_000, replications=4
    )
    found = curves.values("it", "eliminated_at")[-1]
    assert np.all(np.abs(found - switch) <= 1), found


def test_rewards_that_arrive_in_a_bridge_are_ignored():
    policy = ODAAFV(expected_delay=0, variance=0)
    learner = policy.learner(arms=2, horizon=1000, feedback="anonymous")
    (length,) = policy.phase_lengths(1000, 1)
    for _ in range(2 * length):
        learner.ask()
        learner.tell(0.5)
    assert (learner.state["bridging"][0], learner.state["phase"][0]) == (1, 1)
    for _ in range(length):
        assert learner.ask() == 0
        learner.tell(1.0)
    assert (learner.state["bridging"][0], learner.state["phase"][0]) == (0, 2)
    assert learner.state["totals"].tolist() == [length / 2, length / 2]


@pytest.mark.parametrize("ahead", [286, 287])
def test_a_tie_at_the_tolerance_keeps_the_arm(ahead):
    """572 pulls each, with tolerance 1/2: a lead of 286 is a tie, whatever the totals are."""
    learner = ODAAF(expected_delay=10).learner(arms=2, horizon=30_000, feedback="anonymous")
    assert ODAAF(expected_delay=10).phase_lengths(30_000, 1) == [572]
    for total in range(1, 286):
        learner.state["totals"][:] = [total, total + ahead]
        learner.state["active"][:] = 1
        learner.state["eliminated"][:] = 0
        for name, value in (("phase", 1), ("length", 572), ("arm", 1), ("left", 1)):
            learner.state[name][0] = value
        learner.ask()
        learner.tell(0.0)
        assert learner.state["active"].tolist() == [int(ahead == 286), 1], total


@pytest.mark.slow
@pytest.mark.compiled
def test_the_regret_of_odaaf_is_known_once_the_switch_is():
    curves = simulate(
        Problem([0.5, 0.6], Poisson(20)),
        {"it": ODAAF(expected_delay=20)},
        horizon=250_000,
        replications=4,
    )
    assert curves.values("it", "regret")[-1].tolist() == pytest.approx([2775.6] * 4)


def test_a_horizon_too_short_for_a_phase_is_warned_of_once_and_shown():
    policy = ODAAF(expected_delay=50)
    message = r"gives up no arm within the horizon of 1000 rounds: the first phase takes \d+"
    with pytest.warns(UserWarning, match=message) as caught:
        simulate(Problem([0.5, 0.6], Poisson(50)), [policy], horizon=1000, replications=2)
    assert len(caught) == 1
    with pytest.warns(UserWarning, match=message):
        learner = policy.learner(arms=2, horizon=1000, feedback="anonymous")
    assert "gives up no arm" in repr(learner)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy.learner(arms=1, horizon=1000, feedback="anonymous")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ODAAF(expected_delay=-1), "expected_delay must be at least 0, got -1"),
        (lambda: ODAAF(expected_delay=float("inf")), "expected_delay must be"),
        (lambda: ODAAFB(expected_delay=5, bound=4), "bound must be at least 5, got 4"),
        (lambda: ODAAFV(expected_delay=0.5, variance=0.2), "variance must be at least 0.25, got"),
        (lambda: ODAAFV(expected_delay=2, variance=-1), "variance must be at least 0, got -1"),
        (lambda: NaivePhases(bound=-1), "bound must lie in"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
