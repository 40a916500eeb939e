"""Every sampler against SciPy's distribution of the same name."""

import math

import numpy as np
import pytest
from scipy import stats

from keyhole.draws import samplers
from keyhole.draws.streams import ENVIRONMENT, POLICY, next_uint64, stream, uniform
from keyhole.kernels.kernel_decorators import kernel

N = 100_000
MANY = pytest.mark.parametrize(
    "n", [N, pytest.param(1_000_000, marks=pytest.mark.slow)], ids=["few", "many"]
)
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


def draws(name, *parameters, n=N, replication=0, purpose=POLICY):
    """Return n draws of a sampler from a stream of seed 0."""
    if name not in LOOPS:
        LOOPS[name] = loop_of(getattr(samplers, name), len(parameters))
    out = np.empty(n)
    LOOPS[name](stream(0, replication, purpose), out, *parameters)
    return out


def assert_moments(sample, distribution):
    """Compare mean and variance within five standard errors."""
    assert abs(sample.mean() - distribution.mean()) < 5 * distribution.std() / math.sqrt(
        len(sample)
    )
    # The standard error of a variance, from the distribution's kurtosis.
    error = distribution.var() * math.sqrt(
        (float(distribution.stats(moments="k")) + 2) / len(sample)
    )
    assert abs(sample.var() - distribution.var()) < 5 * error


CONTINUOUS = [
    ("normal", (), stats.norm()),
    ("exponential", (), stats.expon()),
    *(("gamma", (a,), stats.gamma(a)) for a in (0.05, 0.5, 0.99, 1.0, 2.5, 100.0)),
    *(
        ("beta", (a, b), stats.beta(a, b))
        for a, b in ((0.5, 0.5), (1.0, 1.0), (2.0, 5.0), (0.3, 4.0), (4.0, 0.3), (300.0, 700.0))
    ),
]


@pytest.mark.parametrize(("name", "parameters", "distribution"), CONTINUOUS)
@MANY
def test_continuous_draws_follow_their_distribution(name, parameters, distribution, n):
    sample = draws(name, *parameters, n=n)
    assert np.isfinite(sample).all()
    assert stats.kstest(sample, distribution.cdf).pvalue > P_VALUE
    assert_moments(sample, distribution)


DISCRETE = [
    *(("bernoulli", (p,), stats.bernoulli(p)) for p in (0.0, 0.3, 1.0)),
    *(
        ("binomial", (n, p), stats.binom(n, p))
        for n, p in (
            (0, 0.5), (10, 0.3), (10, 1.0), (30, 0.7), (30, 0.9), (1000, 0.5), (100, 0.101),
            (100, 0.899), (10**12, 1e-12), (10**12, 0.3),
        )
    ),
    *(("poisson", (m,), stats.poisson(m)) for m in (0.0, 0.1, 5.0, 15.9, 16.0, 30.0, 1e4, 1e10)),
    *(("geometric", (p,), stats.geom(p)) for p in (0.9, 0.1, 1e-4)),
]  # fmt: skip


def chi_square(sample, distribution):
    """Return the p-value of a chi-square test, cells pooled to 50 expected draws or more."""
    low, high = int(sample.min()), int(sample.max())
    edges = np.unique(
        np.concatenate([[low - 1], distribution.ppf(np.linspace(0.001, 0.999, 60)), [high]])
    )
    chances = np.diff(np.concatenate([[0.0], distribution.cdf(edges), [1.0]]))
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


@pytest.mark.parametrize(("name", "parameters", "distribution"), DISCRETE)
@MANY
def test_discrete_draws_follow_their_distribution(name, parameters, distribution, n):
    sample = draws(name, *parameters, n=n)
    assert (sample == np.floor(sample)).all()
    assert distribution.pmf(np.unique(sample)).all()  # nothing impossible
    if distribution.std() == 0:
        assert (sample == distribution.mean()).all()
        return
    assert chi_square(sample, distribution) > P_VALUE
    assert_moments(sample, distribution)


def test_the_chi_square_can_fail():
    sample = stats.poisson(5.1).rvs(N, random_state=0)
    assert chi_square(sample, stats.poisson(5.0)) < P_VALUE


def test_the_kolmogorov_smirnov_test_can_fail():
    assert stats.kstest(draws("gamma", 2.5), stats.gamma(2.58).cdf).pvalue < P_VALUE


