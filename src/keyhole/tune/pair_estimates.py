"""Estimates of the gain of a run (its reward less its costs), by command and time limit."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.cached_property import cached_property
from keyhole.contract.state_arrays import FloatArray
from keyhole.durations import duration_unit
from keyhole.resource.hazard_rate_policy import grid_coarseness
from keyhole.results.estimate import format_estimate
from keyhole.tune.arm_shrinkage import draw_interval_shares, draw_posterior_means
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord

_INTERVAL_QUANTILES: Final = (0.025, 0.975)


@dataclass(frozen=True, repr=False)
class Interval:
    """A mean with its 95 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def from_draws(
        cls,
        draws: FloatArray,
        min_reach: float = 0.0,
        bounds: tuple[float, float] = (-math.inf, math.inf),
    ) -> "Interval":
        """Return the mean of draws with the interval between their outer quantiles.

        The interval reaches at least `min_reach` to either side of the mean, and is clipped to
        `bounds`.
        """
        low, high = np.quantile(draws, _INTERVAL_QUANTILES)
        mean = float(draws.mean())
        wide_low = min(float(low), mean - min_reach)
        wide_high = max(float(high), mean + min_reach)
        return cls(mean, max(wide_low, bounds[0]), min(wide_high, bounds[1]))

    def as_duration(self) -> str:
        """Format an interval of seconds in the unit that `format_duration` would choose.

        Examples
        --------
        >>> Interval(1.5, 1.2, 1.8).as_duration(), Interval(300.0, 240.0, 360.0).as_duration()
        ('1.50 [1.20, 1.80] s', '5.0 [4.0, 6.0] min')
        """
        length, unit = duration_unit(self.value)
        return f"{Interval(self.value / length, self.low / length, self.high / length)} {unit}"

    def __repr__(self) -> str:
        """Return mean and interval in significant digits."""
        return f"Interval({self})"

    def __str__(self) -> str:
        """Return mean and interval in significant digits; the mean alone if an end is infinite."""
        reach = (self.high - self.low) / 2
        if math.isinf(reach):
            return format_estimate(self.value)
        value, low, high = (format_estimate(x, reach) for x in (self.value, self.low, self.high))
        return f"{value} [{low}, {high}]"


# The bounds of `_prior_runs`. With a lower bound of 4 instead of 1, the 95 % intervals of arms that
# differ contained the true value in only 34 % of cases (measured).
_LEAST_PRIOR_RUNS: Final = 1.0
_MOST_PRIOR_RUNS: Final = 16.0
_DRAWS: Final = 4000
_LEAST_DRAWS: Final = 400
# An array of draws has at most this many numbers (16 MB). For more than 500 pairs, fewer draws are
# taken, but at least `_LEAST_DRAWS`.
_MOST_NUMBERS: Final = 2_000_000
_COMPARISON_WEIGHT: Final = 0.7
"""Weight of a run in comparisons of pairs with one limit; with ten limits or more it is 1."""
_UNRELATED_PRIOR: Final = 0.5
"""Prior probability, with ten limits or more, that a hazard is unrelated to those of other arms."""
_CUT_OFF_WEIGHT: Final = 0.7
"""Weight of a run in comparisons with the full cut-off."""
_RUNS_TO_COME: Final = 2.0
"""An interval is at least as wide as the change that this many further runs could make."""
_ROUNDING: Final = 1e-12


