r"""Shrinkage: posterior draws of shares and means of arms, drawn towards those of similar arms.

The best-looking of similar arms has mostly been lucky; shrinkage corrects for that. With a common
mean m, shares of arms follow :math:`\mathrm{Beta}(s m, s (1 - m))`, and means of arms are normal,
with the variance of a mean of s runs. The similarity s is drawn from its posterior on the grid 1,
2, 4, ..., 4,096 with a uniform prior, then m given s, then the shares of arms given s, m and their
own runs. With many limits a share may be unrelated to other arms, since a hazard may change freely.
"""

from collections.abc import Callable
from math import log, pi
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray

_GRID: Final = 2.0 ** np.arange(13)
"""Values of s: the common mean counts as so many runs of an arm."""
_TINY: Final = 1e-9
_MAX_EXPONENT: Final = 700.0  # exp() overflows beyond it
_HALF_LOG_2_PI: Final = 0.5 * log(2.0 * pi)
LogLikelihood = Callable[[float, FloatArray, FloatArray], FloatArray]
"""Returns log likelihoods of the values of arms, given s, m and the weight of each arm in m."""


def draw_interval_shares(
    rng: np.random.Generator, count: FloatArray, totals: FloatArray, alpha_prior: float,
    beta_prior: FloatArray | float, draws: int, unrelated_prior: float,
) -> FloatArray:  # fmt: skip
    """Draw shares of runs, given the counts of all arms in all intervals: `count` of `totals` runs.

    `alpha_prior` and `beta_prior` are the parameters of the beta prior of m; `unrelated_prior` is
    the prior probability that a share is unrelated to those of other arms.
    """
    shares = np.where(totals > 0.0, count / np.maximum(totals, _TINY), 0.0)
    # Log marginal likelihood of a share that is unrelated to the others, with a uniform prior.
    unrelated = _log_beta(count + 1.0, totals - count + 1.0) + np.log(max(unrelated_prior, _TINY))

    def log_likelihood(s: float, m: FloatArray, _: FloatArray) -> FloatArray:
        related = _related_log_likelihood(count, totals, s * m, s * (1.0 - m), unrelated_prior)
        return np.asarray(np.logaddexp(related, unrelated))

    s, mean, mean_runs = _draw_similarity(
        rng, shares, totals, alpha_prior, alpha_prior + beta_prior, log_likelihood, draws
    )
    # Clipped, since underflow would make small shares 0, where neither beta function has a value.
    m = rng.beta(mean * mean_runs, (1.0 - mean) * mean_runs).clip(_TINY, 1.0 - _TINY)
    alpha, beta = ((s * share)[:, None] for share in (m, 1.0 - m))
    if unrelated_prior > 0.0:
        related = _related_log_likelihood(count, totals, alpha, beta, unrelated_prior)
        log_odds = np.clip(related - unrelated, -_MAX_EXPONENT, _MAX_EXPONENT)
        # These are odds of related against unrelated: P(unrelated) = 1 / (1 + exp(log_odds)).
        is_unrelated = rng.random(log_odds.shape) * (1.0 + np.exp(log_odds)) < 1.0
        alpha, beta = (np.where(is_unrelated, 1.0, shape) for shape in (alpha, beta))
    return rng.beta(np.maximum(count + alpha, _TINY), np.maximum(totals - count + beta, _TINY))


def _log_beta(a: FloatArray, b: FloatArray) -> FloatArray:
    """Return the logarithm of the beta function, with an error of 1e-11 of its largest term."""
    # SciPy is not used, since a tune must not depend on whether an extra is installed. Calls of
    # `math.lgamma` for each element would take three times as long.
    return _log_gamma(a) + _log_gamma(b) - _log_gamma(a + b)


def _log_gamma(x: FloatArray) -> FloatArray:
    """Return the logarithm of the gamma function of positive numbers."""
    # Stirling's series is right to 1e-11 from 8 on; the recurrence leads from x + 8 back to x.
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
    """Return the beta-binomial log likelihood of counts whose shares are related."""
    alpha, beta = np.maximum(alpha, _TINY), np.maximum(beta, _TINY)
    ratio = _log_beta(count + alpha, totals - count + beta) - _log_beta(alpha, beta)
    return np.asarray(ratio + np.log1p(-unrelated_prior), np.float64)


