r"""What every command is worth with every limit, and how sure that is.

Runs are counted by the interval between two limits in which they ended. For arm a and interval k,
:math:`n_{ak}` runs with a limit that reaches its end came into it, and :math:`d_{ak}` of them ended
in it by themselves: the chance to is :math:`h_{ak}`, of which

.. math::
    h_{ak} \sim \mathrm{Beta}\Bigl(d_{ak} + \frac{1}{2 M} + s_{ak} \bar h_{ak},\;
    n_{ak} - d_{ak} + \frac{1}{2} + \frac{M - k}{2 M} + s_{ak} (1 - \bar h_{ak})\Bigr)

is known, with M limits: before any run, whether it ever ends is Jeffreys' law, and when is open.
The share of the other arms, :math:`\bar h_{ak}` of :math:`N_{ak}` runs, counts as
:math:`s_{ak} = 1 / ((1 + 1/J)/s + 1/N_{ak})` runs, with J such arms, and s from 1 to 16: the more,
the more alike they are. The gain of a limit follows

.. math::
    G_{a\tau_m} = \sum_{k \le m} S_{a,k-1} h_{ak} v_{ak} - \lambda(\tau_m) S_{am}, \qquad
    S_{ak} = \prod_{j \le k} (1 - h_{aj})

with :math:`v_{ak}` what runs that end there bring on average, reward less cost. Limits are chosen
before a run, by what was known then: runs that were given up tell what they were watched for, and
nothing is made up of what would have come after. Numbers are means and quantiles of draws.

Whether another pair is better is asked of other draws, in which it is not known how alike the arms
are (`keyhole.tune.arm_similarity`): of arms that hardly differ, the one that looks best is mostly
one that was lucky. With one limit a run counts for .7 in them; with ten or more, half of all shares
have nothing to do with those of other arms. For what the full cut-off is worth, shapes of the laws
of :math:`h_{ak}` are multiplied by .7: a good policy avoids it, and has few runs of it. These
numbers were picked so that what is stated holds at least as often as it says, and judged on
scenarios that played no part in picking them (docs/tune.md).

No interval of a gain or of a share done is narrower than two runs more or less would make it, up to
what is possible: where all runs succeeded, the truth may be that all do, and the share of other
arms says less.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.cached import cached_property
from keyhole.contract.state_memory import FloatArray
from keyhole.resource.hazard_policy import grid_coarseness
from keyhole.tune.arm_similarity import draw_means, draw_shares
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord

# One run at the least: with four, intervals of 95 % held .34 for arms that differ (measured).
_LEAST_RUNS: Final = 1.0
_MOST_RUNS: Final = 16.0
_DRAWS: Final = 4000
_LEAST_DRAWS: Final = 400
_CELLS: Final = 2_000_000  # numbers of each kind: more pairs than 500 have fewer draws
_ENDS: Final = (0.025, 0.975)
_ROUNDING: Final = 1e-12
_WEIGHT_OF_ORDER: Final = 0.7
"""What runs count for in saying that no pair is better, with one limit; with ten or more, 1."""
_OWN: Final = 0.5
"""The chance of a share to have nothing to do with other arms', with ten limits or more."""
_WEIGHT_OF_CUT_OFF: Final = 0.7
"""What runs count for in saying what the full cut-off is worth."""


