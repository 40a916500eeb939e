import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from keyhole import simulate
from keyhole.distributions import Replay
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.thresholding import LSA, Policy, Problem, RoundRobin
from tests.lengths import short_or_long

pytestmark = pytest.mark.interpreted

# How many draws: bounds follow from it.
FEW_OR_MANY = [
    pytest.param(1_000, id="few"),
    pytest.param(20_000, marks=pytest.mark.slow, id="many"),
]
FEW = 2_000


def rewards(problem, arm=0, draws=FEW, replication=0):
    environment = InteractiveEnvironment(problem, seed=6, replication=replication)
    answers = np.empty(draws)
    for i in range(draws):
        environment.observe()
        answers[i] = environment.respond({"arm": arm})["reward"][()]
    return answers


class SaysEveryOther(Policy):
    """Learns nothing, and labels the arms 0, 1, 0, 1, ..."""

    def select(p):
        return 0

    def update(p):
        pass

    def recommend(p, labels):
        for arm in range(p.arms):
            labels[arm] = arm % 2


def scored(problem):
    """Return the metrics of labels 0, 1, 0, 1, ..."""
    curves = simulate(problem, {"it": SaysEveryOther()}, horizon=problem.arms, replications=1)
    return {metric: curves.values("it", metric)[0, 0] for metric in curves.metrics}


# What a problem says of itself.


def test_labels_are_those_of_means_at_least_the_threshold():
    problem = Problem(means=[0.2, 0.5, 0.7], threshold=0.5)
    assert problem.labels.tolist() == [False, True, True]
    assert problem.gaps.tolist() == pytest.approx([0.3, 0.0, 0.2])
    assert not problem.free.any()


def test_hardness_sums_the_gaps_to_the_power_minus_two():
    assert Problem([0.25, 1.0], 0.5).hardness == 4**2 + 2**2
    assert Problem([0.25, 0.5], 0.5).hardness == math.inf


def test_means_of_0_and_1_are_allowed():
    problem = Problem([0.0, 1.0], 0.5)
    assert set(rewards(problem, 0, 100)) == {0.0}
    assert set(rewards(problem, 1, 100)) == {1.0}


def test_the_repr_is_short():
    problem = Problem(np.full(7, 0.25), 0.5)
    assert repr(problem) == (
        "Problem(7 bernoulli arms, means=[0.25, 0.25, 0.25, 0.25, 0.25, 0.25, ...], threshold=0.5)"
    )


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30), st.floats(0.01, 0.99))
@settings(max_examples=short_or_long(25, 60), deadline=None)
def test_wrong_labels_are_counted(means, threshold):
    problem = Problem(means, threshold)
    said = np.arange(problem.arms) % 2 == 1
    wrong = int((said != (np.array(means) >= threshold)).sum())
    assert scored(problem) == {"aggregate_regret": wrong, "simple_regret": float(wrong > 0)}


@pytest.mark.parametrize("gold", [None, [1, 0, None]])
@pytest.mark.parametrize("replacement", [True, False])
def test_details_say_what_was_pulled_earned_and_got_wrong(gold, replacement):
    pools = [[1.0] * 5, [0.5] * 5, [0.25] * 5]
    problem = Problem.replay(pools, 0.6, gold=gold, replacement=replacement)
    curves = simulate(
        problem, {"it": RoundRobin()}, horizon=7, replications=2, checkpoints=[3, 7], details=True
    )
    found = {metric: curves.values("it", metric)[:, 0].tolist() for metric in curves.metrics}
    assert found["cumulative_reward"] == [1.75, 4.5]
    assert [found[f"pulls[{arm}]"] for arm in range(3)] == [[1, 3], [1, 2], [1, 2]]
    assert [found[f"errors[{arm}]"] for arm in range(3)] == [[0, 0], [0, 0], [0, 0]]
    wrong = simulate(problem, {"it": SaysEveryOther()}, horizon=5, replications=1, details=True)
    said = {metric: wrong.values("it", metric)[0, 0] for metric in wrong.metrics}
    assert [said[f"errors[{arm}]"] for arm in range(3)] == [1, 1, 0]  # labels 0, 1, 0
    assert said["aggregate_regret"] == 2
    assert said["pulls[0]"] == 5
    assert ("gold_agreement" in said) == (gold is not None)


# Means that equal the threshold but for rounding.


