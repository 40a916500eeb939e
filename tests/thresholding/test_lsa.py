from types import SimpleNamespace

import numpy as np
import pytest

from keyhole import simulate
from keyhole.thresholding import LSA, Problem, RoundRobin
from tests.thresholding.cases import SETUP_1, bernoulli, drive

pytestmark = pytest.mark.interpreted


def test_lsa_pulls_every_arm_once_first():
    learner = LSA().learner(arms=7, threshold=0.5)
    assert drive(learner, lambda arm, n: 1.0, 7) == list(range(7))


def test_lsa_prefers_the_small_gap_and_the_few_pulls():
    learner = LSA(alpha=1.35).learner(arms=2, threshold=0.5)
    rewards = {0: 1.0, 1: 0.6}
    drive(learner, lambda arm, n: rewards[arm], 2)
    assert learner.ask() == 1  # 1.35 * 0.01 against 1.35 * 0.25


def test_the_index_is_that_of_the_paper():
    learner = LSA(alpha=2.0).learner(arms=1, threshold=0.25)
    drive(learner, lambda arm, n: [1.0, 0.0, 0.5][n], 3)
    gap = 0.5 - 0.25
    assert learner.state["index"][0] == pytest.approx(2.0 * 3 * gap**2 + 0.5 * np.log(3))


def test_equal_gaps_on_both_sides_tie_exactly():
    inputs = SimpleNamespace(alpha=1.35, threshold=0.5)
    for pulls in range(1, 300):
        for total in range(pulls + 1):
            above = LSA.index(inputs, float(pulls), float(total))
            below = LSA.index(inputs, float(pulls), float(pulls - total))
            assert above == below


def test_without_weight_on_the_gap_arms_are_pulled_equally_often():
    learner = LSA(alpha=1e-12).learner(arms=10, threshold=0.5)
    asked = drive(learner, bernoulli(SETUP_1, 0, 0), 200)
    assert np.bincount(asked).tolist() == [20] * 10


def test_an_arm_whose_mean_is_the_threshold_exactly_is_labelled_above():
    # 0.55 * 20 is 11.000000000000002 in floating point.
    learner = LSA().learner(arms=1, threshold=0.55)
    drive(learner, lambda arm, n: float(n < 11), 20)
    assert learner.recommend().tolist() == [True]


def test_with_the_empirical_gap_in_its_logarithm_an_arm_is_never_pulled_again():
    # Section 3: ln(1 / gap) in place of 0.5 ln(pulls). At a gap of 0 it has no bound.
    def variant(n, total):
        gap = abs(total / n - 0.5)
        return 1.35 * n * gap**2 - np.log(gap) if gap else np.inf

    def lsa(n, total):
        return 1.35 * n * (total / n - 0.5) ** 2 + 0.5 * np.log(n)

    rng, least = np.random.default_rng(1), {variant: [], lsa: []}
    for index, found in least.items():
        for _ in range(20):
            pulls, totals = np.ones(4), (rng.random(4) < 0.4).astype(float)
            for _ in range(300):
                arm = min(range(4), key=lambda i: index(pulls[i], totals[i]))
                pulls[arm] += 1
                totals[arm] += rng.random() < 0.4
            found.append(pulls.min())
    assert np.mean(np.array(least[variant]) == 2) > 0.5
    assert min(least[lsa]) > 10


@pytest.mark.compiled
def test_lsa_beats_uniform_in_the_papers_first_set_up():
    curves = simulate(
        Problem(SETUP_1, 0.5), [LSA(), RoundRobin()], horizon=500, replications=1000, seed=2
    )
    paired = curves.paired("LSA(alpha=1.35)", "RoundRobin()", metric="aggregate_regret", round=500)
    assert paired.high < -0.2


def test_a_learner_says_which_arms_were_never_pulled():
    learner = LSA().learner(arms=2, threshold=0.5)
    learner.ask()
    learner.tell(0.0)
    assert repr(learner).splitlines()[1:] == [
        "  arm 0: below, 1 pull, mean 0.00 [0.00, 0.98] at any time",
        "  arm 1: never pulled, taken to be above",
    ]
