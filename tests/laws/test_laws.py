import numpy as np
import pytest
from scipy import stats

from keyhole.contract.memory import Field
from keyhole.draws.streams import seek, stream, uniform
from keyhole.experiment.rooms import OURS, find
from keyhole.laws import Bernoulli, Beta, Replay, Sampler, Tabulated, TruncatedNormal
from keyhole.laws.arms import law_of, rewards_of
from keyhole.laws.gathered import gathered, one_of, pair_of, paired
from keyhole.laws.replay import replayed
from keyhole.laws.rewards import UNIT, truncated_mean
from keyhole.laws.tables import CELLS

DRAWS = 10_000


def draws(draw, numbers, count=DRAWS, arm=0):
    """Return what a kernel draws, as worlds draw it: each from a stretch of its own."""
    rng, found = stream(11), []
    for n in range(count):
        seek(rng, arm, n)
        found.append(draw(rng, np.asarray(numbers, np.float64)))
    return np.array(found)


def larger(rng, numbers):
    return max(uniform(rng), uniform(rng))


LAWS = {
    "bernoulli": Bernoulli(0.3),
    "certain": Bernoulli(1.0),
    "beta": Beta(0.75, 1.75),
    "narrow": TruncatedNormal(0.97, scale=0.05),
    "wide": TruncatedNormal(0.45, scale=2.0),
    "outside": TruncatedNormal(0.12, scale=0.3),
    "replay": Replay([0.0, 1.0, 0.25]),
    "own": Sampler(larger, mean=2 / 3, variance=1 / 18),
    "table": Tabulated(stats.triang(0.25)),
    "steps": Tabulated(stats.binom(7, 0.3)),
    "listed": Tabulated(stats.rv_discrete(values=([5, 1, 3], [0.2, 0.5, 0.3]))),
    "endless": Tabulated(stats.nbinom(3, 0.25)),
}


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
def test_draws_have_the_moments_and_keep_within_the_ends(law):
    found = draws(law.draw, law.numbers)
    assert abs(found.mean() - law.mean) <= 5 * np.sqrt(law.variance / DRAWS) + 1e-12
    squares = (found - law.mean) ** 2
    assert abs(squares.mean() - law.variance) <= 5 * squares.std() / np.sqrt(DRAWS) + 1e-12
    assert found.min() >= law.least
    assert found.max() <= law.bound
    assert not law.whole or (found == np.floor(found)).all()


@pytest.mark.parametrize("name", ["narrow", "wide", "outside"])
def test_truncated_normal_draws_follow_their_law(name):
    law = LAWS[name]
    low, high = -law.centre / law.scale, (1 - law.centre) / law.scale
    known = stats.truncnorm(low, high, loc=law.centre, scale=law.scale)
    assert known.mean() == pytest.approx(law.mean, abs=1e-9)
    assert known.var() == pytest.approx(law.variance, rel=1e-6)
    assert stats.kstest(draws(law.draw, law.numbers), known.cdf).pvalue > 1e-6


def test_both_ways_to_propose_are_used():
    assert LAWS["narrow"].numbers[2] == 0
    assert LAWS["wide"].numbers[2] == 1


def test_beta_draws_follow_their_law():
    law = LAWS["beta"]
    assert stats.kstest(draws(law.draw, law.numbers), stats.beta(0.75, 1.75).cdf).pvalue > 1e-6


@pytest.mark.parametrize("scale", [0.001, 0.1, 1.0, 10.0])
def test_the_truncated_mean_is_that_of_scipy(scale):
    for centre in np.linspace(-3 * scale, 1 + 3 * scale, 41):
        law = stats.truncnorm(-centre / scale, (1 - centre) / scale, loc=centre, scale=scale)
        assert truncated_mean(centre, scale) == pytest.approx(law.mean(), abs=1e-9)


@pytest.mark.parametrize(
    "law",
    [stats.poisson(20), stats.nbinom(3, 0.1), stats.binom(9, 0.4), stats.randint(2, 9)],
    ids=lambda law: law.dist.name,
)
def test_a_discrete_table_is_exact(law):
    table = Tabulated(law)
    assert table.mean == pytest.approx(law.mean(), rel=1e-9)
    assert table.variance == pytest.approx(law.var(), rel=1e-9)
    count = len(table.numbers) // 2
    values, below = table.numbers[:count], table.numbers[count:]
    assert np.abs(below - law.cdf(values)).max() <= max(table.error, 1e-12)
    assert table.error <= 2e-15


@pytest.mark.parametrize(
    "law",
    [stats.beta(2, 5), stats.uniform(), stats.beta(0.5, 0.5), stats.expon(scale=3)],
    ids=["beta", "uniform", "ends", "endless"],
)
def test_a_continuous_table_keeps_its_error(law):
    table = Tabulated(law)
    places = np.linspace(0, 1, 20 * CELLS + 1)
    x = np.interp(places, np.linspace(0, 1, CELLS + 1), table.numbers)
    at = places[np.searchsorted(x, x, side="right") - 1]
    assert np.abs(at - law.cdf(x)).max() <= table.error + 1e-12
    assert table.error == 1 / CELLS