class GainEstimates:
    r"""Posterior draws of the gains of all pairs, given the runs.

    An *arm* is a command, and a *pair* is an arm with a limit. The limits divide time into
    intervals. The *hazard* of an interval is the chance that a run that enters it exits in it.

    A run enters all intervals up to the one in which it ended. For arm a and interval k,
    :math:`n_{ak}` is the number of runs that entered the interval and whose limit is not below the
    end of the interval; :math:`d_{ak}` of these runs exited in it. The posterior of the hazard
    :math:`h_{ak}` is

    .. math::
        h_{ak} \sim \mathrm{Beta}\Bigl(d_{ak} + \frac{1}{2 M} + s_{ak} \bar h_{ak},\;
        n_{ak} - d_{ak} + \frac{1}{2} + \frac{M - k}{2 M} + s_{ak} (1 - \bar h_{ak})\Bigr)

    where M is the number of limits. The probability that a run ever exits thus has Jeffreys' prior,
    split over the intervals. J other arms have :math:`N_{ak}` runs that entered the interval, and
    the share :math:`\bar h_{ak}` of these runs exited in it. This share counts as
    :math:`s_{ak} = 1 / ((1 + 1/J)/s + 1/N_{ak})` prior runs of arm a. The number s lies between 1
    and 16, and is larger for more similar arms. The gain of a limit is

    .. math::
        G_{a\tau_m} = \sum_{k \le m} S_{a,k-1} h_{ak} v_{ak} - \lambda(\tau_m) S_{am}, \qquad
        S_{ak} = \prod_{j \le k} (1 - h_{aj})

    where :math:`v_{ak}` is the mean reward less cost of the runs that exit in interval k, and
    :math:`\lambda(\tau_m)` is the penalty of a run that reaches the limit :math:`\tau_m`. The limit
    of a run is chosen before the run, so that censoring is uninformative. Estimates are means and
    quantiles of posterior draws, of which there are at most `most_draws`.

    Comparisons of pairs use other draws, in which the similarity of arms is uncertain
    (`keyhole.tune.arm_shrinkage`), since the best of similar arms has mostly been lucky. With one
    limit, a run has weight .7 in these draws. With ten limits or more, it has weight 1, and a
    hazard is unrelated to the other arms' hazards with a prior probability of one half. Comparisons
    with the full cut-off use draws in which the parameters of :math:`h_{ak}` are multiplied by .7,
    since a good policy makes few runs with the full cut-off. These numbers were chosen so that the
    stated probabilities are conservative, and were tested on scenarios that were not used to choose
    them (docs/tune.md).

    An interval of `gain` or `success_rate` is at least as wide as the change that two more runs
    could make, but stays within the possible range. If all runs of an arm succeeded, its true
    success rate may be 1, though the prior and the other arms keep the posterior draws below 1.

    Attributes
    ----------
    draws : ndarray of float64, shape (draws, arms, limits)
        Gains, in the unit of the reward.
    success_rates : ndarray of float64, shape (draws, arms, limits)
        The share of runs that succeed within each limit.
    seconds : ndarray of float64, shape (draws, arms, limits)
        The mean duration of a run with each limit; a run that is killed counts as its limit.
    run_counts : ndarray of int, shape (arms, limits)
        How many runs inform each pair: the runs of the arm with at least this limit.
    """

    def __init__(
        self, spec: Spec, runs: Sequence[TrialRecord], *, most_draws: int = _DRAWS
    ) -> None:
        counts = _CountsByLimit(spec, runs)
        self._most_draws = most_draws
        self._spec = spec
        self._posterior = _Posterior(spec, counts)
        self.run_counts = counts.run_counts
        rng = np.random.default_rng(spec.seed)
        self.draws, self.success_rates, self.seconds = self._draw_estimates(rng, 1.0)

    def best_pair(self) -> tuple[int, int]:
        """Return the indices of arm and limit of the tried pair that has the largest mean gain."""
        # Untried pairs are not recommended: their estimates come from the prior and other arms.
        return divmod(int(self.tried_means.argmax()), len(self._spec.limits))

    @cached_property
    def tried_means(self) -> FloatArray:
        """Mean gains of all pairs, of shape (arms, limits); -infinity for pairs without runs."""
        return np.where(self.run_counts > 0, self.draws.mean(axis=0), -np.inf)

    def gain(self, arm: int, limit_index: int) -> Interval:
        """Return the expected gain of a run with this arm and limit."""
        success = self._spec.success
        penalty = self._spec.objective.penalty(success.least_reward)
        bounds = (-float(penalty(self._spec.limits[limit_index])), success.scale[1])
        min_reach = self._min_interval_reach(arm, limit_index) * success.reward_span
        return Interval.from_draws(self.draws[:, arm, limit_index], min_reach, bounds)

    def success_rate(self, arm: int, limit_index: int) -> Interval:
        """Return the share of runs with this arm and limit that succeed."""
        min_reach = self._min_interval_reach(arm, limit_index)
        return Interval.from_draws(self.success_rates[:, arm, limit_index], min_reach, (0.0, 1.0))

    def _min_interval_reach(self, arm: int, limit_index: int) -> float:
        return _RUNS_TO_COME / (int(self.run_counts[arm, limit_index]) + _RUNS_TO_COME)

    @cached_property
    def comparison_gains(self) -> FloatArray:
        """Draws of gains for comparisons of pairs, also of untried arms; shaped as `draws`."""
        # These draws have their own generator, so that they do not depend on the order in which
        # properties are read: `show`, `best` and the report then have the same numbers.
        rng = np.random.default_rng([self._spec.seed, 1])
        coarseness = grid_coarseness(self.draws.shape[2])  # 1 for one limit, 0 from ten on
        weight = 1.0 - (1.0 - _COMPARISON_WEIGHT) * coarseness
        unrelated_prior = _UNRELATED_PRIOR * (1.0 - coarseness)
        draws = self._posterior.draw_all(rng, len(self.draws), weight, unrelated_prior)
        return self._compute_estimates(*draws)[0]

    @cached_property
    def cut_off_gains(self) -> FloatArray:
        """Draws of gains for comparisons with the full cut-off, shaped as `draws`."""
        return self._draw_estimates(np.random.default_rng([self._spec.seed, 2]), _CUT_OFF_WEIGHT)[0]

    def _draw_estimates(
        self, rng: np.random.Generator, weight: float
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Draw gains, success rates and seconds; `weight` is as in `_Posterior.draw_arm`."""
        arms, limits = len(self._spec.arms), len(self._spec.limits)
        size = min(max(_MOST_NUMBERS // (arms * limits), _LEAST_DRAWS), self._most_draws)
        gains, success_rates, seconds = (np.empty((size, arms, limits)) for _ in range(3))
        # Arms are drawn one by one, so that temporary arrays are small beside the results.
        for arm in range(arms):
            arm_draws = self._compute_estimates(*self._posterior.draw_arm(rng, arm, size, weight))
            gains[:, arm], success_rates[:, arm], seconds[:, arm] = arm_draws
        return gains, success_rates, seconds

    def _compute_estimates(
        self, hazards: FloatArray, shares: FloatArray, seconds: FloatArray, rewards: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the gains, success rates and seconds by limit that follow from draws by interval.

        The last axis of all arrays is for limits or intervals. `shares` are the shares of successes
        among exits.
        """
        spec = self._spec
        limits = np.array(spec.limits)
        least_reward = spec.success.least_reward
        seconds = np.clip(seconds, _interval_starts(limits), limits)
        rewards = np.clip(rewards, least_reward, spec.success.scale[1])
        penalties = np.asarray(spec.objective.penalty(least_reward)(limits))
        survival = np.cumprod(1.0 - hazards, axis=-1)
        # P(exit in interval k) = hazard of k times P(no exit before k).
        exit_chances = hazards.copy()
        exit_chances[..., 1:] *= survival[..., :-1]
        mean_rewards = shares * rewards + (1.0 - shares) * least_reward
        exit_values = mean_rewards - spec.objective.cost_per_second * seconds
        return (
            np.cumsum(exit_chances * exit_values, axis=-1) - penalties * survival,
            np.cumsum(exit_chances * shares, axis=-1),
            np.cumsum(exit_chances * seconds, axis=-1) + limits * survival,
        )


ValueEstimates = GainEstimates  # the former name, which `keyhole.former_names` looks for


class _CountsByLimit:
    """Sufficient statistics of runs, by arm and interval.

    `entered`, `exited` and `succeeded` count the runs that entered an interval, exited in it, and
    succeeded in it. `seconds` has the sum and the sum of squares over the runs that exited, and
    `rewards` over those that succeeded. `run_counts` counts the runs with at least each limit.
    """

    def __init__(self, spec: Spec, runs: Sequence[TrialRecord]) -> None:
        limits = np.array(spec.limits)
        arm_indices = {arm.name: i for i, arm in enumerate(spec.arms)}
        shape = (len(arm_indices), len(limits))
        self.entered, self.exited, self.succeeded = (np.zeros(shape) for _ in range(3))
        self.seconds, self.rewards = np.zeros((2, *shape)), np.zeros((2, *shape))
        self.run_counts = np.zeros(shape, np.int64)
        for run in runs:
            arm = arm_indices[run.arm]
            # With a tolerance, since rounding may have raised the limit of a run a little.
            last_interval = int(np.searchsorted(limits, run.limit * (1.0 - _ROUNDING)))
            # A run informs all smaller limits as well, since its end shows how it would have ended
            # with each of these.
            self.run_counts[arm, : last_interval + 1] += 1
            if run.outcome == "out of time":
                self.entered[arm, : last_interval + 1] += 1
                continue
            # The seconds of a failed run may exceed its limit a little.
            interval = min(int(np.searchsorted(limits, run.seconds)), last_interval)
            self.entered[arm, : interval + 1] += 1
            self.exited[arm, interval] += 1
            self.seconds[:, arm, interval] += run.seconds, run.seconds**2
            if run.reward is not None:
                self.succeeded[arm, interval] += 1
                self.rewards[:, arm, interval] += run.reward, run.reward**2


class _Posterior:
    """Posterior distributions of hazards, success shares, mean seconds and rewards of all arms."""

    def __init__(self, spec: Spec, counts: _CountsByLimit) -> None:
        limits = np.array(spec.limits)
        limit_count = len(limits)
        later_intervals = np.arange(limit_count - 1, -1, -1, dtype=np.float64)
        self._hazard_prior = 0.5 / limit_count, 0.5 + later_intervals * (0.5 / limit_count)
        self._success_prior = 0.25 / limit_count, 0.25 / limit_count
        self._hazards = _beta_parameters(counts.exited, counts.entered, *self._hazard_prior)
        self._successes = _beta_parameters(counts.succeeded, counts.exited, *self._success_prior)
        starts = _interval_starts(limits)
        width = limits - starts
        self._counts = counts
        self._seconds_data = (counts.seconds, counts.exited, starts + width / 2, width)
        reward_width = spec.success.reward_span * spec.has_varying_rewards
        self._reward_data = (counts.rewards, counts.succeeded, spec.success.scale[1], reward_width)
        self._seconds = _student_parameters(*self._seconds_data)
        self._rewards = _student_parameters(*self._reward_data)

    def draw_arm(
        self, rng: np.random.Generator, arm: int, size: int, weight: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Draw hazards, success shares, mean seconds and mean rewards of an arm.

        `weight` multiplies the parameters of the beta distributions of hazards.
        """
        hazards, success_shares = (
            rng.beta(factor * alpha[arm], factor * beta[arm], (size, len(alpha[arm])))
            for (alpha, beta), factor in ((self._hazards, weight), (self._successes, 1.0))
        )
        seconds, rewards = (
            center[arm] + error[arm] * rng.standard_t(freedom, (size, len(freedom)))
            for center, error, freedom in (self._seconds, self._rewards)
        )
        return hazards, success_shares, seconds, rewards

    def draw_all(
        self, rng: np.random.Generator, size: int, weight: float, unrelated_prior: float
    ) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Draw the quantities of `draw_arm` for all arms, whose similarity is uncertain.

        Each run counts as `weight` runs. `unrelated_prior` is as in `draw_interval_shares`, for
        hazards: the shares of the runs that enter an interval and end in it.
        """
        entered, exited, succeeded = (
            weight * count
            for count in (self._counts.entered, self._counts.exited, self._counts.succeeded)
        )
        return (
            draw_interval_shares(rng, exited, entered, *self._hazard_prior, size, unrelated_prior),
            draw_interval_shares(rng, succeeded, exited, *self._success_prior, size, 0.0),
            draw_posterior_means(rng, *self._seconds_data, size, weight),
            draw_posterior_means(rng, *self._reward_data, size, weight),
        )


def _interval_starts(limits: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], limits[:-1]])


