r"""Shrinkage of the shares and means of arms towards those of similar arms, by posterior draws.

Among similar arms, the arm with the best average has mostly been lucky; shrinkage corrects for
that. In the model, the shares of arms have a common mean m and follow :math:`\mathrm{Beta}(s m, s
(1 - m))`; the means of arms are normally distributed around m, with the variance of an average over
s runs. The similarity s has a uniform prior on the grid 1, 2, 4, ..., 4,096. First s is drawn from
its posterior, then m given s, and then the share or mean of each arm, given s, m and its own runs.
"""

from collections.abc import Callable
from math import log, pi
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray

_SIMILARITIES: Final = 2.0 ** np.arange(13)
"""Values of s; the common mean counts as s runs of each arm."""
_TINY: Final = 1e-9
_MAX_EXPONENT: Final = 700.0  # exp() overflows above 709.8
_HALF_LOG_2_PI: Final = 0.5 * log(2.0 * pi)
# The weight of an arm in m is the inverse variance of its average around m, for runs of variance 1.
LogLikelihood = Callable[[float, FloatArray, FloatArray], FloatArray]
"""Function that returns the log likelihood of each arm, given s, m and the arms' weights in m."""


def draw_interval_shares(
    rng: np.random.Generator, count: FloatArray, totals: FloatArray, alpha_prior: float,
    beta_prior: FloatArray | float, size: int, unrelated_prior: float,
) -> FloatArray:  # fmt: skip
    """Make `size` draws of a share of runs for each arm and each interval between two limits.

    `totals` has numbers of runs, and `count` how many of these runs have the outcome whose share is
    drawn; both have the shape (arms, intervals). `alpha_prior` and `beta_prior` are the parameters
    of the beta prior of m. `unrelated_prior` is the prior probability that an arm's share in an
    interval is unrelated to the shares of other arms. The result has the shape (size, arms,
    intervals).
    """
    shares = np.where(totals > 0.0, count / np.maximum(totals, _TINY), 0.0)
    # The log of the prior probability that a share is unrelated to the others, times the marginal
    # likelihood of its count if the share has a uniform prior.
    log_prior = np.log(max(unrelated_prior, _TINY))
    log_unrelated = log_prior + _log_beta(count + 1.0, totals - count + 1.0)

    def log_likelihood(s: float, m: FloatArray, _: FloatArray) -> FloatArray:
        log_related = _related_log_likelihood(count, totals, s * m, s * (1.0 - m), unrelated_prior)
        return np.asarray(np.logaddexp(log_related, log_unrelated))

    s, mean, mean_precision = _draw_similarity(
        rng, shares, totals, alpha_prior, alpha_prior + beta_prior, log_likelihood, size
    )
    # Rounding can make m 0 or 1, but parameters of a beta distribution must be above 0.
    m = rng.beta(mean * mean_precision, (1.0 - mean) * mean_precision).clip(_TINY, 1.0 - _TINY)
    alpha, beta = ((s * share)[:, None] for share in (m, 1.0 - m))
    if unrelated_prior > 0.0:
        log_related = _related_log_likelihood(count, totals, alpha, beta, unrelated_prior)
        log_odds = np.clip(log_related - log_unrelated, -_MAX_EXPONENT, _MAX_EXPONENT)
        # From log_odds = log(P(related) / P(unrelated)): P(unrelated) = 1 / (1 + exp(log_odds)).
        is_unrelated = rng.random(log_odds.shape) * (1.0 + np.exp(log_odds)) < 1.0
        alpha, beta = (np.where(is_unrelated, 1.0, value) for value in (alpha, beta))
    return rng.beta(np.maximum(count + alpha, _TINY), np.maximum(totals - count + beta, _TINY))