def test_a_continuous_table_knows_its_density():
    table = Tabulated(stats.gamma(3))
    x = np.linspace(0.3, 9.0, 500)
    assert np.abs(table.density(x) - stats.gamma(3).pdf(x)).max() < 2e-3
    cells = np.diff(table.numbers)
    middles = table.numbers[:-1] + cells / 2
    assert (table.density(middles) * cells).sum() == pytest.approx(1.0)
    assert table.density(np.array([-1.0, 1e9])).tolist() == [0.0, 0.0]


def test_several_laws_share_one_kernel():
    laws = [Bernoulli(0.3), Replay([0.5, 0.75]), Bernoulli(1.0)]
    found = gathered(laws)
    for law, row in zip(laws, found.rows, strict=True):
        assert (draws(found.draw, row, 200) == draws(law.draw, law.numbers, 200)).all()
    truth = found.truth()
    for row, start, end in zip(found.rows, truth["starts"], truth["ends"], strict=True):
        assert (truth["numbers"][start:end] == row).all()


@pytest.mark.parametrize("setting", OURS)
def test_no_two_parts_of_a_world_have_one_name_for_two_things(setting):
    for world in find(setting).worlds:
        names = [n for base in world.__mro__ for n, v in vars(base).items() if isinstance(v, Field)]
        assert len(set(names)) == len(names), world


def test_laws_of_one_kind_have_the_kernel_of_that_kind():
    assert gathered([Bernoulli(0.3), Bernoulli(0.4)]).draw is Bernoulli.draw
    assert one_of((Bernoulli.draw, Beta.draw)) is one_of((Bernoulli.draw, Beta.draw))


def test_a_pair_draws_one_after_the_other():
    first, second = Beta(2, 3), Replay([4.0, 5.0, 6.0])
    both = draws(pair_of(first.draw, second.draw), paired(first.numbers, second.numbers), 300)
    assert (both[:, 0] == draws(first.draw, first.numbers, 300)).all()
    assert set(both[:, 1]) == {4.0, 5.0, 6.0}


def test_means_stand_for_laws_and_stay_as_they_were_given():
    means, laws = rewards_of(
        [0.1, stats.beta(2, 6), Replay([0, 1])], "beta", concentration=7.0, scale=None
    )
    assert means.tolist() == [0.1, laws[1].mean, 0.5]
    assert laws[0] == Beta(0.1 * 7.0, 0.9 * 7.0)


def too_rich(rng, numbers):
    return 2 * uniform(rng)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], "beta", None, None), "concentration must be given for the law 'beta'"),
        (([0.5], "bernoulli", 2.0, None), "concentration must be left out for the law 'bernoulli'"),
        (([0.5], "truncated-normal", None, None), "scale must be given"),
        (([0.5], "beta", 1e-9, None), "concentration must be at least 1e-06, got 1e-09"),
        (([0.0], "beta", 2.0, None), r"means\[0\] must lie in \(0, 1\), got 0"),
        (([0.99], "truncated-normal", None, 0.001), None),
        (([0.0001], "truncated-normal", None, 1.0), r"means\[0\] must lie in \[0\.\d+, 0\.\d+\]"),
        (([0.5], "truncated-normal", None, 0.0), r"scale must lie in \[0\.001, 10\], got 0"),
        (([0.5], "normal", None, None), "law must be one of bernoulli, beta, truncated-normal"),
        (([1.5], "bernoulli", None, None), r"means\[0\] must lie in \[0, 1\], got 1\.5"),
        (([], "bernoulli", None, None), "means must have at least one entry, got none"),
        (([stats.norm()], "bernoulli", None, None), r"means\[0\] must be a law of values that lie"),
        (([stats.poisson(1)], "bernoulli", None, None), r"means\[0\] must be a law of values"),
        (([{"law": "Bta"}], "bernoulli", None, None), r"means\[0\]\.law must be .*mean 'Beta'"),
        (([{"law": "Beta", "a": 2}], "bernoulli", None, None), r"means\[0\]\.b must be given"),
        (
            ([Sampler(too_rich, mean=1.0)], "bernoulli", None, None),
            r"means\[0\]: what draw draws must lie in \[0, 1\], got 1",
        ),
        ((["half"], "bernoulli", None, None), r"means\[0\] must be a number, got 'half'"),
    ],
)
def test_bad_laws_of_rewards_are_named(arguments, message):
    means, law, concentration, scale = arguments
    if message is None:
        rewards_of(means, law, concentration=concentration, scale=scale)
        return
    with pytest.raises((TypeError, ValueError), match=message):
        rewards_of(means, law, concentration=concentration, scale=scale)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: replayed([]), "samples must have at least one arm"),
        (lambda: replayed([[0.5], [2.0]], UNIT), r"samples\[1\]\[0\] must lie in \[0, 1\], got 2"),
        (lambda: Sampler(larger, mean=0.5), "mean must be that of what draw draws, got 0.5; of 1,"),
        (lambda: Sampler(larger, mean=2 / 3, variance=0.5), "variance must be that of what draw"),
        (lambda: Sampler(min, mean=0.5), "a kernel must be a function written in Python"),
        (lambda: Tabulated(stats.zipf(2.0)), "law must have all but .* of its mass on at most"),
        (lambda: Tabulated(0.5), "law must be a frozen distribution of scipy.stats, got 0.5"),
        (lambda: law_of("delay", 5, Tabulated, {}), "delay must be a law, .*; got 5"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