def _beta_parameters(
    count: FloatArray, totals: FloatArray, alpha_prior: float, beta_prior: FloatArray | float
) -> tuple[FloatArray, FloatArray]:
    """Return the parameters of the beta posteriors of shares, shrunk towards the other arms.

    `totals` has numbers of runs, and `count` how many of these runs have the outcome whose share is
    estimated. `alpha_prior` and `beta_prior` are the parameters of the prior.
    """
    # Leave-one-out: an arm's own runs must not enter its prior, or they would count twice.
    other_count = count.sum(axis=0) - count
    other_runs = totals.sum(axis=0) - totals
    other_arms = (totals > 0.0).sum(axis=0) - (totals > 0.0)
    # An arm differs from the mean of J other arms by a number with the variance (1 + 1/J)/s, in
    # units of the variance of one run. The error of this mean adds 1 / other_runs.
    variance = (1.0 + 1.0 / np.maximum(other_arms, 1)) / _prior_runs(count, totals)
    weight = np.where(other_runs > 0.0, 1.0 / (variance + 1.0 / np.maximum(other_runs, 1.0)), 0.0)
    pool = (other_count + alpha_prior) / (other_runs + alpha_prior + beta_prior)
    return count + alpha_prior + weight * pool, totals - count + beta_prior + weight * (1.0 - pool)


