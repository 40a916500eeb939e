import math

import numpy as np
import pytest

from keyhole import simulate
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.resource import (
    RCUCB,
    BetaExponential,
    Power,
    Problem,
    ReductionUCB,
    bounds,
)
from tests.resource.cases import PENALTY, drive, learner_of, reconstructed_problem, runs_of


def plain_failure(t, alpha):
    """Minimise the peeling bound over a fine grid of its parameter."""
    betas = [k / 1000 for k in range(1, 1000)]
    return min(
        1.0,
        *((1 + math.log(t) / math.log(1 / b)) * t ** (-alpha * b) for b in betas),
    )


@pytest.mark.parametrize("alpha", [0.5, 1.2, 3.0])
def test_the_failure_is_the_best_of_the_peeling_bounds(alpha):
    t = np.array([1, 2, 10, 300, 10_000])
    found = bounds.deviation_failure(t, alpha=alpha)
    best = np.array([plain_failure(int(x), alpha) for x in t])
    assert (found >= best - 1e-12).all()
    assert (found <= 1.1 * best).all()
    assert bounds.estimate_failure(t, alpha=alpha).tolist() == np.minimum(1, 2 * found).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("instance", ["PosCorr", "Indep"])
def test_estimates_leave_their_confidence_lengths_as_rarely_as_proposition_1_says(instance):
    # The pairs are played by RCUCB itself, so that the number of informative rounds is random.
    alpha, rounds, replications = 3.0, (30, 100, 400), 60
    problem = reconstructed_problem(instance, "small", arms=2)
    policy = RCUCB(alpha=alpha, gain_range=2)
    promised = bounds.estimate_failure(rounds, alpha=alpha)
    assert promised[0] < 0.05
    assert promised[-1] < 0.001
    missed, barely_missed = np.zeros(len(rounds)), np.zeros(len(rounds))
    for replication in range(replications):
        for i, s in enumerate(states_after(policy, problem, rounds, replication)):
            length = s["spread"] * math.sqrt(math.log(rounds[i]))
            off = np.abs(s["estimate"] - problem.gains)
            missed[i] += (off > length).mean() / replications
            barely_missed[i] += (off > length / 20).mean() / replications
    # Both sides; pairs of one replication are dependent: count replications.
    assert (missed <= 2 * promised + 5 * np.sqrt(promised / replications)).all()
    assert (barely_missed > 0.05).all()  # a twentieth of the length: the test can fail


def states_after(policy, problem, rounds, replication):
    environment = InteractiveEnvironment(problem, seed=1, replication=replication)
    learner = learner_of(policy, problem, rounds[-1])
    for t in range(1, rounds[-1] + 1):
        environment.play_round(learner)
        if t in rounds:
            yield learner.state


@pytest.mark.slow
@pytest.mark.parametrize("instance", ["PosCorr", "NegCorr", "Indep"])
def test_regrets_stay_below_the_bounds(instance):
    problem = reconstructed_problem(instance, "small", arms=3)
    alpha, checkpoints = 1.5, (100, 1000, 20_000)
    penalties = PENALTY(problem.limits)
    policies = {"RCUCB": RCUCB(alpha=alpha, gain_range=2), "UCB": ReductionUCB(alpha=alpha)}
    curves = simulate(problem, policies, horizon=20_000, replications=20, checkpoints=checkpoints)
    for c, t in enumerate(checkpoints):
        rcucb = bounds.rcucb_regret_bound(problem.gaps, penalties, t, alpha=alpha)
        ucb = bounds.ucb_regret_bound(problem.gaps, penalties, t, alpha=alpha)
        assert curves.mean("RCUCB", "regret")[c] <= rcucb
        assert curves.mean("UCB", "regret")[c] <= ucb


def test_the_bounds_grow_with_the_logarithm_where_gaps_are_large():
    gaps, penalties = [[0.0, 0.4], [0.5, 0.6]], [0.1, 0.3]
    rounds = (10_000, 31_623, 100_000)  # from one to the next by the root of 10
    for bound in (bounds.ucb_regret_bound, bounds.rcucb_regret_bound):
        at = [bound(gaps, penalties, t, alpha=3.0) for t in rounds]
        assert at[2] - at[1] == pytest.approx(at[1] - at[0], rel=1e-2)
    width, alpha = np.array([2.1, 2.3]), 3.0
    slope = sum(
        alpha * width[j] ** 2 * math.log(10) / g for row in gaps for j, g in enumerate(row) if g
    )
    assert at[2] - at[1] == pytest.approx(slope, rel=1e-2)


