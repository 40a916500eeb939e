"""Estimates of a tune over a parameter space: gains of configurations under each limit."""

import copy
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune import run_time_model
from keyhole.tune.arms import Scalar
from keyhole.tune.model_search import ModelSearch, only_failed_mask
from keyhole.tune.pair_estimates import Interval
from keyhole.tune.recommendation import BestConfiguration, ConfigurationEstimate

_RUNNERS_UP: Final = 3
_ROUNDING: Final = 1e-9


class SpaceEstimates:
    """Posterior draws of the outcomes of all configurations on all instances.

    Observed outcomes are taken as they are. Censored outcomes, and outcomes on instances on which a
    configuration was not run, are drawn from `OutcomeModel`. Instances have random weights (the
    Bayesian bootstrap), so that intervals hold for the population from which the instances are
    sampled. All differences are paired by instance.

    Parameters
    ----------
    runs, own_runs : structured arrays
        All runs, and the runs of this tune without its warm start.
    features : ndarray
        A row for each configuration.
    search : ModelSearch
        The search; a copy of its model is swept.
    """

    def __init__(
        self,
        runs: run_time_model.RunRows,
        own_runs: run_time_model.RunRows,
        features: FloatArray,
        search: ModelSearch,
        instance_count: int,
        rng: np.random.Generator,
    ) -> None:
        self._own_runs = own_runs
        self._gains = search.gains
        self._limits = search.limits
        self._rng = rng
        search = copy.deepcopy(search)
        draws = [
            [
                [model.configuration_effects for model in swept_model.models],
                [model.instance_effects[:instance_count] for model in swept_model.models],
                [model.variance for model in swept_model.models],
            ]
            for swept_model in run_time_model.posterior_sweeps(search.model, runs, features, rng)
        ]
        columns = (np.array(column) for column in zip(*draws, strict=True))
        self._effects, self._instance_effects, variances = columns
        self._deviations = np.sqrt(variances[:, :1])
        self._outcomes: dict[int, tuple[FloatArray, NDArray[np.bool_]]] = {}
        count = self._effects.shape[2]
        weights = rng.standard_exponential((run_time_model.DRAWS, instance_count))
        self._weights = weights / weights.sum(axis=1, keepdims=True)
        # If all outcomes are equal, the bootstrap has no width. If a share p of the population
        # succeeds, all n instances do with a chance of p^n. The lower end is the p for which this
        # chance is 2.5 %. A single instance counts as the whole population.
        self._min_reach = 1.0 - 0.025 ** (1 / instance_count) if instance_count > 1 else 0.0
        self.run_counts = np.bincount(own_runs["configuration"], minlength=count)
        # With half a deviation added, the configuration with more runs ranks higher if two look
        # alike.
        scores = search.losses(self._effects.mean(axis=0) + self._effects.std(axis=0) / 2)
        is_excluded = only_failed_mask(runs, count) | (self.run_counts == 0)
        self._may_keep_default = not is_excluded[0]
        self.ranking = np.argsort(np.where(is_excluded, np.inf, scores), kind="stable").tolist()
        """Configurations, the best first."""

    def choose_incumbent(self) -> int:
        """Return the best configuration if it leads the default by a deviation, else the default.

        The default has this advantage because the authors of a program mostly chose it on more
        instances than a tune has. A default that was not run, or has only failed, lacks it.
        """
        best = self.ranking[0]
        default_gains, best_gains = (
            max(self._draw_gains(configuration, self._limits), key=np.mean)
            for configuration in (0, best)
        )
        lead = best_gains - default_gains
        return 0 if self._may_keep_default and lead.mean() <= lead.std() else best

    def recommend(
        self, incumbent: int, configurations: Mapping[int, dict[str, Scalar]]
    ) -> BestConfiguration:
        """Return the estimates of the incumbent, of the default, and of the next best."""
        cutoff = np.array([self._gains.cutoff])
        (default_gains,) = self._draw_gains(0, cutoff)
        default_successes = self._draw_success_rates(0, self._gains.cutoff)
        min_reach = self._min_reach
        # A run without success earns 1 less, and may have the cost of giving up.
        gain_reach = min_reach * (1.0 + self._gains.cost_of_giving_up)

        def estimate(configuration: int, limits: FloatArray) -> ConfigurationEstimate:
            times, _ = self._draw_outcomes(configuration)
            gains = self._draw_gains(configuration, limits)
            best = int(np.argmax([draws.mean() for draws in gains]))
            limit = float(limits[best])
            successes = self._draw_success_rates(configuration, limit)
            # The interval of a lead needs no `min_reach` if both success rates vary by draw, or if
            # they are alike in all draws: a lead then comes from times, which vary by draw.
            are_alike = np.abs(successes - default_successes).max() < _ROUNDING
            width = min(np.ptp(successes), np.ptp(default_successes))
            lead_reach = 0.0 if are_alike or width >= _ROUNDING else gain_reach
            intervals = [Interval.from_draws(draw, gain_reach, (-math.inf, 1.0)) for draw in gains]
            return ConfigurationEstimate(
                configuration=configuration,
                parameters=configurations[configuration],
                limit=limit,
                runs=int(self.run_counts[configuration]),
                gain=intervals[best],
                success_rate=Interval.from_draws(successes, min_reach, (0.0, 1.0)),
                seconds=Interval.from_draws(self._instance_mean(np.minimum(times, limit))),
                gain_over_default=Interval.from_draws(gains[best] - default_gains, lead_reach),
                gains=tuple(intervals),
            )

        others = [c for c in self.ranking if c not in (0, incumbent) and self.run_counts[c]]
        return BestConfiguration(
            estimate(incumbent, self._limits),
            estimate(0, self._limits),
            estimate(0, cutoff),
            tuple(estimate(configuration, self._limits) for configuration in others[:_RUNNERS_UP]),
        )

    def _draw_outcomes(self, configuration: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Draw once, for all instances, the times of a configuration and whether it fails."""
        if configuration in self._outcomes:
            return self._outcomes[configuration]
        runs = self._own_runs[self._own_runs["configuration"] == configuration]
        all_means = self._effects[:, :, [configuration]] + self._instance_effects
        means = all_means[:, 0]
        log_times = means + self._deviations * self._rng.standard_normal(means.shape)
        is_failed = np.zeros(means.shape, bool)
        if all_means.shape[1] > 1:
            is_failed = self._rng.random(means.shape) < run_time_model.normal_cdf(all_means[:, 1])
        is_censored = np.zeros(means.shape, bool)
        is_given_up = runs["is_censored"] & ~runs["is_failed"]
        log_ends = np.where(runs["is_failed"], np.log(runs["seconds"]), runs["log_time"])
        for draw in range(run_time_model.DRAWS):
            # Of several runs on an instance, the last one in a random order is kept.
            order = self._rng.permutation(len(runs))
            instances = runs["instance"][order]
            log_times[draw, instances] = log_ends[order]
            is_censored[draw, instances] = is_given_up[order]
            # For a run that was given up, the drawn failure or success is kept.
            is_failed[draw, instances] = np.where(
                is_given_up[order], is_failed[draw, instances], runs["is_failed"][order]
            )
        deviations = np.broadcast_to(self._deviations, means.shape)[is_censored]
        bounds = (log_times[is_censored] - means[is_censored]) / deviations
        draws = run_time_model.draw_normals_above(self._rng, bounds)
        log_times[is_censored] = means[is_censored] + deviations * draws
        self._outcomes[configuration] = np.exp(log_times), is_failed
        return self._outcomes[configuration]

    def _draw_gains(self, configuration: int, limits: FloatArray) -> list[FloatArray]:
        """Return draws of the mean gain of a configuration at each limit."""
        outcomes = self._draw_outcomes(configuration)
        return [self._instance_mean(self._gains.of_times(*outcomes, limit)) for limit in limits]

    def _draw_success_rates(self, configuration: int, limit: float) -> FloatArray:
        """Return draws of the share of runs of a configuration that succeed under a limit."""
        times, is_failed = self._draw_outcomes(configuration)
        return self._instance_mean((times <= limit) & ~is_failed)

    def _instance_mean(self, outcomes: NDArray[Any]) -> FloatArray:
        """Return the mean over instances, one for each draw."""
        return np.asarray((self._weights * outcomes).sum(axis=1))
