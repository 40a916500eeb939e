"""Distributions of the user's own, and of SciPy, in every setting."""

import numpy as np
import pytest
from scipy import stats

from keyhole import delayed, resource, semibandit, simulate, stochastic, threshold, thresholding
from keyhole.draws.streams import uniform
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.testing import check_problem

pytestmark = pytest.mark.interpreted


def larger(rng, numbers):
    return max(uniform(rng), uniform(rng))


def dice(rng, numbers):
    return int(3 * uniform(rng)) + int(2 * uniform(rng))


def late(rng, numbers):
    return float(int(numbers[0] * uniform(rng)))


def weather(rng, numbers, losses):
    rain = uniform(rng) < numbers[0]
    for arm in range(len(losses)):
        losses[arm] = 1.0 if rain and uniform(rng) < 0.5 else 0.0


OWN = stochastic.CustomDistribution(larger, mean=2 / 3)
STOCHASTIC = stochastic.Problem([0.3, OWN, stats.triang(0.25)])
THRESHOLDING = thresholding.Problem([OWN, stats.bernoulli(0.4)], 0.5)
DELAYED = delayed.Problem(
    [OWN, 0.4], stats.nbinom(3, 0.25), feedback="named", distribution="beta", concentration=3.0
)
THRESHOLD = threshold.Problem(
    [threshold.CustomDistribution(dice, [5 / 6, 1 / 2, 1 / 6]), stats.binom(5, 0.3)],
    feedback="uncensored",
)
SEMIBANDIT = semibandit.Problem(
    semibandit.CustomDistribution(weather, [0.2, 0.2, 0.2], numbers=[0.4]),
    thresholds=0.5,
    resource=1,
)
RESOURCE = resource.Problem(
    [resource.IndependentPair(stats.beta(2, 5), stats.gamma(3)), resource.BetaExponential(5, 5, 1)],
    limits=[1.0, 2.0, 4.0],
    cost=resource.Power(slope=0.1),
    penalty=resource.Power(slope=0.01),
)
SETTINGS = {
    "stochastic": (STOCHASTIC, stochastic.RoundRobin()),
    "thresholding": (THRESHOLDING, thresholding.RoundRobin()),
    "delayed": (DELAYED, delayed.DelayedUCB1()),
    "threshold": (THRESHOLD, threshold.RoundRobin()),
    "semibandit": (SEMIBANDIT, semibandit.MPTS(m=1)),
    "resource": (RESOURCE, resource.RCUCB()),
}


@pytest.mark.parametrize(("problem", "policy"), SETTINGS.values(), ids=SETTINGS)
def test_a_problem_with_distributions_from_outside_keeps_the_contract(problem, policy):
    check_problem(problem, policy, horizon=30)


LATE = delayed.Problem(
    [1.0],
    delayed.CustomDistribution(late, mean=2.0, numbers=[5.0], bound=4.0),
    feedback="named",
)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    ("problem", "policy"),
    [*SETTINGS.values(), (LATE, delayed.DelayedUCB1())],
    ids=[*SETTINGS, "own delays"],
)
def test_compiled_and_interpreted_kernels_draw_the_same(problem, policy):
    compiled, other = (
        simulate(
            problem, {"it": policy}, horizon=30, replications=4, details=True, interpreted=mode
        )
        for mode in (False, True)
    )
    for metric in compiled.metrics:
        assert np.array_equal(compiled.values("it", metric), other.values("it", metric))


def test_what_is_earned_has_the_means_of_the_distributions():
    rounds, times = 100, 50
    curves = simulate(
        STOCHASTIC, [stochastic.RoundRobin()], horizon=rounds, replications=times, details=True
    )
    variances = np.array([distribution.variance for distribution in STOCHASTIC.distributions])
    error = np.sqrt(rounds * variances.mean() / times)
    found = curves.mean("RoundRobin", "cumulative_reward")[-1]
    assert abs(found - rounds * STOCHASTIC.means.mean()) <= 5 * error


def test_samples_have_the_survival_functions_of_the_distributions():
    assert THRESHOLD.levels == 3
    assert THRESHOLD.survival[1] == pytest.approx(stats.binom(5, 0.3).sf([0, 1, 2]))
    rounds, times = 300, 50
    curves = simulate(
        THRESHOLD, [threshold.RoundRobin()], horizon=rounds, replications=times, details=True
    )
    share, error = THRESHOLD.survival.mean(), 0.5 / np.sqrt(rounds * times)
    assert abs(curves.mean("RoundRobin", "reached_share")[-1] - share) <= 5 * error