@pytest.mark.parametrize("bound", [bounds.rcucb_regret_bound, bounds.ucb_regret_bound])
@pytest.mark.parametrize("instance", ["PosCorr", "NegCorr", "Indep"])
def test_no_bound_is_above_what_the_worst_pair_loses_in_every_round(bound, instance):
    gaps, penalties = [[0.0, 1e-5], [0.3, 0.2]], [0.0, 0.1]
    assert bound(gaps, penalties, 10, alpha=2.0) <= 10 * 0.3
    problem = reconstructed_problem(instance)
    found = bound(problem.gaps, PENALTY(problem.limits), 10_000, alpha=1.01)
    assert found <= 10_000 * problem.gaps.max()


@pytest.mark.parametrize("seed", range(3))
def test_the_regret_is_what_the_informative_rounds_of_neighbours_leave(seed):
    problem, rounds = reconstructed_problem("NegCorr", "small", arms=3), 120
    learner = learner_of(RCUCB(), problem, rounds)
    asked = drive(learner, runs_of(problem, seed, 0), rounds)
    by_pair = bounds.regret_by_pair(problem.gaps, learner.state["told"])
    lost = [problem.best_gain - problem.gain(*pair) for pair in asked]
    assert by_pair.sum() == pytest.approx(sum(lost), abs=1e-9)
    for arm, limit in set(asked):
        place = problem.limits.tolist().index(limit)
        alone = asked.count((arm, limit)) * problem.gaps[arm, place]
        assert by_pair[arm, place] == pytest.approx(alone)


WIDE = Problem(
    [BetaExponential(9, 1, 3), BetaExponential(1, 9, 3)],
    [0.05, 1.0],
    Power(slope=0.1),
    Power(slope=0.1, constant=0.2),
)


def test_a_limit_below_the_best_is_told_of_by_nearly_every_round():
    # So N has no logarithmic bound, whatever the gap: plays have.
    learner = learner_of(RCUCB(alpha=0.1), WIDE, 600)
    drive(learner, runs_of(WIDE, 0, 0), 600)
    assert WIDE.best_pair == (0, 1.0)
    assert WIDE.gaps[0, 0] > 0.2
    assert learner.state["told"][0, 0] > 500
    assert learner.state["plays"][0, 0] < 50


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bounds.deviation_failure([0], alpha=2), r"rounds\[0\] must be at least 1, got 0"),
        (lambda: bounds.deviation_failure([1], alpha=0), "alpha must be above 0, got 0"),
        (
            lambda: bounds.rcucb_regret_bound([[0.1]], [0.1], 10, alpha=1),
            "alpha must be above 1, got 1",
        ),
        (
            lambda: bounds.rcucb_regret_bound([0.1], [0.1], 10, alpha=2),
            r"gaps must have shape \(arms, 1\), got \(1,\)",
        ),
        (
            lambda: bounds.ucb_regret_bound([[0.1, -0.1]], [0.1, 0.2], 10, alpha=2),
            r"gaps\[1\] must be at least 0, got -0.1",
        ),
        (
            lambda: bounds.ucb_regret_bound([[0.1]], [-0.1], 10, alpha=2),
            r"penalties\[0\] must be at least 0, got -0.1",
        ),
        (
            lambda: bounds.ucb_regret_bound([[0.1]], [0.1], 0, alpha=2),
            "horizon must be at least 1, got 0",
        ),
        (
            lambda: bounds.regret_by_pair([[0.1, 0.2]], [[1, 2]]),
            r"the plays of each pair\[0\] must be at least 0, got -1",
        ),
        (
            lambda: bounds.regret_by_pair([[0.1, 0.2]], [[2, 1], [1, 1]]),
            r"informative must have shape \(1, 2\), got \(2, 2\)",
        ),
        (
            lambda: bounds.rcucb_regret_bound([[0.1]], [0.1], 9, alpha=2, gain_range=3),
            r"gain_range must lie in \(0, 2\], got 3",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