def draw_posterior_means(
    rng: np.random.Generator, sums: FloatArray, count: FloatArray, usual: FloatArray | float,
    width: FloatArray | float, draws: int, weight: float,
) -> FloatArray:  # fmt: skip
    """Draw the means of all arms in all intervals, given `count` numbers of each.

    `sums` are the sums and the sums of squares of the numbers. The prior of a number is uniform
    around `usual` with this `width`, and so is that of the mean of an arm without numbers. Each
    number has this `weight`.
    """
    has_runs = count > 0.0
    arm_means = np.where(has_runs, sums[0] / np.maximum(count, 1.0), 0.0)
    squared_errors = np.maximum(sums[1] - count * arm_means * arm_means, 0.0).sum(axis=0)
    # The variance within arms, pooled over arms, with one number from the prior.
    freedom = np.maximum(count.sum(axis=0) - has_runs.sum(axis=0), 0.0) + 1.0
    # The variance of a uniform distribution over the range.
    prior_variance = np.square(width) / 12.0
    variance = np.maximum((squared_errors + prior_variance) / freedom, _TINY**2)
    run_weights = weight * count

    def log_likelihood(_: float, mean: FloatArray, weight: FloatArray) -> FloatArray:
        log_weight = np.log(np.maximum(weight, _TINY))
        return np.asarray(0.5 * (log_weight - weight * np.square(arm_means - mean) / variance))

    s, mean, mean_runs = _draw_similarity(
        rng, arm_means, run_weights, 0.5 * usual, 0.5, log_likelihood, draws
    )
    # The posterior of a variance: a scaled inverse chi-squared distribution.
    spread = variance * freedom / rng.chisquare(freedom, mean.shape)
    m = mean + np.sqrt(spread / mean_runs) * rng.standard_normal(mean.shape)
    s = s[:, None]
    center = (run_weights * arm_means + s * m[:, None]) / (run_weights + s)
    square_error = np.where(has_runs, spread[:, None] / (run_weights + s), prior_variance)
    noise = np.sqrt(square_error) * rng.standard_normal(center.shape)
    return np.asarray(center + noise, np.float64)


def _draw_similarity(
    rng: np.random.Generator, values: FloatArray, totals: FloatArray, prior_sum: FloatArray | float,
    prior_runs: FloatArray | float, log_likelihood: LogLikelihood, draws: int,
) -> tuple[FloatArray, FloatArray, FloatArray]:  # fmt: skip
    """Draw s from its posterior in each interval; return s, and the posterior of m given s.

    That posterior is returned as its mean, and as the number of runs whose precision it has.
    `values` are means over `totals` runs of each arm. The prior of m counts as `prior_runs` runs,
    whose values have the sum `prior_sum`.
    """
    has_runs = totals > 0.0
    intervals = totals.shape[1]
    log_posterior, means, sizes = (np.empty((len(_GRID), intervals)) for _ in range(3))
    for g, s in enumerate(_GRID):
        # The weight of an arm in m is the precision of its value, in which arms differ as means of
        # s runs do.
        weight = np.where(has_runs, 1.0 / (1.0 / np.maximum(totals, _TINY) + 1.0 / s), 0.0)
        # The marginal likelihood of s is approximated at the weighted mean m of the arms; the term
        # with `sizes` is the width of the posterior of m (Laplace).
        sizes[g] = weight.sum(axis=0) + prior_runs
        means[g] = ((weight * values).sum(axis=0) + prior_sum) / sizes[g]
        likelihood = np.where(has_runs, log_likelihood(s, means[g], weight), 0.0)
        log_posterior[g] = likelihood.sum(axis=0) - 0.5 * np.log(sizes[g])
    # The maximum is subtracted, since the posteriors of many runs would underflow.
    chances = np.exp(log_posterior - log_posterior.max(axis=0))
    cdf = np.cumsum(chances / chances.sum(axis=0), axis=0)
    # Inverse transform sampling. Rounding may leave the last cumulative chance a little below 1.
    rows = np.minimum((rng.random((draws, 1, intervals)) > cdf).sum(axis=1), len(_GRID) - 1)
    columns = np.arange(intervals)
    return _GRID[rows], means[rows, columns], sizes[rows, columns]