def test_delays_of_scipy_arrive_when_they_say():
    named = delayed.Problem([1.0], stats.randint(2, 5), feedback="named")
    assert (named.delay.mean, named.delay.bound) == (3.0, 4.0)
    rounds, error = 3_000, np.sqrt(2 / 3 / 3_000)
    environment, due = InteractiveEnvironment(named, seed=3, horizon=rounds), []
    for t in range(rounds):
        environment.observe()
        due += [t] * int(environment.respond({"arm": 0})["count"])
    # Of n rewards that arrive, the sum of rounds exceeds that of pulls by the delays.
    assert abs(np.mean(due) - np.mean(np.arange(len(due))) - 3.0) <= 5 * error + 0.01


def test_losses_of_a_day_depend_on_each_other():
    environment, days = InteractiveEnvironment(SEMIBANDIT, seed=2), []
    for _ in range(4_000):
        environment.observe()
        days.append(environment.respond({"allocation": np.zeros(3)})["losses"].copy())
    together = np.mean([day[0] * day[1] for day in days])
    assert abs(together - 0.1) <= 5 * np.sqrt(0.1 * 0.9 / 4_000)
    assert np.abs(np.mean(days, axis=0) - 0.2).max() <= 5 * np.sqrt(0.2 * 0.8 / 4_000)


def test_pairs_of_scipy_distributions_are_worth_what_is_drawn():
    environment, limit = InteractiveEnvironment(RESOURCE, seed=4), 2.0
    worth = []
    for _ in range(4_000):
        got = environment.respond({"arm": 0, "limit": limit})
        gain = got["reward"] - 0.1 * got["consumption"]
        worth.append(-0.01 * limit if got["exceeded"] else float(gain))
    assert abs(np.mean(worth) - RESOURCE.gains[0, 1]) <= 5 * np.std(worth) / np.sqrt(4_000)
    assert 1 - RESOURCE.censoring[0, 1] == pytest.approx(stats.gamma(3).cdf(limit), abs=1e-3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: delayed.Problem([0.5], stats.expon()),
            "delay must be a distribution of whole numbers",
        ),
        (
            lambda: delayed.Problem([0.5], stats.poisson(3, loc=-9)),
            "delay must be a distribution of values",
        ),
        (lambda: delayed.Problem([0.5], OWN), "delay must be a distribution of whole numbers"),
        (
            lambda: threshold.Problem([stats.poisson(3)], feedback="censored"),
            "levels must be given",
        ),
        (
            lambda: threshold.Problem([[0.5], [0.5, 0.2]], feedback="censored"),
            r"survival\[1\] must have as many levels",
        ),
        (
            lambda: threshold.CustomDistribution(dice, [0.99, 0.5, 0.1]),
            r"survival\[0\] must agree with the draws",
        ),
        (
            lambda: threshold.CustomDistribution(dice, [0.9, 0.5]),
            r"what draw draws\[\d+\] must lie in \[0, 2",
        ),
        (lambda: threshold.CustomDistribution(larger, [0.9]), "draw must return whole numbers"),
        (
            lambda: semibandit.CustomDistribution(weather, [0.5], numbers=[0.4]),
            r"mean_losses\[0\] must agree with the draws",
        ),
        (
            lambda: resource.IndependentPair(0.5, stats.gamma(3)),
            "reward must be a distribution, such as one of Bernoulli",
        ),
        (
            lambda: resource.IndependentPair(stats.beta(2, 5), stats.norm()),
            "consumption must be a distribution of values that be at least 0",
        ),
        (
            lambda: resource.IndependentPair(stats.beta(2, 5), stats.poisson(2)),
            "consumption must be a continuous distribution",
        ),
        (lambda: delayed.Problem([0.5], None), "delay must be a distribution of delays, got None"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_a_distribution_of_delays_may_be_ones_own():
    environment = InteractiveEnvironment(LATE, seed=3, horizon=500)
    arrived = 0
    for _ in range(500):
        environment.observe()
        arrived += int(environment.respond({"arm": 0})["count"])
    assert 496 <= arrived <= 500
