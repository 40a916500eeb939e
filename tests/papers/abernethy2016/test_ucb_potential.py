"""The potential function, and the lemmas that rest on it."""

import math

import numpy as np
import pytest

from keyhole.papers.abernethy2016.ucb_potential import potential, potential_bound, regret_bound
from keyhole.stochastic import HoeffdingUCB, KnownVarianceUCB
from keyhole.stochastic.bounds import hoeffding_ucb_bound
from keyhole.stochastic.policy_base import DeviationUCBPolicy
from tests.stochastic.cases import FIVE, bernoulli, drive


def plain_potential(pulls, horizon):
    """Return eq. (2) with Hoeffding's width, term by term."""
    total = 0.0
    for count in pulls:
        for n in range(count):
            total += 1.0 if n == 0 else math.sqrt(math.log(4 * horizon**2) / (2 * n))
    return 2 * total


@pytest.mark.parametrize("pulls", [[0], [1], [3, 0, 7], [120, 45]])
def test_the_potential_is_its_sum_term_by_term(pulls):
    found = potential(HoeffdingUCB(), pulls, horizon=500)
    assert found == pytest.approx(plain_potential(pulls, 500))
    runs = potential(HoeffdingUCB(), [pulls, [0] * len(pulls)], horizon=500)
    assert runs.tolist() == [pytest.approx(float(found)), 0.0]


def test_a_width_that_is_searched_for_has_the_same_potential():
    class Halved(DeviationUCBPolicy):
        def deviation(p, pulls, error):
            return 2.0 * math.exp(-2.0 * pulls * error * error)

    found = potential(Halved(), [40], horizon=100)
    assert found == pytest.approx(float(potential(HoeffdingUCB(), [40], horizon=100)))
    assert potential(KnownVarianceUCB(variance=0.01), [400], horizon=100) < potential(
        HoeffdingUCB(), [400], horizon=100
    )


def test_lemma_1_adds_what_failures_may_cost():
    # 2 T delta = 2 T / (2 T^2) = 1 / T.
    assert potential_bound(HoeffdingUCB(), [5, 9], horizon=40) == pytest.approx(
        plain_potential([5, 9], 40) + 1 / 40
    )


def test_lemma_2_by_hand():
    # A gap of .5 and T = 100: 2 ln(40,000) / .25 = 84.8, so that 85 pulls are enough.
    found = regret_bound(HoeffdingUCB(), [0.5], horizon=100)
    assert found == pytest.approx(plain_potential([85], 100))


def test_theorem_1_follows_from_the_lemmas():
    # The sum of 1 / sqrt(n) up to N is at most 2 sqrt(N): the proof of Theorem 1, where
    # ln(2 / delta) is 2 ln T + ln 4 and its leading term is what the theorem keeps.
    means, horizon = [0.5, 0.6, 0.3], 10**5
    gaps = [0.1, 0.3]
    scale = math.log(4 * horizon**2) / (2 * math.log(horizon))
    rest = sum(2 + 2 * gap for gap in gaps)
    assert (
        regret_bound(HoeffdingUCB(), gaps, horizon=horizon)
        <= scale * hoeffding_ucb_bound(means, horizon) + rest
    )


@pytest.mark.interpreted
def test_the_regret_of_a_run_is_below_its_potential():
    # But for runs in which a bound fails, one in 1 / T; a policy that goes round is above it.
    horizon = 3000
    learner = HoeffdingUCB().learner(arms=5, horizon=horizon)
    asked = drive(learner, bernoulli(FIVE, 6, 0), horizon)
    pulls = np.bincount(asked, minlength=5)
    regret = float(((0.6 - np.array(FIVE)) * pulls).sum())
    assert regret <= potential(HoeffdingUCB(), np.delete(pulls, 1), horizon=horizon)
    turn = 10**6 // 5
    lost = sum(0.6 - mean for mean in FIVE) * turn
    assert lost > potential_bound(HoeffdingUCB(), [turn] * 4, horizon=10**6)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: potential(HoeffdingUCB(), [-1], horizon=9),
            r"pulls\[0\] must be at least 0, got -1",
        ),
        (lambda: potential(HoeffdingUCB(), [], horizon=9), "pulls must be one number for each arm"),
        (lambda: potential(HoeffdingUCB(), [1], horizon=0), "horizon must be at least 1, got 0"),
        (
            lambda: regret_bound(HoeffdingUCB(), [0.0], horizon=9),
            r"gaps\[0\] must lie in \(0, 1\], got 0",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