def _prior_runs(count: FloatArray, totals: FloatArray) -> float:
    """Return the number s of prior runs (`GainEstimates`), larger for more similar arms.

    It is estimated by the method of moments for a beta-binomial distribution, from all intervals.
    """
    runs = np.maximum(totals.sum(axis=0), 1.0)
    share = count.sum(axis=0) / runs
    variance = share * (1.0 - share)
    arms = (totals > 0.0).sum(axis=0)
    arm_shares = np.where(totals > 0.0, count / np.maximum(totals, 1.0), share)
    excess = (totals * (arm_shares - share) ** 2).sum(axis=0) - np.maximum(arms - 1, 0) * variance
    max_excess = float((variance * (runs - (totals**2).sum(axis=0) / runs)).sum())
    # The intraclass correlation is the share of the variance that lies between arms: 0 for equal
    # arms, 1 if all variance is between arms. With few runs its estimate is noisy; the bounds keep
    # arms from counting as equal, or as unrelated.
    correlation = float(excess.sum()) / max_excess if max_excess > 0.0 else 1.0
    if correlation <= 0.0:
        return _MOST_PRIOR_RUNS
    return min(max(1.0 / correlation - 1.0, _LEAST_PRIOR_RUNS), _MOST_PRIOR_RUNS)


def _student_parameters(
    sums: FloatArray, count: FloatArray, prior_mean: FloatArray | float, width: FloatArray | float
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Return location, scale and degrees of freedom of Student posteriors of means, by arm.

    The pooled mean counts as one run of each arm; if there is no run, it is `prior_mean`. The
    variance of a run is estimated from the runs of all arms; if there are fewer than two, it is the
    variance of a uniform distribution of this `width`. The mean of an arm without runs always has
    this variance of a uniform distribution.
    """
    runs = count.sum(axis=0)
    total, squares = sums.sum(axis=1)
    pool = np.where(runs > 0.0, total / np.maximum(runs, 1.0), prior_mean)
    sample_variance = np.maximum(squares - runs * pool * pool, 0.0) / np.maximum(runs - 1.0, 1.0)
    variance = np.where(runs > 1.0, sample_variance, np.square(width) / 12.0)
    freedom = np.maximum(runs - 1.0, 1.0)
    variance_of_mean = np.where(count > 0.0, variance / (count + 1.0), np.square(width) / 12.0)
    return (sums[0] + pool) / (count + 1.0), np.sqrt(variance_of_mean), freedom
