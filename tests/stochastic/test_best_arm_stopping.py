import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.draws.e_process import GRID, add_to_histogram, log_evidence_against
from keyhole.policy import FloatArray, float_array
from keyhole.stochastic import (
    UCB1,
    BestArmStopping,
    ImprovedUCB,
    Policy,
    Problem,
    RoundRobin,
    TopTwoThompson,
)
from keyhole.stochastic.policies.best_arm_stopping import is_mean_higher_by_sums
from keyhole.stochastic.policies.top_two_thompson import total_entropy, transport_cost
from tests.lengths import short_or_long
from tests.reference import stochastic as reference
from tests.stochastic import kl_lucb
from tests.stochastic.cases import bernoulli, fractional, reference_of

pytestmark = pytest.mark.interpreted

FAMILY = "any_wrong_settled"


@pytest.mark.parametrize("base", [UCB1(), TopTwoThompson()], ids=repr)
@pytest.mark.parametrize("rewards", [bernoulli, fractional])
@settings(max_examples=short_or_long(5, 10), deadline=None)
@given(
    means=st.lists(st.floats(0, 1, width=16), min_size=1, max_size=4),
    delta=st.sampled_from([0.05, 0.5]),
    seed=st.integers(0, 2**32),
)
def test_the_reference_takes_the_same_decisions(base, rewards, means, delta, seed):
    slow_base = reference_of(base, len(means), 150, seed)
    slow = reference.BestArmStopping(len(means), 150, base=slow_base, delta=delta)
    learner = BestArmStopping(base=base, delta=delta).learner(arms=len(means), seed=seed)
    reward = rewards(means, seed, 0)
    for t in range(1, 151):
        if learner.is_done:
            break
        arm = learner.ask()
        assert arm == slow.choose(t)
        value = reward(arm, len(slow.rewards[arm]))
        learner.tell(value)
        slow.learn(arm, value)
        expected = {i: verdict for i, verdict in enumerate(slow.verdicts) if verdict}
        assert learner.settled == expected
    assert learner.is_done == (not slow.open_arms())


@pytest.mark.parametrize("values", [(0.0, 0.25, 1.0), (0.0, 0.32, 1.0)])
@pytest.mark.parametrize("weights", [(0.5, 0.3, 0.2), (0.8, 0.1, 0.1), (0.2, 0.2, 0.6)])
def test_the_evidence_against_the_true_mean_has_a_mean_of_at_most_1(values, weights):
    """Over all outcomes of three rewards; exactly 1 where they are on the grid of twentieths."""
    mean = float(np.dot(values, weights))
    evidence = 0.0
    for outcome in itertools.product(range(3), repeat=3):
        rewards = [values[i] for i in outcome]
        histogram = np.zeros((1, GRID))
        for reward in rewards:
            add_to_histogram(histogram, 0, reward)
        log = log_evidence_against(histogram, 0, 3.0, sum(rewards), mean)
        evidence += math.prod(weights[i] for i in outcome) * math.exp(log)
    if values[1] == 0.25:
        assert evidence == pytest.approx(1.0, abs=1e-6)
    else:
        assert 0.99 < evidence < 1.0


@settings(max_examples=40)
@given(
    pulls=st.tuples(st.integers(1, 10**7), st.integers(1, 10**7)),
    shares=st.tuples(st.floats(0, 1), st.floats(0, 1)),
    level=st.floats(0.1, 40),
)
def test_the_cheap_bound_never_hides_evidence(pulls, shares, level):
    (n, m), (s, f) = pulls, (round(n * x) for n, x in zip(pulls, shares, strict=True))
    found = is_mean_higher_by_sums(float(n), float(s), float(m), float(f), level)
    likelihood = transport_cost(float(n), float(s), float(m), float(f))
    if found:
        assert likelihood >= level
    elif s / n > f / m:
        assert log_evidence(n, s, m, f) < level + 1e-6 * level + 1e-5


def log_evidence(n, s, m, f):
    """Return the logarithm of the e-process, without a cheap bound before it."""
    mixtures = sum(
        math.lgamma(a + 1) + math.lgamma(b - a + 1) - math.lgamma(b + 2)
        for a, b in ((s, n), (f, m))
    )
    return mixtures + total_entropy(float(n + m), float(s + f))


