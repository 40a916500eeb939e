r"""Laws by which arms are compared: they are as alike as their runs show them to be.

Of arms that hardly differ, the one that looks best is mostly one that was lucky. What takes that
out is to know by how much arms differ at all: their shares follow
:math:`\mathrm{Beta}(s m, s (1 - m))`, their means a normal law with the variance of s runs, and s
is not known. It is drawn from what the runs of all arms say of it, on a grid from 1 to 4,096, each
power of two as likely beforehand; then m, from all arms; then the arms, from their own runs and s
such as m. Where limits are many, part of an arm's shares has nothing to do with those of others
(`own`): one that is good for a while may go on in any way.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

from keyhole.contract.state_memory import FloatArray

_RUNS: Final = 2.0 ** np.arange(13)
"""As how many runs of an arm what is known of all may count."""
_LEAST: Final = 1e-9
_RANGE: Final = 700.0  # of exponents


def draw_shares(
    rng: np.random.Generator, count: FloatArray, of: FloatArray, up: float,
    down: NDArray[Any] | float, draws: int, own: float,
) -> FloatArray:  # fmt: skip
    """Draw the shares of all arms in all intervals, of which `count` of `of` runs are known.

    `up` and `down` are the parameters of the law of m before any run, and `own` the chance of a
    share to have nothing to do with those of other arms.
    """
    known, prior = of > 0.0, up + down + np.zeros(of.shape[1])
    shares = np.where(known, count / np.maximum(of, _LEAST), 0.0)
    alone = betaln(count + 1.0, of - count + 1.0) + np.log(max(own, _LEAST))
    told, means, sizes = (np.empty((len(_RUNS), of.shape[1])) for _ in range(3))
    for g, runs in enumerate(_RUNS):
        weight = np.where(known, 1.0 / (1.0 / np.maximum(of, _LEAST) + 1.0 / runs), 0.0)
        sizes[g] = weight.sum(axis=0) + prior
        means[g] = ((weight * shares).sum(axis=0) + up) / sizes[g]
        said = _said(count, of, runs * means[g], runs * (1.0 - means[g]), own)
        told[g] = np.where(known, np.logaddexp(said, alone), 0.0).sum(axis=0)
    at = _drawn(rng, told - 0.5 * np.log(sizes), draws)
    places = np.arange(of.shape[1])
    mean, size = means[at, places], sizes[at, places]
    mean = rng.beta(mean * size, (1.0 - mean) * size).clip(_LEAST, 1.0 - _LEAST)
    good, bad = ((_RUNS[at] * part)[:, None] for part in (mean, 1.0 - mean))
    if own > 0.0:
        odds = np.clip(_said(count, of, good, bad, own) - alone, -_RANGE, _RANGE)
        is_alone = rng.random(odds.shape) * (1.0 + np.exp(odds)) < 1.0
        good, bad = np.where(is_alone, 1.0, good), np.where(is_alone, 1.0, bad)
    return rng.beta(np.maximum(count + good, _LEAST), np.maximum(of - count + bad, _LEAST))


def _said(
    count: FloatArray, of: FloatArray, good: FloatArray, bad: FloatArray, own: float
) -> FloatArray:
    """Return the logarithm of how likely counts are, of arms that are alike."""
    good, bad = np.maximum(good, _LEAST), np.maximum(bad, _LEAST)
    return np.asarray(
        betaln(count + good, of - count + bad) - betaln(good, bad) + np.log1p(-own), np.float64
    )


def draw_means(
    rng: np.random.Generator, sums: FloatArray, count: FloatArray, usual: FloatArray | float,
    width: FloatArray | float, draws: int, weight: float,
) -> FloatArray:  # fmt: skip
    """Draw the means of all arms in all intervals, of numbers with these sums, and of squares.

    Beforehand a number is taken to be `usual`, and any in `width`; and so is the mean of an arm of
    which none is known. A number counts for `weight`.
    """
    known = count > 0.0
    own = np.where(known, sums[0] / np.maximum(count, 1.0), 0.0)
    within = np.maximum(sums[1] - count * own * own, 0.0).sum(axis=0)
    freedom = np.maximum(count.sum(axis=0) - known.sum(axis=0), 0.0) + 1.0
    anywhere = np.square(width) / 12.0
    variance = np.maximum((within + anywhere) / freedom, _LEAST**2)
    runs_of = weight * count
    told, means, sizes = (np.empty((len(_RUNS), count.shape[1])) for _ in range(3))
    for g, runs in enumerate(_RUNS):
        size = np.where(known, 1.0 / (1.0 / np.maximum(runs_of, _LEAST) + 1.0 / runs), 0.0)
        sizes[g] = size.sum(axis=0) + 0.5
        means[g] = ((size * own).sum(axis=0) + 0.5 * usual) / sizes[g]
        said = np.log(np.maximum(size, _LEAST)) - size * np.square(own - means[g]) / variance
        told[g] = np.where(known, 0.5 * said, 0.0).sum(axis=0)
    at = _drawn(rng, told - 0.5 * np.log(sizes), draws)
    places = np.arange(count.shape[1])
    spread = variance * freedom / rng.chisquare(freedom, at.shape)
    mean = means[at, places] + np.sqrt(spread / sizes[at, places]) * rng.standard_normal(at.shape)
    runs = _RUNS[at][:, None]
    center = (runs_of * own + runs * mean[:, None]) / (runs_of + runs)
    error = np.where(known, spread[:, None] / (runs_of + runs), anywhere)
    return np.asarray(center + np.sqrt(error) * rng.standard_normal(center.shape), np.float64)


def _drawn(rng: np.random.Generator, told: FloatArray, draws: int) -> NDArray[np.intp]:
    """Draw an entry of the grid for each interval, by how likely each is."""
    chances = np.exp(told - told.max(axis=0))
    below = np.cumsum(chances / chances.sum(axis=0), axis=0)
    found = (rng.random((draws, 1, told.shape[1])) > below).sum(axis=1)
    return np.asarray(np.minimum(found, len(_RUNS) - 1), np.intp)