def _log_beta(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the logarithm of the beta function; its error is 1e-11 of the largest of its terms."""
    # SciPy is not used, since a tune must not depend on whether an extra is installed. Calls of
    # `math.lgamma` for each element would take three times as long.
    return _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)


def _log_gamma(x: FloatArray) -> FloatArray:
    """Return the logarithm of the gamma function of positive numbers."""
    # From 8 on, Stirling's series is right to 1e-11. It is taken at x + 8, and the recurrence
    # gamma(x + 1) = x gamma(x) leads back to x.
    product = np.ones_like(x)
    for step in range(8):
        product *= x + step
    y = x + 8.0
    inverse = 1.0 / np.square(y)
    series = (1 / 12 - (1 / 360 - (1 / 1260 - inverse / 1680) * inverse) * inverse) / y
    log_gamma = (y - 0.5) * np.log(y) - y + _HALF_LOG_2_PI + series - np.log(product)
    return np.asarray(log_gamma, np.float64)


def _related_log_likelihood(
    count: FloatArray, totals: FloatArray, alpha: FloatArray, beta: FloatArray,
    unrelated_prior: float,
) -> FloatArray:  # fmt: skip
    """Return the log of the probability that shares are related, times the likelihood of counts.

    The likelihood is beta-binomial; the prior probability is 1 - `unrelated_prior`.
    """
    alpha, beta = np.maximum(alpha, _TINY), np.maximum(beta, _TINY)
    ratio = _log_beta(count + alpha, totals - count + beta) - _log_beta(alpha, beta)
    return np.asarray(ratio + np.log1p(-unrelated_prior), np.float64)


def draw_posterior_means(
    rng: np.random.Generator, sums: FloatArray, count: FloatArray,
    prior_mean: FloatArray | float, width: FloatArray | float, size: int, weight: float,
) -> FloatArray:  # fmt: skip
    """Make `size` draws of the mean of each arm in each interval from its posterior.

    `count` is the number of observations of each arm in each interval, and `sums` has the sums of
    these observations and the sums of their squares. An observation counts as `weight` runs. A mean
    has the prior expectation `prior_mean`, and the prior variance of a uniform distribution of this
    `width`. The result has the shape (size, arms, intervals).
    """
    has_runs = count > 0.0
    arm_means = np.where(has_runs, sums[0] / np.maximum(count, 1.0), 0.0)
    squared_errors = np.maximum(sums[1] - count * arm_means * arm_means, 0.0).sum(axis=0)
    # The variance within arms is estimated from all arms; its prior counts as one observation.
    freedom = np.maximum(count.sum(axis=0) - has_runs.sum(axis=0), 0.0) + 1.0
    prior_variance = np.square(width) / 12.0
    variance = np.maximum((squared_errors + prior_variance) / freedom, _TINY**2)
    run_weights = weight * count

    def log_likelihood(_: float, mean: FloatArray, weights: FloatArray) -> FloatArray:
        log_weights = np.log(np.maximum(weights, _TINY))
        return np.asarray(0.5 * (log_weights - weights * np.square(arm_means - mean) / variance))

    # The prior of m counts as half a run.
    s, mean, mean_precision = _draw_similarity(
        rng, arm_means, run_weights, 0.5 * prior_mean, 0.5, log_likelihood, size
    )
    # The posterior of a variance is a scaled inverse chi-squared distribution.
    drawn_variance = variance * freedom / rng.chisquare(freedom, mean.shape)
    m = mean + np.sqrt(drawn_variance / mean_precision) * rng.standard_normal(mean.shape)
    s = s[:, None]
    center = (run_weights * arm_means + s * m[:, None]) / (run_weights + s)
    square_error = np.where(has_runs, drawn_variance[:, None] / (run_weights + s), prior_variance)
    noise = np.sqrt(square_error) * rng.standard_normal(center.shape)
    return np.asarray(center + noise, np.float64)


def _draw_similarity(
    rng: np.random.Generator, values: FloatArray, totals: FloatArray, prior_sum: FloatArray | float,
    prior_runs: FloatArray | float, log_likelihood: LogLikelihood, size: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """Make `size` draws of s in each interval; return them, and the posterior of m given each.

    The posterior of m is returned as two arrays: its mean, and its precision in runs, that is, the
    number of runs over which an average is as precise. `values` are averages over `totals` runs of
    each arm. The prior of m counts as `prior_runs` runs, whose values have the sum `prior_sum`.
    """
    has_runs = totals > 0.0
    intervals = totals.shape[1]
    log_posterior, means, precisions = (np.empty((len(_SIMILARITIES), intervals)) for _ in range(3))
    for g, s in enumerate(_SIMILARITIES):
        # The mean of an arm varies around m as an average over s runs does, and the arm's value
        # varies around this mean as an average over the arm's runs does. The weight of the arm in m
        # is the inverse of the sum of both variances.
        weight = np.where(has_runs, 1.0 / (1.0 / np.maximum(totals, _TINY) + 1.0 / s), 0.0)
        # Laplace's approximation of the marginal likelihood of s: the likelihood at the weighted
        # mean m of the arms, times the width of the posterior of m (the term with `precisions`).
        precisions[g] = weight.sum(axis=0) + prior_runs
        means[g] = ((weight * values).sum(axis=0) + prior_sum) / precisions[g]
        likelihood = np.where(has_runs, log_likelihood(s, means[g], weight), 0.0)
        log_posterior[g] = likelihood.sum(axis=0) - 0.5 * np.log(precisions[g])
    # The maximum is subtracted, since the posteriors of many runs would underflow.
    chances = np.exp(log_posterior - log_posterior.max(axis=0))
    cdf = np.cumsum(chances / chances.sum(axis=0), axis=0)
    # Inverse transform sampling. Rounding may leave the last entry of the cdf a little below 1.
    rows = np.minimum((rng.random((size, 1, intervals)) > cdf).sum(axis=1), len(cdf) - 1)
    columns = np.arange(intervals)
    return _SIMILARITIES[rows], means[rows, columns], precisions[rows, columns]