@dataclass(frozen=True, repr=False)
class Interval:
    """A number with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(
        cls,
        draws: FloatArray,
        least: float = 0.0,
        within: tuple[float, float] = (-math.inf, math.inf),
    ) -> "Interval":
        """Return mean and quantiles of draws, these at least so far from the mean.

        No end of the interval is beyond what is possible, `within`, where all draws lie.
        """
        low, high = np.quantile(draws, _ENDS)
        mean = float(draws.mean())
        low, high = min(float(low), mean - least), max(float(high), mean + least)
        return cls(mean, max(low, within[0]), min(high, within[1]))

    def __repr__(self) -> str:
        """Return it in as many digits as it is good for."""
        return f"Known({self})"

    def __str__(self) -> str:
        """Return it in as many digits as it is good for."""
        from keyhole.results.estimate import format_estimate

        reach = (self.high - self.low) / 2
        value, low, high = (format_estimate(x, reach) for x in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


class ValueEstimates:
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

    def __init__(self, spec: Spec, runs: Sequence[TrialRecord]) -> None:
        counts = _Counts(spec, runs)
        self._spec, self._known, self.told = spec, _Posterior(spec, counts), counts.told
        self.draws, self.done, self.seconds = self._drawn(np.random.default_rng(spec.seed), 1.0)

    @cached_property
    def order_values(self) -> FloatArray:
        """Draws of gains to compare pairs by, of those never run too; shaped as `draws`."""
        rng, draws = np.random.default_rng([self._spec.seed, 1]), len(self.draws)
        few = grid_coarseness(self.draws.shape[2])
        weight, own = 1.0 - (1.0 - _WEIGHT_OF_ORDER) * few, _OWN * (1.0 - few)
        return self._gains(*self._known.compared(rng, draws, weight, own))[0]

    @cached_property
    def cut_off_values(self) -> FloatArray:
        """Draws of gains to compare with the full cut-off by; shaped as `draws`."""
        rng = np.random.default_rng([self._spec.seed, 2])
        return self._drawn(rng, _WEIGHT_OF_CUT_OFF)[0]

    def _drawn(
        self, rng: np.random.Generator, weight: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Draw gains, shares done and seconds, with runs that count for `weight` each."""
        arms, limits = len(self._spec.arms), len(self._spec.limits)
        draws = min(max(_CELLS // (arms * limits), _LEAST_DRAWS), _DRAWS)
        gains, done, taken = (np.empty((draws, arms, limits)) for _ in range(3))
        for arm in range(arms):
            drawn = self._gains(*self._known.drawn(rng, arm, draws, weight))
            gains[:, arm], done[:, arm], taken[:, arm] = drawn
        return gains, done, taken

    def _gains(
        self, hazards: FloatArray, succeed: FloatArray, seconds: FloatArray, rewards: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return gains, shares done and seconds of draws, whose last axis is that of limits."""
        spec, limits, least = self._spec, np.array(self._spec.limits), self._spec.success.least
        given_up = np.asarray(spec.objective.penalty(least)(limits))
        went_on = np.cumprod(1.0 - hazards, axis=-1)
        ended = hazards.copy()
        ended[..., 1:] *= went_on[..., :-1]
        worth = (
            succeed * rewards + (1.0 - succeed) * least - spec.objective.cost_per_second * seconds
        )
        return (
            np.cumsum(ended * worth, axis=-1) - given_up * went_on,
            np.cumsum(ended * succeed, axis=-1),
            np.cumsum(ended * seconds, axis=-1) + limits * went_on,
        )


class _Posterior:
    """What is known of all arms: the laws of hazards, shares of success, seconds and rewards."""

    def __init__(self, spec: Spec, counts: "_Counts") -> None:
        self._limits = np.array(spec.limits)
        self._begins = np.concatenate([[0.0], self._limits[:-1]])
        most = spec.success.scale[1]
        self._least, self._most = spec.success.least, most
        m = len(self._limits)
        later = np.arange(m - 1, -1, -1)
        self._hazards = _shares(counts.ended, counts.entered, 0.5 / m, 0.5 + later * (0.5 / m))
        self._succeed = _shares(counts.done, counts.ended, 0.25 / m, 0.25 / m)
        width = self._limits - self._begins
        varies = bool(spec.success.number) or any(arm.function for arm in spec.arms)
        self._later, self._counts = later, counts
        self._of_seconds = (counts.seconds, counts.ended, self._begins + width / 2, width)
        self._of_rewards = (counts.rewards, counts.done, most, spec.success.span * varies)
        self._seconds, self._rewards = _means(*self._of_seconds), _means(*self._of_rewards)

    def drawn(
        self, rng: np.random.Generator, arm: int, draws: int, weight: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Draw hazards, shares of success, mean seconds and mean rewards of an arm."""
        hazards, succeed = (
            rng.beta(of * up[arm], of * down[arm], (draws, len(self._limits)))
            for (up, down), of in ((self._hazards, weight), (self._succeed, 1.0))
        )
        seconds, rewards = (
            center[arm] + error[arm] * rng.standard_t(freedom, (draws, len(self._limits)))
            for center, error, freedom in (self._seconds, self._rewards)
        )
        return (
            hazards,
            succeed,
            np.clip(seconds, self._begins, self._limits),
            np.clip(rewards, self._least, self._most),
        )

    def compared(
        self, rng: np.random.Generator, draws: int, weight: float, own: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Draw the same of all arms, to compare them by: see `keyhole.tune.arm_similarity`."""
        counts, m = self._counts, len(self._limits)
        ended, done = weight * counts.ended, weight * counts.done
        down = 0.5 + self._later * (0.5 / m)
        hazards = draw_shares(rng, ended, weight * counts.entered, 0.5 / m, down, draws, own)
        succeed = draw_shares(rng, done, ended, 0.25 / m, 0.25 / m, draws, 0.0)
        seconds = draw_means(rng, *self._of_seconds, draws, weight)
        rewards = draw_means(rng, *self._of_rewards, draws, weight)
        return (
            hazards,
            succeed,
            np.clip(seconds, self._begins, self._limits),
            np.clip(rewards, self._least, self._most),
        )


class _Counts:
    """Runs by arm and interval: how many came into it, how many ended there, and with what.

    Of seconds and rewards there are sums, and sums of squares.
    """

    def __init__(self, spec: Spec, runs: Sequence[TrialRecord]) -> None:
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


def _shares(
    count: FloatArray, of: FloatArray, up: float, down: NDArray[Any] | float
) -> tuple[FloatArray, FloatArray]:
    """Return the Beta laws of the shares that were counted, given what the other arms did.

    `up` and `down` are the law's parameters before any run.
    """
    others, runs = count.sum(axis=0) - count, of.sum(axis=0) - of
    arms = (of > 0.0).sum(axis=0) - (of > 0.0)
    apart = (1.0 + 1.0 / np.maximum(arms, 1)) / _alike(count, of)
    said = np.where(runs > 0.0, 1.0 / (apart + 1.0 / np.maximum(runs, 1.0)), 0.0)
    pool = (others + up) / (runs + up + down)
    return count + up + said * pool, of - count + down + said * (1.0 - pool)


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
    sums: FloatArray, count: FloatArray, usual: FloatArray | float, width: FloatArray | float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return center, scale and freedom of Student's laws of the means of all arms.

    What is known of all arms counts as one run of each. Before two are known of any, a mean is
    `usual`, of numbers that spread evenly over `width`; the mean of an arm of which none is known
    may lie anywhere in `width`, however alike those of the others are.
    """
    runs = count.sum(axis=0)
    total, squares = sums.sum(axis=1)
    pool = np.where(runs > 0.0, total / np.maximum(runs, 1.0), usual)
    spread = np.maximum(squares - runs * pool * pool, 0.0) / np.maximum(runs - 1.0, 1.0)
    variance = np.where(runs > 1.0, spread, np.square(width) / 12.0)
    freedom = np.maximum(runs - 1.0, 1.0)
    of_mean = np.where(count > 0.0, variance / (count + 1.0), np.square(width) / 12.0)
    return (sums[0] + pool) / (count + 1.0), np.sqrt(of_mean), freedom