@pytest.mark.parametrize("distribution", ["NORMAL", "EXPONENTIAL"])
def test_the_strips_of_a_ziggurat_close_at_the_top(distribution):
    hidden = "" if distribution == "NORMAL" else "_"
    ends, density = (
        getattr(samplers, f"{hidden}{distribution}_ENDS"),
        getattr(samplers, f"_{distribution}_DENSITY"),
    )
    areas = ends[1:-1] * np.diff(density[1:])
    assert len(areas) == 255  # and the strip with the tail
    assert areas == pytest.approx(np.full(255, ends[0] * density[1]), rel=1e-9)


@pytest.fixture(
    scope="module", params=[2_000_000, pytest.param(20_000_000, marks=pytest.mark.slow)]
)
def many_normal(request):
    return draws("normal", n=request.param)


def fit_p_value(sample, edges, distribution):
    """Return the p-value of a chi-square test of how many draws lie between edges, and beyond."""
    inside = np.histogram(sample, edges)[0]
    found = np.append(inside, len(sample) - inside.sum())
    chances = np.diff(distribution.cdf(edges))
    expected = len(sample) * np.append(chances, 1 - chances.sum())
    return stats.chisquare(found, expected, sum_check=False).pvalue


def test_normal_draws_fit_in_every_strip(many_normal):
    # A strip's corner is met once in ten thousand draws: it takes many to see one at fault.
    assert fit_p_value(many_normal, np.linspace(-4.0, 4.0, 401), stats.norm()) > P_VALUE


def test_exponential_draws_fit_in_every_strip():
    sample = draws("exponential", n=2_000_000)
    assert fit_p_value(sample, np.linspace(0.0, 8.0, 401), stats.expon()) > P_VALUE


def test_the_normal_tail_beyond_the_last_strip_has_its_weight(many_normal):
    n, edge = len(many_normal), samplers._NORMAL_EDGE
    beyond = many_normal[np.abs(many_normal) > edge]
    chance = 2 * stats.norm.sf(edge)
    assert abs(len(beyond) - n * chance) < 5 * math.sqrt(n * chance)
    assert stats.kstest(np.abs(beyond), stats.truncnorm(edge, np.inf).cdf).pvalue > P_VALUE
    assert abs((beyond > 0).mean() - 0.5) < 5 * 0.5 / math.sqrt(len(beyond))


def test_the_chances_behind_the_rejections_are_exact():
    for k in range(200):
        plain = (k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi)
        assert samplers._stirling_remainder(float(k)) == pytest.approx(
            math.lgamma(k + 1) - plain, abs=1e-10
        )
    for n, p in ((30, 0.4), (1000, 0.02), (10**6, 0.3)):
        distribution, mode = stats.binom(n, p), math.floor((n + 1) * p)
        for k in distribution.ppf([1e-6, 0.1, 0.5, 0.9, 1 - 1e-6]):
            ratio = samplers._log_binomial_ratio(float(n), p, float(k), float(mode))
            assert ratio == pytest.approx(
                distribution.logpmf(k) - distribution.logpmf(mode), abs=1e-7
            )


@pytest.mark.parametrize(("a", "b"), [(0.01, 0.02), (1e-4, 1e-4), (1e-3, 5.0), (1e6, 1e-3)])
@MANY
def test_beta_with_tiny_shapes_is_a_number_with_the_right_mean(a, b, n):
    sample = draws("beta", a, b, n=n)
    distribution = stats.beta(a, b)
    assert np.isfinite(sample).all()
    assert ((sample >= 0) & (sample <= 1)).all()
    assert abs(sample.mean() - distribution.mean()) < 5 * distribution.std() / math.sqrt(n) + 1e-12


@pytest.mark.parametrize(("a", "b"), [(0.01, 0.02), (0.02, 0.01), (1e-3, 1e-3)])
@MANY
def test_beta_with_tiny_shapes_follows_its_distribution_near_zero(a, b, n):
    # Near 1 half of the distribution is rounded to 1, so only the lower half is compared, with the
    # bound of Dvoretzky, Kiefer and Wolfowitz; the other half is that of the swapped shapes.
    places = np.array([1e-300, 1e-100, 1e-30, 1e-10, 1e-3, 0.1, 0.5])
    found = np.searchsorted(np.sort(draws("beta", a, b, n=n)), places, "right") / n
    bound = math.sqrt(math.log(2 / P_VALUE) / (2 * n))
    assert np.abs(found - stats.beta(a, b).cdf(places)).max() < bound