def test_a_mean_on_the_threshold_is_above_however_it_was_rounded():
    assert 0.1 + 0.2 > 0.3
    for mean, threshold in ((0.1 + 0.2, 0.3), (0.3, 0.1 + 0.2), (1 - 0.9, 0.1), (0.1, 1 - 0.9)):
        problem = Problem([mean, 0.9], threshold)
        assert problem.labels.tolist() == [True, True]
        assert problem.gaps[0] == 0.0
        assert problem.hardness == math.inf


def test_means_that_differ_from_the_threshold_by_more_than_rounding_do_not_lie_on_it():
    problem = Problem([0.3 - 1e-9, 0.3 + 1e-9], 0.3)
    assert problem.labels.tolist() == [False, True]
    assert problem.gaps.tolist() == pytest.approx([1e-9, 1e-9], rel=1e-6)


@pytest.mark.parametrize(
    ("samples", "threshold"),
    [([0.2, 0.4, 0.6], 0.4), ([0.1, 0.1, 0.1], 0.1), ([0.7] * 10, 0.7), ([0.1, 0.2], 0.15)],
)
def test_a_replayed_arm_whose_samples_average_to_the_threshold_is_free(samples, threshold):
    problem = Problem.replay([samples, [1, 1]], threshold)
    assert problem.free.tolist() == [True, False]
    assert problem.hardness == pytest.approx((1 - threshold) ** -2)
    assert scored(problem)["aggregate_regret"] == 0


@pytest.mark.parametrize("reward", [0.1, 0.3, 0.7, 0.9])
def test_an_arm_that_always_pays_the_threshold_is_never_said_to_be_below(reward):
    learner = RoundRobin().learner(arms=1, threshold=reward)
    for _ in range(300):
        learner.ask()
        learner.tell(reward)
        assert learner.recommend()[0]


def test_a_mean_that_falls_short_by_one_sample_is_below():
    learner = RoundRobin().learner(arms=1, threshold=0.7)
    for pull in range(1000):
        learner.ask()
        learner.tell(0.7 if pull else 0.7 - 1e-9)
    assert not learner.recommend()[0]


# Distributions of the rewards.


@pytest.mark.parametrize("draws", FEW_OR_MANY)
@pytest.mark.parametrize("mean", [0.03, 0.5, 0.9])
def test_bernoulli_rewards_have_the_mean(mean, draws):
    drawn = rewards(Problem([mean], 0.5), draws=draws)
    assert set(drawn) == {0.0, 1.0}
    assert abs(drawn.mean() - mean) < 5 * math.sqrt(mean * (1 - mean) / draws)


@pytest.mark.parametrize("draws", FEW_OR_MANY)
@pytest.mark.parametrize("mean", [0.05, 0.5, 0.8])
@pytest.mark.parametrize("concentration", [0.02, 0.5, 2.0, 30.0])
def test_beta_rewards_have_the_distribution(mean, concentration, draws):
    drawn = rewards(
        Problem([mean], 0.5, distribution="beta", concentration=concentration), draws=draws
    )
    distribution = stats.beta(mean * concentration, (1 - mean) * concentration)
    assert ((drawn >= 0) & (drawn <= 1)).all()
    assert abs(drawn.mean() - distribution.mean()) < 5 * distribution.std() / math.sqrt(draws)
    fourth = distribution.stats("k") + 3  # E (X - mean)^4 / var^2
    assert abs(drawn.var() - distribution.var()) < 5 * distribution.var() * math.sqrt(
        (fourth - 1) / draws
    )
    # Distributions of small shapes have mass closer to 1 than the next smaller number: no test of
    # fit there.
    assert concentration < 2 or stats.kstest(drawn, distribution.cdf).pvalue > 1e-6


def test_beta_rewards_of_tiny_concentration_are_0_or_1():
    drawn = rewards(Problem([0.3], 0.5, distribution="beta", concentration=1e-6))
    assert np.isin(drawn.round(9), [0.0, 1.0]).mean() > 0.999
    assert abs(drawn.mean() - 0.3) < 5 * math.sqrt(0.21 / FEW)


def test_a_replay_draws_each_sample_equally_often():
    samples = [[0.5], [0.1, 0.2, 0.2, 0.4, 0.9, 1.0, 0.0]]
    drawn = rewards(Problem.replay(samples, 0.45), arm=1)
    found = [(drawn == value).sum() for value in (0.0, 0.1, 0.2, 0.4, 0.9, 1.0)]
    shares = np.array([1, 1, 2, 1, 1, 1]) / 7
    assert sum(found) == FEW
    assert stats.chisquare(found, shares * FEW).pvalue > 1e-6