@pytest.mark.parametrize(
    ("n", "m", "f", "level"), [(50, 60, 10, 12.0), (1000, 3000, 900, 30.0), (200, 100, 3, 25.0)]
)
def test_evidence_is_found_as_soon_as_it_is_there(n, m, f, level):
    first = next(s for s in range(n * f // m + 1, n) if log_evidence(n, s, m, f) >= level)
    assert is_mean_higher_by_sums(float(n), float(first), float(m), float(f), level)
    assert not is_mean_higher_by_sums(float(n), float(first - 1), float(m), float(f), level)


@pytest.mark.parametrize("means", [[0.6, 0.2], [0.02, 0.7, 0.3], [0.5]])
def test_the_best_arm_is_named(means):
    curves = simulate(Problem(means), [BestArmStopping()], horizon=1000, replications=20)
    (label,) = curves.labels
    assert curves.mean(label, FAMILY)[-1] <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / 20)
    assert curves.mean(label, "settled")[-1] == 1.0
    used = curves.values(label, "rounds_used")[-1]
    assert used.max() <= 1000
    assert (used == 1).all() == (len(means) == 1)


def test_of_equal_means_the_lowest_arm_is_recommended():
    learner = BestArmStopping(base=RoundRobin()).learner(arms=3)
    for reward in (0.0, 1.0, 1.0):
        learner.ask()
        learner.tell(reward)
    assert learner.recommend() == 1


def test_two_best_arms_are_not_told_apart():
    problem = Problem([0.3, 0.3, 0.1])
    assert BestArmStopping().wrong_verdicts(problem).tolist() == [
        [False, False], [False, False], [True, False],
    ]  # fmt: skip
    assert BestArmStopping().wrong_verdicts(Problem([0.3, 0.4])).tolist() == [
        [True, False], [False, True],
    ]  # fmt: skip


class Spoiler(Policy):
    """Choose so that the better arm looks bad: leave it as soon as it is behind."""

    off_policy = True

    class State:
        pulls: FloatArray = float_array("arms")
        totals: FloatArray = float_array("arms")

    def select(p, s: State) -> int:
        for arm in range(p.arms):
            if s.pulls[arm] < 5.0:
                return arm
        ahead = s.totals[0] * s.pulls[1] >= s.totals[1] * s.pulls[0]
        return 0 if ahead else 1

    def update(p, s: State, arm: int, reward: float) -> None:
        s.pulls[arm] += 1.0
        s.totals[arm] += reward


EDGE = {
    "0/1": Problem([0.5, 0.5 - 1e-9]),
    "rare": Problem([0.05, 0.05 - 1e-9]),
    "five": Problem([0.5] + [0.5 - 1e-9] * 4),
    "beta": Problem([0.5, 0.5 - 1e-9], distribution="beta", concentration=0.5),
}


def assert_rarely_wrong(problem, base, horizon, runs):
    policy = BestArmStopping(base=base)
    curves = simulate(problem, [policy], horizon=horizon, replications=runs, seed=3)
    (label,) = curves.labels
    wrong = curves.mean(label, FAMILY)[-1]
    assert wrong <= 0.05 + 5 * math.sqrt(0.05 * 0.95 / runs)
    return wrong


@pytest.mark.parametrize("base", [TopTwoThompson(), Spoiler()], ids=repr)
def test_at_the_edge_errors_are_rare(base):
    assert_rarely_wrong(EDGE["0/1"], base, horizon=150, runs=60)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("problem", EDGE)
@pytest.mark.parametrize("base", [TopTwoThompson(), RoundRobin(), Spoiler()], ids=repr)
def test_at_the_edge_errors_are_rare_in_four_thousand_runs(problem, base):
    assert assert_rarely_wrong(EDGE[problem], base, horizon=2000, runs=4000) < 0.02


def test_a_learner_says_which_arms_are_settled():
    learner = BestArmStopping().learner(arms=2, seed=1)
    while not learner.is_done:
        learner.tell(learner.ask() == 1)
    assert learner.recommend() == 1
    assert repr(learner).splitlines()[1].endswith(", not best")
    assert repr(learner).splitlines()[2].endswith(", best")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"delta": 0.0}, r"delta must lie in \(0, 1\), got 0"),
        ({"base": ImprovedUCB()}, r"base must be a policy that can learn .*got ImprovedUCB\(\)"),
    ],
)
def test_bad_parameters_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        BestArmStopping(**arguments)


FIVE_PROBLEMS = {
    "two": [0.5, 0.6],
    "four close": [0.5, 0.45, 0.43, 0.4],
    "one of ten": [0.6] + [0.4] * 9,
    "five in steps": [0.3, 0.4, 0.5, 0.6, 0.7],
    "rare": [0.05] + [0.01] * 5,
}


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", FIVE_PROBLEMS)
def test_it_takes_less_than_half_of_the_pulls_of_kl_lucb(name):
    means, rng = FIVE_PROBLEMS[name], np.random.default_rng(1)
    theirs = [kl_lucb.play(means, 0.05, rng) for _ in range(8)]
    assert all(arm == np.argmax(means) for _, arm in theirs)
    problem = Problem(means)
    curves = simulate(problem, [BestArmStopping()], horizon=100_000, replications=200, seed=5)
    ours = curves.values(curves.labels[0], "rounds_used")[-1]
    assert ours.mean() < 0.5 * np.mean([pulls for pulls, _ in theirs])
    assert curves.mean(curves.labels[0], FAMILY)[-1] <= 0.05
