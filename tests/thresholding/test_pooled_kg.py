import math
from fractions import Fraction

import numpy as np
import pytest

from keyhole import simulate
from keyhole.draws.beta_cdf import log_beta_cdf_left
from keyhole.thresholding import LSA, PooledKG, Problem
from tests.thresholding.cases import drive


@pytest.mark.parametrize(
    ("x", "a", "b"), [(0.5, 3, 2), (0.1, 1, 1), (0.3, 1500, 20), (0.01, 900, 1)]
)
@pytest.mark.interpreted
def test_the_logarithm_of_a_tail_is_right_where_the_tail_underflows(x, a, b):
    n, exact = a + b - 1, Fraction(x)
    tail = sum(math.comb(n, j) * exact**j * (1 - exact) ** (n - j) for j in range(a, n + 1))
    expected = math.log(tail.numerator) - math.log(tail.denominator)
    assert log_beta_cdf_left(x, a, b) == pytest.approx(expected, rel=1e-10, abs=1e-12)


@pytest.mark.interpreted
@pytest.mark.parametrize("reward", [0.0, 1.0, 0.5])
@pytest.mark.parametrize("arms", [1, 4])
def test_the_prior_stays_proper_where_all_rewards_are_equal(reward, arms):
    learner = PooledKG().learner(arms=arms, threshold=0.3)
    asked = drive(learner, lambda arm, n: reward, 400)
    prior = learner.state["prior"]
    assert np.all(prior > 0.0)
    assert 0.3 - 1e-9 <= prior.sum() <= 4.0 + 1e-9
    assert max(asked.count(arm) for arm in range(arms)) < 2 * 400 / arms
    assert learner.recommend().tolist() == [reward >= 0.3] * arms


@pytest.mark.interpreted
def test_scores_stay_numbers_far_from_the_threshold():
    learner = PooledKG().learner(arms=2, threshold=0.01)
    state = learner.state
    state["pulls"][:] = state["totals"][:] = 1e7
    state["count"][0] = 2e7
    for _ in range(3):
        learner.ask()
        learner.tell(1.0)
    scores = state["index"][:2]
    assert np.all(np.isfinite(scores))
    assert math.isclose(scores[0], scores[1], rel_tol=1e-6)


@pytest.mark.slow
def test_one_unusual_arm_in_two_hundred_is_found_sooner_than_by_lsa():
    problem = Problem([0.1] * 199 + [0.6], threshold=0.3)
    kinds = [PooledKG(), LSA()]
    curves = simulate(problem, kinds, horizon=1000, replications=20, seed=3)
    pooled, lsa = (curves.values(kind, "aggregate_regret")[-1] for kind in kinds)
    error = math.sqrt((pooled.var(ddof=1) + lsa.var(ddof=1)) / 20)
    assert lsa.mean() - pooled.mean() > 5 * error


def test_a_strength_that_is_out_of_range_is_named():
    with pytest.raises(ValueError, match="strength must lie in"):
        PooledKG(strength=0.1)
