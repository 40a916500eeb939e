import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.delayed import ODAAF, ODAAFB, ODAAFV, QPMD, NaivePhases, Poisson, Problem, Uniform
from keyhole.delayed.bounds import (
    failure_bound,
    pulls_bound,
    regret_bound,
    regret_outside_bridges,
)


@settings(max_examples=20)
@given(gap=st.floats(0.01, 1))
def test_the_phase_of_a_bound_is_the_first_with_half_the_gap_above_its_tolerance(gap):
    horizon = 10**8
    best = np.array([1.0 - gap, 1.0])
    gap = float(best[1] - best[0])
    phase = next(m for m in range(1, 60) if 2.0**-m < gap / 2)
    policy = ODAAF(expected_delay=5)
    lengths = policy.phase_lengths(horizon, phase)
    assert pulls_bound(policy, best, horizon).tolist() == [min(horizon, lengths[-1]), horizon]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "delay"),
    [
        (ODAAF(expected_delay=20), Poisson(20)),
        (NaivePhases(bound=40), Uniform(0, 40)),
    ],
    ids=repr,
)
def test_the_bound_with_constants_is_kept(policy, delay):
    means, horizon = [0.3, 0.6, 0.5], 150_000
    curves = simulate(Problem(means, delay), {"it": policy}, horizon=horizon, replications=20)
    assert np.all(
        curves.values("it", "regret")[-1] <= regret_outside_bridges(policy, means, horizon) + 1e-6
    )


def test_the_regret_bound_adds_bridges_and_failed_estimates():
    means, horizon = [0.5, 0.8], 250_000
    gap = 0.3
    parts = {
        ODAAF(expected_delay=50): gap * 15471 + 96 * 3 / gap,
        ODAAFB(expected_delay=50, bound=100): gap * (7359 + 2746) + 96 * 12 / gap,
        ODAAFV(expected_delay=50, variance=50): gap * (12149 + 4986) + 96 * 12 / gap,
        NaivePhases(bound=100): gap * 7645 + 96 * 2 / gap,
    }
    for policy, expected in parts.items():
        assert regret_bound(policy, means, horizon) == pytest.approx(expected)
        assert regret_bound(policy, [0.5, 0.5], horizon) == 0
    assert failure_bound(ODAAF(expected_delay=1), 1000, 5) == 1
    assert failure_bound(ODAAFB(1, 2), 12_000, 1) == pytest.approx(12 * 4 / 12_000)


@pytest.mark.slow
@pytest.mark.compiled  # 25,000 rounds are what the bound needs
def test_a_policy_that_gives_nothing_up_breaks_the_regret_bound():
    never, means, horizon = NaivePhases(bound=2000), [0.5, 0.8], 25_000
    problem = Problem(means, Uniform(0, 4))
    curves = simulate(
        problem, {"never": never, "it": ODAAF(expected_delay=2)}, horizon=horizon, replications=4
    )
    bound = regret_bound(ODAAF(expected_delay=2), means, horizon)
    assert curves.values("it", "regret")[-1].max() < bound < curves.values("never", "regret").min()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: failure_bound(ODAAF(1), 10, 0), "phase must be at least 1, got 0"),
        (lambda: regret_bound(QPMD(), [0.2], 10), "policy must be ODAAF, .* got QPMD"),
        (lambda: pulls_bound(ODAAFB(1, 2), [2], 10), r"means\[0\] must lie in"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
