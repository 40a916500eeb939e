"""Estimates of a tune over a parameter space: what is recommended, and what parameters did."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.arms import Parameter
from keyhole.tune.model_search import have_only_failed
from keyhole.tune.parameter_space import ParameterSpace
from keyhole.tune.run_history import RunGains
from keyhole.tune.run_time_model import RunTimeModel, draw_normals_above
from keyhole.tune.value_estimates import Interval

_BURN_IN: Final = 50
_DRAWS: Final = 200
_RUNNERS_UP: Final = 3


@dataclass(frozen=True)
class ConfigurationEstimate:
    """Estimates of a configuration with a limit.

    Attributes
    ----------
    configuration : int
        Its number; 0 is the default.
    parameters : dict
        Its active parameters.
    limit : float
        The limit in seconds.
    runs : int
        How many runs it had.
    gain, success_rate, seconds : Interval
        Mean gain, share of runs that succeed, and mean seconds of a run.
    gain_over_default : Interval
        Difference of the gain, and of that of the default configuration at the full cut-off.
    gains : tuple of Interval
        Gain with each limit that may be recommended.
    """

    configuration: int
    parameters: dict[str, Parameter]
    limit: float
    runs: int
    gain: Interval
    success_rate: Interval
    seconds: Interval
    gain_over_default: Interval
    gains: tuple[Interval, ...]


@dataclass(frozen=True)
class Recommendation:
    """The recommended configuration beside the default and others.

    Attributes
    ----------
    incumbent : ConfigurationEstimate
        The best configuration with its best limit.
    default, default_at_cutoff : ConfigurationEstimate
        The default with its own best limit, and at the full cut-off.
    runners_up : tuple of ConfigurationEstimate
        The next best configurations, each with its best limit.
    """

    incumbent: ConfigurationEstimate
    default: ConfigurationEstimate
    default_at_cutoff: ConfigurationEstimate
    runners_up: tuple[ConfigurationEstimate, ...]


@dataclass(frozen=True)
class ParameterEffect:
    """What a level of a parameter does to run times.

    Attributes
    ----------
    parameter, level : str
        The parameter, and its value or a third of its range.
    configurations : int
        How many configurations with this level were run.
    log_time : Interval
        Difference of the mean log time of this level, and of all, with the other parameters alike.
    """

    parameter: str
    level: str
    configurations: int
    log_time: Interval


class SpaceEstimates:
    """Posterior draws of the outcomes of all configurations on all instances.

    An outcome that was observed is taken as it was; what is not known of it, and outcomes on
    instances on which a configuration was not run, are drawn from `RunTimeModel`. Instances have
    random weights (the Bayesian bootstrap), so that intervals hold for the population of which they
    are a sample. All differences are paired by instance.

    Parameters
    ----------
    runs, own_runs : structured arrays
        All runs, and those of this tune.
    features : ndarray
        A row for each configuration.
    model : RunTimeModel
        The model, which is copied.
    """

    def __init__(
        self,
        runs: NDArray[Any],
        own_runs: NDArray[Any],
        features: FloatArray,
        model: RunTimeModel,
        gains: RunGains,
        instance_count: int,
        rng: np.random.Generator,
    ) -> None:
        self._own_runs = own_runs
        self._gains = gains
        self._rng = rng
        model = copy.deepcopy(model)
        for _ in range(_BURN_IN):
            model.sweep(runs, features, rng)
        count = len(model.configuration_effects)
        self._features = features[:count]
        self._effects = np.empty((_DRAWS, count))
        self._feature_effects = np.empty((_DRAWS, features.shape[1]))
        self._instance_effects = np.empty((_DRAWS, instance_count))
        self._deviations = np.empty((_DRAWS, 1))
        for draw in range(_DRAWS):
            model.sweep(runs, features, rng)
            self._effects[draw] = model.configuration_effects
            self._feature_effects[draw] = model.feature_effects
            self._instance_effects[draw] = model.instance_effects[:instance_count]
            self._deviations[draw] = np.sqrt(model.variance)
        weights = rng.standard_exponential((_DRAWS, instance_count))
        self._weights = weights / weights.sum(axis=1, keepdims=True)
        # With a share of p successes, n instances all succeed with a chance of p^n, which is 2.5 %
        # at the end. A bootstrap of equal outcomes has no width. A single instance is all.
        self._least_reach = 1.0 - 0.025 ** (1 / instance_count) if instance_count > 1 else 0.0
        self.run_counts = np.bincount(own_runs["configuration"], minlength=count)
        # Half a deviation: of two that look alike, the one that was run more often.
        scores = self._effects.mean(axis=0) + self._effects.std(axis=0) / 2
        is_out = have_only_failed(runs, count) | (self.run_counts == 0)
        self.ranking = np.argsort(np.where(is_out, np.inf, scores), kind="stable").tolist()
        """Configurations, the best first."""

    def recommend(
        self,
        incumbent: int,
        configurations: Mapping[int, dict[str, Parameter]],
        limits: FloatArray,
    ) -> Recommendation:
        """Return the estimates of the incumbent, of the default, and of the next best."""
        default = self._draw_outcomes(0)
        cutoff = np.array([self._gains.cutoff])
        yardstick = self._draw_gains(*default, self._gains.cutoff)

        def estimate(configuration: int, limits: FloatArray) -> ConfigurationEstimate:
            times, is_failed = default if configuration == 0 else self._draw_outcomes(configuration)
            gains = [self._draw_gains(times, is_failed, limit) for limit in limits]
            best = int(np.argmax([draws.mean() for draws in gains]))
            limit = float(limits[best])
            successes = self._average((times <= limit) & ~is_failed)
            return ConfigurationEstimate(
                configuration,
                configurations[configuration],
                limit,
                int(self.run_counts[configuration]),
                Interval.from_draws(gains[best]),
                Interval.from_draws(successes, self._least_reach, (0.0, 1.0)),
                Interval.from_draws(self._average(np.minimum(times, limit))),
                Interval.from_draws(gains[best] - yardstick),
                tuple(map(Interval.from_draws, gains)),
            )

        others = [c for c in self.ranking if c not in (0, incumbent) and self.run_counts[c]]
        return Recommendation(
            estimate(incumbent, limits),
            estimate(0, limits),
            estimate(0, cutoff),
            tuple(estimate(configuration, limits) for configuration in others[:_RUNNERS_UP]),
        )

    def effects(self, space: ParameterSpace) -> list[ParameterEffect]:
        """Return what each level of each parameter does to the mean log time."""
        counts = self._features[self.run_counts > 0].sum(axis=0).astype(np.int64)
        rows = []
        for column, (parameter, level) in enumerate(space.levels):
            columns = [k for k, (name, _) in enumerate(space.levels) if name == parameter]
            if counts[column]:
                weights = counts[columns] / counts[columns].sum()
                draws = self._feature_effects[:, columns] @ weights
                interval = Interval.from_draws(self._feature_effects[:, column] - draws)
                rows.append(ParameterEffect(parameter, level, int(counts[column]), interval))
        return rows

    def _draw_outcomes(self, configuration: int) -> tuple[FloatArray, NDArray[np.bool_]]:
        """Draw the times of a configuration on all instances, and whether it failed."""
        runs = self._own_runs[self._own_runs["configuration"] == configuration]
        means = self._effects[:, [configuration]] + self._instance_effects
        log_times = means + self._deviations * self._rng.standard_normal(means.shape)
        is_failed = np.zeros(means.shape, bool)
        is_censored = np.zeros(means.shape, bool)
        ends = np.where(runs["is_failed"], np.log(runs["seconds"]), runs["log_time"])
        for draw in range(_DRAWS):
            # Of several runs on an instance one at random: the last of a random order.
            order = self._rng.permutation(len(runs))
            instances = runs["instance"][order]
            log_times[draw, instances] = ends[order]
            is_failed[draw, instances] = runs["is_failed"][order]
            is_censored[draw, instances] = runs["is_censored"][order]
        is_censored &= ~is_failed
        deviations = np.broadcast_to(self._deviations, means.shape)[is_censored]
        bounds = (log_times[is_censored] - means[is_censored]) / deviations
        draws = draw_normals_above(self._rng, bounds)
        log_times[is_censored] = means[is_censored] + deviations * draws
        return np.exp(log_times), is_failed

    def _draw_gains(
        self, times: FloatArray, is_failed: NDArray[np.bool_], limit: float
    ) -> FloatArray:
        return self._average(self._gains.of_times(times, is_failed, limit))

    def _average(self, outcomes: NDArray[Any]) -> FloatArray:
        """Return the mean over instances, one for each draw."""
        return np.asarray((self._weights * outcomes).sum(axis=1))
