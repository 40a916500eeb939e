r"""What every command is worth with every limit, and how sure that is.

Runs are counted by the interval between two limits in which they ended. For arm a and interval k,
:math:`n_{ak}` runs with a limit that reaches its end came into it, and :math:`d_{ak}` of them ended
in it by themselves: the chance to is :math:`h_{ak}`, of which

.. math::
    h_{ak} \sim \mathrm{Beta}(d_{ak} + s \bar h_k,\; n_{ak} - d_{ak} + s (1 - \bar h_k))

is known, with :math:`\bar h_k` the share of all arms, which counts as :math:`s` runs: from 1 to 16,
the more, the more alike arms are. The gain of a limit follows

.. math::
    G_{a\tau_m} = \sum_{k \le m} S_{a,k-1} h_{ak} v_{ak} - \lambda(\tau_m) S_{am}, \qquad
    S_{ak} = \prod_{j \le k} (1 - h_{aj})

with :math:`v_{ak}` what runs that end there bring on average, reward less cost. Limits are chosen
before a run, by what was known then: runs that were given up tell what they were watched for, and
nothing is made up of what would have come after. Numbers are means and quantiles of draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.contract.memory import FloatArray
from keyhole.tune.records import Record
from keyhole.tune.spec import Spec

# One run at the least: with four, intervals of 95 % held .34 for arms that differ (measured).
_LEAST_RUNS: Final = 1.0
_MOST_RUNS: Final = 16.0
_DRAWS: Final = 4000
_ENDS: Final = (0.025, 0.975)
_ROUNDING: Final = 1e-12
_LEAST: Final = 1e-3  # keeps the parameters of a Beta above 0


@dataclass(frozen=True)
class Known:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, draws: FloatArray) -> "Known":
        """Return mean and quantiles of draws."""
        low, high = np.quantile(draws, _ENDS)
        return cls(float(draws.mean()), float(low), float(high))

    def __str__(self) -> str:
        """Return it in as many digits as it is good for."""
        from keyhole.results.estimate import written

        reach = (self.high - self.low) / 2
        value, low, high = (written(x, reach) for x in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


class Gains:
    """Draws of the gains of all pairs, given the runs.

    Attributes
    ----------
    draws : ndarray of float64, shape (draws, arms, limits)
        Gains, in the unit of the reward.
    done : ndarray of float64, shape (draws, arms, limits)
        The shares of runs that succeed within each limit.
    seconds : ndarray of float64, shape (draws, arms, limits)
        How long a run is on average, given up at the limit.
    told : ndarray of int, shape (arms, limits)
        How many runs tell of each pair: those with at least its limit.
    """

    def __init__(self, spec: Spec, runs: Sequence[Record]) -> None:
        counts, rng = _Counts(spec, runs), np.random.default_rng(spec.seed)
        limits, (least, most) = np.array(spec.limits), (spec.success.least, spec.success.scale[1])
        begins = np.concatenate([[0.0], limits[:-1]])
        hazards = _shares(rng, counts.ended, counts.entered)
        went_on = np.cumprod(1.0 - hazards, axis=2)
        ended = np.concatenate([np.ones_like(went_on[:, :, :1]), went_on[:, :, :-1]], 2) * hazards
        succeed = _shares(rng, counts.done, counts.ended)
        seconds = _means(rng, counts.seconds, counts.ended, (begins + limits) / 2)
        seconds = np.clip(seconds, begins, limits)
        rewards = np.clip(_means(rng, counts.rewards, counts.done, most), least, most)
        worth = succeed * rewards + (1.0 - succeed) * least - spec.worth.second * seconds
        given_up = np.asarray(spec.worth.penalty(least)(limits))
        self.draws = np.cumsum(ended * worth, axis=2) - given_up * went_on
        self.done = np.cumsum(ended * succeed, axis=2)
        self.seconds = np.cumsum(ended * seconds, axis=2) + limits * went_on
        self.told = counts.told


class _Counts:
    """Runs by arm and interval: how many came into it, how many ended there, and with what.

    Of seconds and rewards there are sums, and sums of squares.
    """

    def __init__(self, spec: Spec, runs: Sequence[Record]) -> None:
        limits = np.array(spec.limits)
        names = {arm.name: i for i, arm in enumerate(spec.arms)}
        shape = (len(names), len(limits))
        self.entered, self.ended, self.done = (np.zeros(shape) for _ in range(3))
        self.seconds, self.rewards = np.zeros((2, *shape)), np.zeros((2, *shape))
        self.told = np.zeros(shape, np.int64)
        for run in runs:
            arm = names[run.arm]
            last = int(np.searchsorted(limits, run.limit * (1.0 - _ROUNDING)))
            self.told[arm, : last + 1] += 1
            if run.outcome == "out of time":
                self.entered[arm, : last + 1] += 1
                continue
            at = min(int(np.searchsorted(limits, run.seconds)), last)
            self.entered[arm, : at + 1] += 1
            self.ended[arm, at] += 1
            self.seconds[:, arm, at] += run.seconds, run.seconds**2
            if run.reward is not None:
                self.done[arm, at] += 1
                self.rewards[:, arm, at] += run.reward, run.reward**2


def _shares(rng: np.random.Generator, count: FloatArray, of: FloatArray) -> FloatArray:
    """Draw the shares that were counted, around the arm's own and that of all: a Beta law."""
    overall = (count.sum() + 0.5) / (of.sum() + 1.0)
    pool = (count.sum(axis=0) + overall) / (of.sum(axis=0) + 1.0)
    strength = _alike(count, of)
    a = np.maximum(count + strength * pool, _LEAST)
    b = np.maximum(of - count + strength * (1.0 - pool), _LEAST)
    return rng.beta(a, b, size=(_DRAWS, *count.shape))


def _alike(count: FloatArray, of: FloatArray) -> float:
    """Return as how many runs of an arm counts what is known of all: the more, the more alike.

    By the moments of a beta-binomial law, over all intervals together.
    """
    runs = np.maximum(of.sum(axis=0), 1.0)
    share = count.sum(axis=0) / runs
    spread = share * (1.0 - share)
    arms = (of > 0.0).sum(axis=0)
    own = np.where(of > 0.0, count / np.maximum(of, 1.0), share)
    between = (of * (own - share) ** 2).sum(axis=0) - np.maximum(arms - 1, 0) * spread
    most = float((spread * (runs - (of**2).sum(axis=0) / runs)).sum())
    part = float(between.sum()) / most if most > 0.0 else 1.0
    return min(max(1.0 / part - 1.0, _LEAST_RUNS), _MOST_RUNS) if part > 0.0 else _MOST_RUNS


def _means(
    rng: np.random.Generator, sums: FloatArray, count: FloatArray, usual: FloatArray | float
) -> FloatArray:
    """Draw means, around the arm's own and that of all, which counts as one run: a normal law."""
    runs = count.sum(axis=0)
    total, squares = sums.sum(axis=1)
    pool = (total + usual) / (runs + 1.0)
    mean = total / np.maximum(runs, 1.0)
    variance = np.maximum(squares / np.maximum(runs, 1.0) - mean * mean, 0.0)
    center, error = (sums[0] + pool) / (count + 1.0), np.sqrt(variance / (count + 1.0))
    return np.asarray(center + error * rng.standard_normal((_DRAWS, *count.shape)))
