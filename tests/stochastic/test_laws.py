import numpy as np
import pytest
from keyhole.stochastic.laws import Beta, TruncatedNormal, replayed, rewards_of, truncated_mean
from scipy import stats

from keyhole.draws.streams import seek, stream

DRAWS = 40_000


def draws(rewards, arm):
    """Return rewards of an arm, drawn as worlds draw them."""
    from types import SimpleNamespace

    e, rng = SimpleNamespace(**rewards.values), stream(11)
    found = np.empty(DRAWS)
    for n in range(DRAWS):
        seek(rng, arm, n)
        found[n] = rewards.law.draw(e, rng, arm)
    return found


CASES = {
    "bernoulli": rewards_of([0.3, 1.0], "bernoulli", concentration=None, scale=None),
    "beta": rewards_of([0.3, 0.9], "beta", concentration=2.5, scale=None),
    "narrow": rewards_of([0.3, 0.97], "truncated-normal", concentration=None, scale=0.05),
    "wide": rewards_of([0.45, 0.6], "truncated-normal", concentration=None, scale=2.0),
    "outside": rewards_of([0.12, 0.9], "truncated-normal", concentration=None, scale=0.3),
    "replay": replayed([[0.0, 1.0, 0.25], [0.5]]),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("arm", [0, 1])
def test_draws_have_the_mean(name, arm):
    rewards = CASES[name]
    found = draws(rewards, arm)
    error = max(found.std() / np.sqrt(DRAWS), 1e-12)
    assert abs(found.mean() - rewards.means[arm]) <= 5 * error
    assert (found >= 0).all()
    assert (found <= 1).all()


@pytest.mark.parametrize("name", ["narrow", "wide", "outside"])
@pytest.mark.parametrize("arm", [0, 1])
def test_truncated_normal_draws_follow_their_law(name, arm):
    rewards = CASES[name]
    centre, scale = rewards.values["centres"][arm], rewards.values["scale"]
    law = stats.truncnorm(-centre / scale, (1 - centre) / scale, loc=centre, scale=scale)
    assert law.mean() == pytest.approx(rewards.means[arm], abs=1e-9)
    assert stats.kstest(draws(rewards, arm), law.cdf).pvalue > 1e-6


def test_beta_draws_follow_their_law():
    rewards = CASES["beta"]
    assert rewards.law is Beta
    law = stats.beta(0.3 * 2.5, 0.7 * 2.5)
    assert stats.kstest(draws(rewards, 0), law.cdf).pvalue > 1e-6


def test_both_ways_to_propose_are_used():
    assert CASES["narrow"].law is TruncatedNormal
    assert not CASES["narrow"].values["flat"][0]
    assert CASES["wide"].values["flat"].all()


@pytest.mark.parametrize("scale", [0.001, 0.1, 1.0, 10.0])
def test_the_truncated_mean_is_that_of_scipy(scale):
    for centre in np.linspace(-3 * scale, 1 + 3 * scale, 41):
        law = stats.truncnorm(-centre / scale, (1 - centre) / scale, loc=centre, scale=scale)
        assert truncated_mean(centre, scale) == pytest.approx(law.mean(), abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0.5], "beta", None, None), "concentration must be given for the law 'beta'"),
        (([0.5], "bernoulli", 2.0, None), "concentration must be left out for the law 'bernoulli'"),
        (([0.5], "beta", 2.0, 0.1), "scale must be left out for the law 'beta'"),
        (([0.5], "truncated-normal", None, None), "scale must be given"),
        (([0.0], "truncated-normal", None, 0.1), r"means\[0\] must lie in \(0, 1\), got 0"),
        (([0.001], "truncated-normal", None, 0.1), r"means\[0\] must lie in \[0\.02\d*, 0\.9"),
        (([0.5], "truncated-normal", None, 0.0), r"scale must lie in \[0\.001, 10\], got 0"),
        (([0.5], "normal", None, None), "law must be one of bernoulli, beta, truncated-normal"),
        (([1.5], "bernoulli", None, None), r"means\[0\] must lie in \[0, 1\], got 1\.5"),
    ],
)
def test_bad_input_is_named(arguments, message):
    means, law, concentration, scale = arguments
    with pytest.raises((TypeError, ValueError), match=message):
        rewards_of(means, law, concentration=concentration, scale=scale)


def test_bad_samples_are_named():
    with pytest.raises(ValueError, match="samples must have at least one arm"):
        replayed([])
    with pytest.raises(ValueError, match=r"samples\[1\]\[0\] must lie in \[0, 1\], got 2"):
        replayed([[0.5], [2.0]])
