import numpy as np
import pytest
from scipy import stats

from keyhole.contract.state_arrays import Field
from keyhole.distributions import (
    Bernoulli,
    Beta,
    CustomDistribution,
    Replay,
    TabulatedSciPyDistribution,
    TruncatedNormal,
)
from keyhole.distributions.distribution_parser import parse_distribution, parse_reward_distributions
from keyhole.distributions.empirical_distribution import replay_by_name
from keyhole.distributions.reward_distributions import UNIT, truncated_mean
from keyhole.distributions.sampler_dispatch import (
    combine_distributions,
    dispatch_kernel,
    independent_pair_sampler,
    pair_numbers,
)
from keyhole.distributions.scipy_distribution import CELLS
from keyhole.draws.streams import seek_pull, stream, uniform
from keyhole.experiment.setting_registry import BUILT_IN, find_setting

DRAWS = 10_000


def draws(draw, numbers, count=DRAWS, arm=0):
    """Return what a kernel draws, as environments draw it: each from a stretch of its own."""
    rng, found = stream(11), []
    for n in range(count):
        seek_pull(rng, arm, n)
        found.append(draw(rng, np.asarray(numbers, np.float64)))
    return np.array(found)


def larger(rng, numbers):
    return max(uniform(rng), uniform(rng))


DISTRIBUTIONS = {
    "bernoulli": Bernoulli(0.3),
    "certain": Bernoulli(1.0),
    "beta": Beta(0.75, 1.75),
    "narrow": TruncatedNormal(0.97, scale=0.05),
    "wide": TruncatedNormal(0.45, scale=2.0),
    "outside": TruncatedNormal(0.12, scale=0.3),
    "replay": Replay([0.0, 1.0, 0.25]),
    "own": CustomDistribution(larger, mean=2 / 3, variance=1 / 18),
    "table": TabulatedSciPyDistribution(stats.triang(0.25)),
    "steps": TabulatedSciPyDistribution(stats.binom(7, 0.3)),
    "listed": TabulatedSciPyDistribution(stats.rv_discrete(values=([5, 1, 3], [0.2, 0.5, 0.3]))),
    "endless": TabulatedSciPyDistribution(stats.nbinom(3, 0.25)),
}


@pytest.mark.parametrize("distribution", DISTRIBUTIONS.values(), ids=DISTRIBUTIONS)
def test_draws_have_the_moments_and_keep_within_the_ends(distribution):
    found = draws(distribution.draw, distribution.numbers)
    assert (
        abs(found.mean() - distribution.mean) <= 5 * np.sqrt(distribution.variance / DRAWS) + 1e-12
    )
    squares = (found - distribution.mean) ** 2
    assert abs(squares.mean() - distribution.variance) <= 5 * squares.std() / np.sqrt(DRAWS) + 1e-12
    assert found.min() >= distribution.least
    assert found.max() <= distribution.bound
    assert not distribution.whole or (found == np.floor(found)).all()


@pytest.mark.parametrize("name", ["narrow", "wide", "outside"])
def test_truncated_normal_draws_follow_their_distribution(name):
    distribution = DISTRIBUTIONS[name]
    low, high = (
        -distribution.centre / distribution.scale,
        (1 - distribution.centre) / distribution.scale,
    )
    known = stats.truncnorm(low, high, loc=distribution.centre, scale=distribution.scale)
    assert known.mean() == pytest.approx(distribution.mean, abs=1e-9)
    assert known.var() == pytest.approx(distribution.variance, rel=1e-6)
    assert stats.kstest(draws(distribution.draw, distribution.numbers), known.cdf).pvalue > 1e-6


def test_both_ways_to_propose_are_used():
    assert DISTRIBUTIONS["narrow"].numbers[2] == 0
    assert DISTRIBUTIONS["wide"].numbers[2] == 1


def test_beta_draws_follow_their_distribution():
    distribution = DISTRIBUTIONS["beta"]
    assert (
        stats.kstest(
            draws(distribution.draw, distribution.numbers), stats.beta(0.75, 1.75).cdf
        ).pvalue
        > 1e-6
    )


