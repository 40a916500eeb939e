"""Every sampler against SciPy's distribution of the same name."""

import math

import numpy as np
import pytest
from scipy import stats

from keyhole.core import samplers
from keyhole.core.jit import kernel
from keyhole.core.streams import stream

N = 200_000
# With fixed seeds a test passes always or never; one in ten thousand is what chance would fail.
P_VALUE = 1e-4


def loop_of(sampler, parameters):
    """Return the compiled loop that fills an array with draws."""
    if parameters == 0:

        @kernel
        def loop(rng, out):
            for i in range(len(out)):
                out[i] = sampler(rng)

    elif parameters == 1:

        @kernel
        def loop(rng, out, a):
            for i in range(len(out)):
                out[i] = sampler(rng, a)

    else:

        @kernel
        def loop(rng, out, a, b):
            for i in range(len(out)):
                out[i] = sampler(rng, a, b)

    return loop


LOOPS = {}


def draws(name, *parameters, n=N, replication=0):
    """Return n draws of a sampler from the stream of seed 0."""
    if name not in LOOPS:
        LOOPS[name] = loop_of(getattr(samplers, name), len(parameters))
    out = np.empty(n)
    LOOPS[name](stream(0, replication), out, *parameters)
    return out


CONTINUOUS = [
    ("normal", (), stats.norm()),
    ("exponential", (), stats.expon()),
    *(("gamma", (a,), stats.gamma(a)) for a in (0.05, 0.5, 1.0, 2.5, 100.0)),
    *(
        ("beta", (a, b), stats.beta(a, b))
        for a, b in ((0.5, 0.5), (1.0, 1.0), (2.0, 5.0), (0.3, 4.0), (300.0, 700.0))
    ),
]


@pytest.mark.parametrize(("name", "parameters", "law"), CONTINUOUS)
def test_continuous_draws_follow_their_law(name, parameters, law):
    sample = draws(name, *parameters)
    assert np.isfinite(sample).all()
    assert stats.kstest(sample, law.cdf).pvalue > P_VALUE
    assert abs(sample.mean() - law.mean()) < 5 * law.std() / math.sqrt(N)
    # The standard error of a variance, from the law's kurtosis.
    error = law.var() * math.sqrt((float(law.stats(moments="k")) + 2) / N)
    assert abs(sample.var() - law.var()) < 5 * error


DISCRETE = [
    *(("bernoulli", (p,), stats.bernoulli(p)) for p in (0.0, 0.3, 1.0)),
    *(
        ("binomial", (n, p), stats.binom(n, p))
        for n, p in (
            (0, 0.5), (1, 0.4), (10, 0.3), (10, 0.0), (10, 1.0), (30, 0.9), (1000, 0.5),
            (100, 0.101), (10**6, 0.001),
        )
    ),
    *(("poisson", (m,), stats.poisson(m)) for m in (0.0, 0.1, 5.0, 9.9, 10.0, 30.0, 1e4)),
    *(("geometric", (p,), stats.geom(p)) for p in (0.9, 0.1, 1e-4)),
]  # fmt: skip


def chi_square(sample, law):
    """Return the p-value of a chi-square test, cells pooled to 50 expected draws or more."""
    low, high = int(sample.min()), int(sample.max())
    edges = np.unique(np.concatenate([[low - 1], law.ppf(np.linspace(0.001, 0.999, 60)), [high]]))
    chances = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    counts = np.diff(
        np.concatenate([[0], np.searchsorted(np.sort(sample), edges, "right"), [len(sample)]])
    )
    found, expected = [0.0], [0.0]
    for count, chance in zip(counts, chances, strict=True):
        if expected[-1] >= 50:
            found.append(0.0)
            expected.append(0.0)
        found[-1] += count
        expected[-1] += chance * len(sample)
    if len(found) > 1 and expected[-1] < 50:
        found[-2] += found.pop()
        expected[-2] += expected.pop()
    if len(found) == 1:
        return 1.0
    return stats.chisquare(found, expected, sum_check=False).pvalue


@pytest.mark.parametrize(("name", "parameters", "law"), DISCRETE)
def test_discrete_draws_follow_their_law(name, parameters, law):
    sample = draws(name, *parameters)
    assert (sample == np.floor(sample)).all()
    assert law.pmf(np.unique(sample)).all()  # nothing impossible
    if law.std() == 0:
        assert (sample == law.mean()).all()
        return
    assert chi_square(sample, law) > P_VALUE
    assert abs(sample.mean() - law.mean()) < 5 * law.std() / math.sqrt(N)


def test_the_chi_square_can_fail():
    sample = stats.poisson(5.1).rvs(N, random_state=0)
    assert chi_square(sample, stats.poisson(5.0)) < P_VALUE


def test_the_normal_tail_beyond_the_last_strip_has_its_weight():
    n, edge = 20_000_000, samplers._NORMAL_EDGE
    sample = draws("normal", n=n)
    beyond = np.abs(sample[np.abs(sample) > edge])
    chance = 2 * stats.norm.sf(edge)
    assert abs(len(beyond) - n * chance) < 5 * math.sqrt(n * chance)
    law = stats.truncnorm(edge, np.inf)
    assert stats.kstest(beyond, law.cdf).pvalue > P_VALUE
    assert abs((sample > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(n)


@pytest.mark.parametrize(("a", "b"), [(0.01, 0.02), (1e-4, 1e-4), (1e-3, 5.0), (1e6, 1e-3)])
def test_beta_with_tiny_shapes_is_a_number_with_the_right_mean(a, b):
    sample = draws("beta", a, b)
    law = stats.beta(a, b)
    assert np.isfinite(sample).all()
    assert ((sample >= 0) & (sample <= 1)).all()
    assert abs(sample.mean() - law.mean()) < 5 * law.std() / math.sqrt(N) + 1e-12


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("normal", ()), ("exponential", ()), ("gamma", (0.5,)), ("beta", (2.0, 3.0)),
     ("binomial", (50, 0.4)), ("poisson", (3.0,)), ("geometric", (0.2,))],
)  # fmt: skip
def test_neighbouring_replications_are_independent(name, parameters):
    a, b = (draws(name, *parameters, replication=r) for r in (3, 4))
    assert abs(np.corrcoef(a, b)[0, 1]) < 5 / math.sqrt(N)
    assert abs(np.corrcoef(a[:-1], a[1:])[0, 1]) < 5 / math.sqrt(N)


def test_a_sure_success_takes_one_trial():
    assert (draws("geometric", 1.0) == 1).all()


def test_bernoulli_uses_one_draw():
    rng = stream(0)
    before = int(rng[0])
    samplers.bernoulli(rng, 0.5)
    after = int(rng[0])
    assert (after - before) % 2**64 == 0x9E3779B97F4A7C15