def test_pulls_of_arms_and_replications_are_independent():
    problem = Problem([0.5, 0.5], 0.5)
    a, b, c = rewards(problem, 0), rewards(problem, 1), rewards(problem, 0, replication=1)
    for x, y in ((a, b), (a, c), (a[1:], a[:-1])):
        assert abs(np.corrcoef(x, y)[0, 1]) < 5 / math.sqrt(FEW)


# Replay and gold.


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ({"a": True, "b": False}, "gold must be a list with True, False or None for each arm, got"),
        ([1], "gold must have 2 entries, got 1"),
        ([1, "x"], r"gold\[1\] must be True, False or None, got 'x'"),
        ([1, 2], r"gold\[1\] must be True, False or None, got 2"),
    ],
)
def test_invalid_gold_labels_are_refused(gold, message):
    with pytest.raises((TypeError, ValueError), match=message):
        Problem(means=[0.2, 0.7], threshold=0.5, gold=gold)


def test_a_replayed_arm_on_the_threshold_is_never_wrong():
    problem = Problem.replay([[0, 1], [0, 0, 1], [1, 0]], 0.5)
    assert problem.means.tolist() == pytest.approx([0.5, 1 / 3, 0.5])
    assert problem.free.tolist() == [True, False, True]
    assert problem.hardness == pytest.approx(36.0)
    assert scored(problem)["aggregate_regret"] == 1  # arm 1 is said to be above


def test_a_replay_without_any_arm_that_can_be_wrong_has_no_hardness():
    assert Problem.replay([[0, 1]], 0.5).hardness == 0


def test_the_arm_that_makes_the_hardness_infinite_is_named():
    problem = Problem([Replay([0.0, 1.0]), 0.25, 0.5], 0.5)
    assert problem.free.tolist() == [True, False, False]
    with pytest.raises(ValueError, match=r"got means\[2\] = 0.5"):
        problem.fact("hardness")


def test_agreement_with_gold_is_a_share_of_the_labels_given():
    problem = Problem.replay([[0], [0], [1], [1]], 0.5, gold=[False, True, None, False])
    found = scored(problem)  # labels 0, 1, 0, 1
    assert found["gold_agreement"] == pytest.approx(2 / 3)
    assert found["aggregate_regret"] == 2


def test_replayed_rewards_reach_the_policy():
    problem = Problem.replay([[0.2, 0.3], [0.6, 0.9]], 0.5)
    curves = simulate(problem, {"it": LSA()}, horizon=10, replications=50)
    assert curves.mean("it", "aggregate_regret")[0] == 0.0


# Replay without replacement.

POOLS = [[0.0, 0.25, 0.5, 1.0], [1.0], [0.0, 0.0, 1.0]]


def once(threshold=0.5, **more):
    return Problem.replay(POOLS, threshold, replacement=False, **more)


@pytest.mark.parametrize("arm", [0, 1, 2])
def test_without_replacement_every_sample_comes_once(arm):
    drawn = rewards(once(), arm, len(POOLS[arm]))
    assert sorted(drawn) == POOLS[arm]


@pytest.mark.parametrize("times", [240, pytest.param(1200, marks=pytest.mark.slow)])
def test_without_replacement_every_order_is_equally_likely(times):
    problem = once()
    orders = [tuple(rewards(problem, 0, 4, replication=r)) for r in range(times)]
    found = np.unique(orders, axis=0, return_counts=True)[1]
    assert len(found) == 24
    assert stats.chisquare(found).pvalue > 1e-6


def test_an_arm_whose_samples_are_used_up_shows_their_mean():
    problem = once()
    for arm, pool in enumerate(POOLS):
        drawn = rewards(problem, arm, len(pool) + 3)
        assert drawn[len(pool) :].tolist() == [problem.means[arm]] * 3


def test_the_order_of_an_arm_does_not_depend_on_pulls_of_others():
    environment, problem = InteractiveEnvironment(once(), seed=6), once()
    mixed = {0: [], 1: [], 2: []}
    for arm in (2, 0, 1, 0, 2, 0, 0, 2):
        environment.observe()
        mixed[arm].append(float(environment.respond({"arm": arm})["reward"][()]))
    for arm, drawn in mixed.items():
        assert drawn == rewards(problem, arm, len(drawn)).tolist()


def test_there_are_as_many_rounds_as_samples():
    assert once().rounds == 8
    assert Problem.replay(POOLS, 0.5).rounds is None
    simulate(once(), [LSA()], horizon=8, replications=1)
    with pytest.raises(ValueError, match="horizon must be at most 8, the rounds"):
        simulate(once(), [LSA()], horizon=9, replications=1)