@pytest.mark.parametrize("scale", [0.001, 0.1, 1.0, 10.0])
def test_the_truncated_mean_is_that_of_scipy(scale):
    for centre in np.linspace(-3 * scale, 1 + 3 * scale, 41):
        distribution = stats.truncnorm(
            -centre / scale, (1 - centre) / scale, loc=centre, scale=scale
        )
        assert truncated_mean(centre, scale) == pytest.approx(distribution.mean(), abs=1e-9)


@pytest.mark.parametrize(
    "distribution",
    [stats.poisson(20), stats.nbinom(3, 0.1), stats.binom(9, 0.4), stats.randint(2, 9)],
    ids=lambda distribution: distribution.dist.name,
)
def test_a_discrete_table_is_exact(distribution):
    table = TabulatedSciPyDistribution(distribution)
    assert table.mean == pytest.approx(distribution.mean(), rel=1e-9)
    assert table.variance == pytest.approx(distribution.var(), rel=1e-9)
    count = len(table.numbers) // 2
    values, below = table.numbers[:count], table.numbers[count:]
    assert np.abs(below - distribution.cdf(values)).max() <= max(table.error, 1e-12)
    assert table.error <= 2e-15


@pytest.mark.parametrize(
    "distribution",
    [stats.beta(2, 5), stats.uniform(), stats.beta(0.5, 0.5), stats.expon(scale=3)],
    ids=["beta", "uniform", "ends", "endless"],
)
def test_a_continuous_table_keeps_its_error(distribution):
    table = TabulatedSciPyDistribution(distribution)
    places = np.linspace(0, 1, 20 * CELLS + 1)
    x = np.interp(places, np.linspace(0, 1, CELLS + 1), table.numbers)
    at = places[np.searchsorted(x, x, side="right") - 1]
    assert np.abs(at - distribution.cdf(x)).max() <= table.error + 1e-12
    assert table.error == 1 / CELLS


def test_a_continuous_table_knows_its_density():
    table = TabulatedSciPyDistribution(stats.gamma(3))
    x = np.linspace(0.3, 9.0, 500)
    assert np.abs(table.density(x) - stats.gamma(3).pdf(x)).max() < 2e-3
    cells = np.diff(table.numbers)
    middles = table.numbers[:-1] + cells / 2
    assert (table.density(middles) * cells).sum() == pytest.approx(1.0)
    assert table.density(np.array([-1.0, 1e9])).tolist() == [0.0, 0.0]


def test_several_distributions_share_one_kernel():
    distributions = [Bernoulli(0.3), Replay([0.5, 0.75]), Bernoulli(1.0)]
    found = combine_distributions(distributions)
    for distribution, row in zip(distributions, found.rows, strict=True):
        assert (
            draws(found.draw, row, 200) == draws(distribution.draw, distribution.numbers, 200)
        ).all()
    truth = found.truth()
    for row, start, end in zip(found.rows, truth["starts"], truth["ends"], strict=True):
        assert (truth["numbers"][start:end] == row).all()


@pytest.mark.parametrize("setting", BUILT_IN)
def test_no_two_parts_of_an_environment_have_one_name_for_two_things(setting):
    for environment in find_setting(setting).environments:
        names = [
            n for base in environment.__mro__ for n, v in vars(base).items() if isinstance(v, Field)
        ]
        assert len(set(names)) == len(names), environment


def test_distributions_of_one_kind_have_the_kernel_of_that_kind():
    assert combine_distributions([Bernoulli(0.3), Bernoulli(0.4)]).draw is Bernoulli.draw
    assert dispatch_kernel((Bernoulli.draw, Beta.draw)) is dispatch_kernel(
        (Bernoulli.draw, Beta.draw)
    )


def test_a_pair_draws_one_after_the_other():
    first, second = Beta(2, 3), Replay([4.0, 5.0, 6.0])
    both = draws(
        independent_pair_sampler(first.draw, second.draw),
        pair_numbers(first.numbers, second.numbers),
        300,
    )
    assert (both[:, 0] == draws(first.draw, first.numbers, 300)).all()
    assert set(both[:, 1]) == {4.0, 5.0, 6.0}


