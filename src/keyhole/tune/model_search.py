"""Search among random configurations by a model of run times."""

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.run_arrays import SHORTEST, RunGains
from keyhole.tune.run_time_model import OutcomeModel, RunRows

_RUNS_PER_CONFIGURATION: Final = 3
_FAILURE_DISCOUNT: Final = 0.5
"""How much less than 1 a failed run counts, since it tells less than a run time does."""
_FOCUS: Final = 0.5
"""Factor of the deviations of draws; below 1, so that good configurations are run more often."""
_SWEEP_DIVISOR: Final = 500
"""After n runs, the model's next Gibbs sweep is made n / 500 runs later, but at least one later."""
_CAPPED_FROM: Final = 10  # runs; with fewer, no run is given up early
_RACE_DEVIATIONS: Final = 2.0
"""If the default lags by fewer deviations, it is run as often as the best configuration."""
_LEAST_COST: Final = 1e-9  # assumed for a second that costs nothing
_LOG_TIME_STEP: Final = 0.05
_SUCCESS_CHANCES: Final = np.array([0.0, 1.0])[:, None, None]


@dataclass
class ModelSearch:
    """Search by Thompson sampling from `OutcomeModel`, with a growing number of configurations.

    As long as there are fewer configurations beside the default than a third of the runs, a new one
    is run; a failed run counts half. Otherwise effects are drawn, and the configuration with the
    largest gain for these effects is run. Configurations that have no instance left, or whose runs
    have all failed, are left out. The default is run as often as the best configuration as long as
    it may be as good.

    A run has the limit with the largest expected gain. A run of a configuration that is neither the
    best nor the default is given up earlier: once even a success would gain less than the expected
    gain of the best. Before ten runs, and on instances without a modelled time, none is given up.

    Attributes
    ----------
    gains : RunGains
        Gains of runs.
    limits : ndarray
        The limits that may be recommended.
    model : OutcomeModel
        The model.
    """

    gains: RunGains
    limits: FloatArray
    model: OutcomeModel
    _next_sweep: int = 1
    _best: int = 0
    _scores: FloatArray | None = None  # by configuration; kept until the next Gibbs sweep

    def tell(self, runs: RunRows, features: FloatArray, rng: np.random.Generator) -> None:
        """Update the model after a run, the last of `runs`."""
        if len(runs) >= self._next_sweep:
            self._next_sweep = len(runs) + max(1, len(runs) // _SWEEP_DIVISOR)
            self.model.sweep(runs, features, rng)
            self._scores = None

    def losses(self, effects: FloatArray) -> FloatArray:
        """Return the losses of configurations: the smaller a loss, the better the configuration.

        `effects` has a row for each of the model's `models`. A loss is the largest expected gain
        over all limits, negated. If no run has failed, the only row has log times, which are then
        the losses.
        """
        if len(effects) == 1:
            return np.asarray(effects[0])
        times = self.model.times
        deviation = math.sqrt(times.variance + times.instance_mean_square)
        # Log times are rounded to 0.05: gains of the few values take a tenth of the CPU time.
        steps, columns = np.unique((effects[0] / _LOG_TIME_STEP).round(), return_inverse=True)
        failed_gains, success_gains = self.gains.expected(
            steps * _LOG_TIME_STEP, deviation, self.limits, _SUCCESS_CHANCES
        )[..., columns]
        chances = self.model.success_chances(effects)
        gains = failed_gains + chances * (success_gains - failed_gains)
        return np.asarray(-gains.max(axis=0))

    def choose(
        self,
        runs: RunRows,
        starts: FloatArray,
        failure_count: int,
        challenger: int | None,
        most_runs: float,
        rng: np.random.Generator,
    ) -> tuple[int, FloatArray] | None:
        """Return a configuration and its drawn or mean effects; None if none may be run.

        `starts` has the number of runs of each configuration, pending runs included, and
        `failure_count` is the number of failed runs. `challenger` is the number of the next new
        configuration. A configuration may have at most `most_runs` runs.
        """
        model = self.model
        mean_effects = np.array([effects_model.mean for effects_model in model.models])
        if not starts[0]:
            return 0, mean_effects
        if not len(runs):
            return challenger or 0, mean_effects
        means = model.means
        deviations = model.deviations
        count = means.shape[1]
        if self._scores is None:
            # A deviation is added, so that a configuration with few runs seldom counts as the best.
            self._scores = self.losses(means + deviations)
        scores = np.where(only_failed_mask(runs, count), np.inf, self._scores)
        self._best = best = int(np.argmin(scores))
        has_all_runs = starts[:count] >= most_runs
        reach = _RACE_DEVIATIONS * np.hypot(deviations[:, 0], deviations[:, best])
        rivals = np.stack([means[:, 0] - reach, means[:, best]], axis=1)
        if starts[0] < starts[best] and np.argmin(self.losses(rivals)) == 0:
            return 0, np.array(
                [effects_model.configuration_effects[0] for effects_model in model.models]
            )
        counted_runs = starts.sum() - _FAILURE_DISCOUNT * failure_count
        may_add = np.count_nonzero(starts) < counted_runs / _RUNS_PER_CONFIGURATION + 1
        effects = means + _FOCUS * deviations * rng.standard_normal(means.shape)
        losses = np.where(has_all_runs | np.isinf(scores), np.inf, self.losses(effects))
        choice = int(np.argmin(losses))
        if challenger is not None and (may_add or np.isinf(losses[choice])):
            return challenger, mean_effects
        return None if np.isinf(losses[choice]) else (choice, effects[:, choice])

    def choose_limit(
        self, runs: RunRows, configuration: int, instance: int, effects: FloatArray
    ) -> float:
        """Return the limit of a run of a configuration with drawn effects."""
        if not len(runs):
            return self.gains.cutoff
        times = self.model.times
        log_means = effects[0] + times.instance_effects[times.used_instances]
        chance = float(self.model.success_chances(effects))
        gains = self.gains.expected(log_means, math.sqrt(times.variance), self.limits, chance)
        limit = float(self.limits[np.argmax(gains.mean(axis=1))])
        has_estimates = len(runs) >= _CAPPED_FROM and times.used_instances[instance]
        if has_estimates and configuration not in (0, self._best):
            limit = min(limit, max(self._break_even_time(instance), SHORTEST))
        return limit

    def _break_even_time(self, instance: int) -> float:
        """Return the time of a success that gains as much as a run of the best is expected to."""
        model = self.model
        best_time = math.exp(model.times.means[self._best] + model.times.instance_effects[instance])
        failure_chance = 1.0 - float(model.success_chances(model.means[:, self._best]))
        return best_time + failure_chance / max(self.gains.cost_per_second, _LEAST_COST)


def only_failed_mask(runs: RunRows, count: int) -> NDArray[np.bool_]:
    """Return for each of the first `count` configurations whether it has runs and all failed."""
    run_counts = np.bincount(runs["configuration"], minlength=count)
    failure_counts = np.bincount(runs["configuration"], runs["is_failed"], count)
    have_failed: NDArray[np.bool_] = (run_counts > 0) & (failure_counts == run_counts)
    return have_failed[:count]