def test_when_all_samples_are_used_no_label_is_wrong():
    pools = [[0.0, 0.0, 1.0, 1.0, 1.0], [1.0, 0.0, 0.0, 0.0, 1.0], [0.2, 0.9, 0.1, 0.1, 0.6]]
    problem = Problem.replay(pools, 0.5, replacement=False)
    curves = simulate(problem, [RoundRobin()], horizon=15, replications=200)
    assert not curves.values("RoundRobin()", "aggregate_regret").any()


def test_gold_is_compared_without_replacement_too():
    found = scored(once(gold=[0, 1, 1]))  # labels 0, 1, 0
    assert found["gold_agreement"] == pytest.approx(2 / 3)


def test_the_repr_names_how_samples_are_drawn():
    assert repr(once()).startswith("Problem(3 replay-once arms, ")
    assert repr(Problem([0.5], 0.5, distribution="truncated-normal", scale=1)).startswith(
        "Problem(1 truncated-normal arms, "
    )


# What is refused.


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Problem([0.2, 1.2], 0.5), r"means\[1\] must lie in \[0, 1\], got 1.2"),
        (lambda: Problem([-0.1], 0.5), r"means\[0\] must lie in \[0, 1\], got -0.1"),
        (lambda: Problem([0.2, math.nan], 0.5), r"means\[1\] must lie in \[0, 1\], got nan"),
        (lambda: Problem([0.2, "x"], 0.5), r"means\[1\] must be a number, got 'x'"),
        (lambda: Problem([], 0.5), "means must have at least one entry, got none"),
        (lambda: Problem("0.5", 0.5), "means must be a list of numbers, got '0.5'"),
        (lambda: Problem(0.5, 0.5), "means must be a list of numbers, got 0.5"),
        (lambda: Problem([[0.1, 0.2]], 0.5), r"means\[0\] must be a number"),
        (lambda: Problem([0.2], 0.0), r"threshold must lie in \(0, 1\), got 0.0"),
        (lambda: Problem([0.2], 1.0), r"threshold must lie in \(0, 1\), got 1.0"),
        (lambda: Problem([0.2], 1.4), r"threshold must lie in \(0, 1\), got 1.4"),
        (lambda: Problem([0.2], math.nan), r"threshold must lie in \(0, 1\), got nan"),
        (lambda: Problem([0.2], None), "threshold must be a number, got None"),
        (
            lambda: Problem([0.2], 0.5, distribution="beat"),
            r"distribution must be one of bernoulli, .*; got 'beat' \(did you mean 'beta'\?\)",
        ),
        (
            lambda: Problem([0.2], 0.5, distribution="beta"),
            "concentration must be given for the distribution 'beta'",
        ),
        (
            lambda: Problem([0.2], 0.5, distribution="beta", concentration=0),
            "concentration must be at least 1e-06, got 0",
        ),
        (
            lambda: Problem([0.2], 0.5, concentration=2),
            "concentration must be left out for the distribution 'bernoulli'",
        ),
        (
            lambda: Problem([0.0], 0.5, distribution="beta", concentration=2),
            r"means\[0\] must lie in \(0, 1\), got 0.0",
        ),
        (lambda: Problem.replay([], 0.5), "samples must have at least one arm, got none"),
        (lambda: Problem.replay("01", 0.5), "samples must be a list for each arm, got '01'"),
        (
            lambda: Problem.replay([[0.1], []], 0.5),
            r"samples\[1\] must have at least one entry, got none",
        ),
        (
            lambda: Problem.replay([[0.1, 3]], 0.5),
            r"samples\[0\]\[1\] must lie in \[0, 1\], got 3",
        ),
        (
            lambda: Problem.replay([[0.1, math.nan]], 0.5),
            r"samples\[0\]\[1\] must lie in \[0, 1\], got nan",
        ),
        (lambda: Problem.replay([0.1], 0.5), r"samples\[0\] must be a list of numbers, got 0.1"),
        (
            lambda: Problem.replay([[0.1]], 0.5, replacement="no"),
            "replacement must be True or False, got 'no'",
        ),
        (lambda: Problem.replay([[0.1]], 0.5, gold=[1, 0]), "gold must have 1 entries, got 2"),
        (
            lambda: Problem.replay([[0.1]], 0.5, gold=[2]),
            r"gold\[0\] must be True, False or None, got 2",
        ),
        (
            lambda: Problem.replay([[0.1]], 0.5, gold=[None]),
            "gold must have at least one entry that is not None",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