def test_means_stand_for_distributions_and_stay_as_they_were_given():
    means, distributions, names = parse_reward_distributions(
        [0.1, stats.beta(2, 6), Replay([0, 1])], "beta", concentration=7.0, scale=None
    )
    assert means.tolist() == [0.1, distributions[1].mean, 0.5]
    assert distributions[0] == Beta(0.1 * 7.0, 0.9 * 7.0)
    assert names is None


def too_rich(rng, numbers):
    return 2 * uniform(rng)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], "beta", None, None), "concentration must be given for the distribution 'beta'"),
        (
            ([0.5], "bernoulli", 2.0, None),
            "concentration must be left out for the distribution 'bernoulli'",
        ),
        (([0.5], "truncated-normal", None, None), "scale must be given"),
        (([0.5], "beta", 1e-9, None), "concentration must be at least 1e-06, got 1e-09"),
        (([0.0], "beta", 2.0, None), r"means\[0\] must lie in \(0, 1\), got 0"),
        (([0.99], "truncated-normal", None, 0.001), None),
        (([0.0001], "truncated-normal", None, 1.0), r"means\[0\] must lie in \[0\.\d+, 0\.\d+\]"),
        (([0.5], "truncated-normal", None, 0.0), r"scale must lie in \[0\.001, 10\], got 0"),
        (
            ([0.5], "normal", None, None),
            "distribution must be one of bernoulli, beta, truncated-normal",
        ),
        (([1.5], "bernoulli", None, None), r"means\[0\] must lie in \[0, 1\], got 1\.5"),
        (([], "bernoulli", None, None), "means must have at least one entry, got none"),
        (
            ([stats.norm()], "bernoulli", None, None),
            r"means\[0\] must be a distribution of values that lie",
        ),
        (
            ([stats.poisson(1)], "bernoulli", None, None),
            r"means\[0\] must be a distribution of values",
        ),
        (
            ([{"distribution": "Bta"}], "bernoulli", None, None),
            r"means\[0\]\.distribution must be .*mean 'Beta'",
        ),
        (
            ([{"distribution": "Beta", "a": 2}], "bernoulli", None, None),
            r"means\[0\]\.b must be given",
        ),
        (
            ([CustomDistribution(too_rich, mean=1.0)], "bernoulli", None, None),
            r"means\[0\]: what draw draws must lie in \[0, 1\], got 1",
        ),
        ((["half"], "bernoulli", None, None), r"means\[0\] must be a number, got 'half'"),
    ],
)
def test_bad_distributions_of_rewards_are_named(arguments, message):
    means, distribution, concentration, scale = arguments
    if message is None:
        parse_reward_distributions(means, distribution, concentration=concentration, scale=scale)
        return
    with pytest.raises((TypeError, ValueError), match=message):
        parse_reward_distributions(means, distribution, concentration=concentration, scale=scale)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replay_by_name([]), "samples must have at least one arm"),
        (
            lambda: replay_by_name([[0.5], [2.0]], UNIT),
            r"samples\[1\]\[0\] must lie in \[0, 1\], got 2",
        ),
        (
            lambda: CustomDistribution(larger, mean=0.5),
            "mean must agree with the draws, got 0.5; of 1,",
        ),
        (
            lambda: CustomDistribution(larger, mean=2 / 3, variance=0.5),
            "variance must agree with the draws",
        ),
        (
            lambda: CustomDistribution(min, mean=0.5),
            "a kernel must be a function written in Python",
        ),
        (
            lambda: TabulatedSciPyDistribution(stats.zipf(2.0)),
            "distribution must have all but .* of its mass on at most",
        ),
        (
            lambda: TabulatedSciPyDistribution(0.5),
            "distribution must be a frozen distribution of scipy.stats, got 0.5",
        ),
        (
            lambda: parse_distribution("delay", 5, TabulatedSciPyDistribution, {}),
            "delay must be a distribution, .*; got 5",
        ),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
