"""Evidence by betting against the bets themselves, reward by reward."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.draws.e_process import (
    GRID,
    add_to_histogram,
    log_evidence_above,
    log_evidence_against,
    log_evidence_below,
)
from keyhole.draws.mean_bounds import log_mixture_evidence_above
from tests.reference.bets import log_mean_wealth

pytestmark = pytest.mark.interpreted

STARS = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
ANY = st.floats(0.0, 1.0)


def tally(rewards):
    """Return what is kept of rewards: the weights on the grid, their number and their sum."""
    histogram = np.zeros((1, GRID))
    for reward in rewards:
        add_to_histogram(histogram, 0, reward)
    return histogram, 0, float(len(rewards)), math.fsum(rewards)


@settings(max_examples=60, deadline=None)
@given(rewards=st.lists(STARS, min_size=1, max_size=60), null=st.floats(0.03, 0.97))
def test_rewards_on_the_grid_enter_exactly_as_they_are_bet_on(rewards, null):
    kept = tally(rewards)
    against = log_evidence_against(*kept, null)
    assert against == pytest.approx(log_mean_wealth(rewards, null), abs=1e-6)
    for value, low, high in (
        (log_evidence_above(*kept, null, 1e-9), null, 1.0),
        (log_evidence_below(*kept, null, 1e-9), 0.0, null),
    ):
        expected = log_mean_wealth(rewards, null, low, high)
        # Below the floor it may be minus infinity.
        assert value == pytest.approx(expected, abs=1e-6) or (
            value == -math.inf and expected < 1e-6
        )


@settings(max_examples=60, deadline=None)
@given(rewards=st.lists(ANY, min_size=1, max_size=60), null=st.floats(0.03, 0.97))
def test_no_reward_shows_more_than_the_bet_or_less_than_it_did(rewards, null):
    kept = tally(rewards)
    value = log_evidence_above(*kept, null, 1e-9)
    exact = log_mean_wealth(rewards, null, null, 1.0)
    shared = log_mean_wealth(rewards, null, null, 1.0, steps=GRID)
    assert shared <= exact + 1e-9
    assert value <= exact + 1e-6
    assert value >= log_mixture_evidence_above(kept[3], kept[2], null, 1e-9)
    if value > -math.inf:
        assert value == pytest.approx(shared, abs=1e-6)


def test_the_evidence_of_rewards_of_0_and_1_has_the_same_bits():
    for total, pulls in ((10, 10), (30, 40), (7, 9), (560, 1000)):
        kept = tally([1.0] * total + [0.0] * (pulls - total))
        bits = log_mixture_evidence_above(float(total), float(pulls), 0.45, 0.1)
        assert log_evidence_above(*kept, 0.45, 0.1) == bits > 0.1
        mirrored = tally([0.0] * total + [1.0] * (pulls - total))
        assert log_evidence_below(*mirrored, 0.55, 0.1) == pytest.approx(bits, abs=1e-12)


@settings(max_examples=8, deadline=None)
@given(
    shape=st.tuples(st.floats(0.1, 8), st.floats(0.1, 8)),
    pulls=st.integers(100, 5_000),
    side=st.sampled_from([0.9, 1.1]),
)
def test_the_quadrature_covers_long_histories(shape, pulls, side):
    rewards = np.random.default_rng(pulls).beta(*shape, size=pulls)
    null = min(max(rewards.mean() * side, 0.02), 0.98)
    kept = tally(rewards.tolist())
    bets = np.linspace(-1 / (1 - null), 1 / null, 100_001)[1:-1]
    histogram, _, count, total = kept
    inner = histogram[0].copy()
    inner[0] = 0.0
    grades = np.arange(GRID) / GRID
    ones = max(total - inner @ grades, 0.0)
    weights = [*inner, ones]
    weights[0] = max(count - inner.sum() - ones, 0.0)
    logs = sum(
        w * np.log1p(bets * (x - null)) for w, x in zip(weights, [*grades, 1.0], strict=True)
    )
    expected = logs.max() + math.log(np.exp(logs - logs.max()).mean())
    assert log_evidence_against(*kept, null) == pytest.approx(expected, abs=1e-2)


def test_rewards_equal_to_the_null_are_no_evidence():
    for null in (0.45, 0.5, 0.123):
        kept = tally([null] * 50)
        assert log_evidence_above(*kept, null, 0.1) == -math.inf
        assert log_evidence_below(*kept, null, 0.1) == -math.inf
        assert log_evidence_against(*kept, null) <= 0.0


@settings(max_examples=25, deadline=None)
@given(rewards=st.lists(ANY, min_size=1, max_size=30), means=st.tuples(ANY, ANY))
def test_the_evidence_is_convex_in_the_mean(rewards, means):
    low, high = (0.01 + 0.98 * mean for mean in means)
    kept = tally(rewards)
    ends = [log_evidence_against(*kept, mean) for mean in (low, high)]
    assert log_evidence_against(*kept, (low + high) / 2) <= sum(ends) / 2 + 1e-5