def test_samplers_are_finite_at_the_ends_of_their_ranges():
    for a, b in ((1e-300, 1e-300), (1e-300, 1.0), (1e300, 1.0), (1e300, 1e300)):
        sample = draws("beta", a, b)
        assert ((sample >= 0) & (sample <= 1)).all()
    assert (draws("gamma", 1e-300) == 0).all()
    for p in (1e-300, 1e-16, 1 - 2**-53):
        sample = draws("binomial", 2**52 - 1, p)
        assert ((sample >= 0) & (sample < 2**52)).all()
    assert (draws("geometric", 1e-16) > 0).all()
    assert draws("poisson", 2.0**51).mean() == pytest.approx(2.0**51)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("normal", ()), ("exponential", ()), ("gamma", (0.5,)), ("beta", (2.0, 3.0)),
     ("binomial", (50, 0.4)), ("poisson", (3.0,)), ("geometric", (0.2,))],
)  # fmt: skip
@MANY
def test_neighbouring_streams_and_draws_are_uncorrelated(name, parameters, n):
    a = draws(name, *parameters, n=n, replication=3)
    next_replication = draws(name, *parameters, n=n, replication=4)
    other_purpose = draws(name, *parameters, n=n, replication=3, purpose=ENVIRONMENT)
    bound = 5 / math.sqrt(n)
    assert abs(np.corrcoef(a, next_replication)[0, 1]) < bound
    assert abs(np.corrcoef(a, other_purpose)[0, 1]) < bound
    assert abs(np.corrcoef(a[:-1], a[1:])[0, 1]) < bound


@kernel
def fill_uniform(rng, out):
    for i in range(len(out)):
        out[i] = uniform(rng)


def uniforms(n=N, replication=0, purpose=POLICY):
    out = np.empty(n)
    fill_uniform(stream(0, replication, purpose), out)
    return out


def grid_p_value(a, b):
    """Return the p-value of a chi-square test of pairs on a grid of 16 by 16 cells."""
    cells = (a * 16).astype(int) * 16 + (b * 16).astype(int)
    return stats.chisquare(np.bincount(cells, minlength=256)).pvalue


@MANY
def test_pairs_of_uniform_draws_fill_the_square_evenly(n):
    u = uniforms(n)
    assert grid_p_value(u[:-1:2], u[1::2]) > P_VALUE
    assert grid_p_value(u[1:-1:2], u[2::2]) > P_VALUE
    assert grid_p_value(u, uniforms(n, replication=1)) > P_VALUE
    assert grid_p_value(u, uniforms(n, purpose=ENVIRONMENT)) > P_VALUE


def test_the_grid_can_fail():
    u = uniforms()
    assert grid_p_value(u, (u + 0.02 * uniforms(replication=1)) % 1) < P_VALUE
    assert grid_p_value(u, (0.97 * uniforms(replication=1))) < P_VALUE


def test_sign_and_strip_of_a_normal_draw_are_independent():
    n = 5_000
    rng = stream(0)
    strips, signs = np.empty(n), np.empty(n)
    for i in range(n):
        position = rng.copy()
        strips[i] = int(next_uint64(rng)) % 256
        signs[i] = samplers.normal(position) > 0
    assert abs(np.corrcoef(strips, signs)[0, 1]) < 5 / math.sqrt(n)


def test_a_sure_success_takes_one_trial():
    assert (draws("geometric", 1.0) == 1).all()


def test_bernoulli_uses_one_draw():
    rng = stream(0)
    before = int(rng[0])
    samplers.bernoulli(rng, 0.5)
    after = int(rng[0])
    assert (after - before) % 2**64 == 0x9E3779B97F4A7C15


@kernel
def beta_step_by_step(rng, a, b):
    """Draw what `beta` draws from shapes of at least 1, without its shortcut."""
    first = samplers._gamma_from_shape_one(rng, a)
    return first / (first + samplers._gamma_from_shape_one(rng, b))


@pytest.mark.parametrize(
    ("a", "b"),
    [(1.0, 1.0), (1.5, 40.0), (1e6, 1.0), (1e300, 1e300)],
)
def test_the_shortcut_of_beta_draws_the_same_numbers_from_the_same_words(a, b):
    plain = np.empty(N)
    rng = stream(0)
    loop_of(beta_step_by_step, 2)(rng, plain, a, b)
    other, out = stream(0), np.empty(N)
    LOOPS.setdefault("beta", loop_of(samplers.beta, 2))(other, out, a, b)
    assert np.array_equal(out, plain)
    assert np.array_equal(other, rng)  # as many words were read


def test_the_shortcut_of_beta_is_not_always_taken():
    rng = stream(0)
    missed = sum(samplers._gamma_by_first_proposal(rng, 2.5) < 0 for _ in range(5_000))
    assert 0.005 < missed / 5_000 < 0.1
