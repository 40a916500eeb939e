"""Search among random configurations by a model of run times."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.run_history import SHORTEST, RunGains
from keyhole.tune.run_time_model import RunTimeModel

_RUNS_PER_CONFIGURATION: Final = 3
_FOCUS: Final = 0.5
"""Factor of the deviations of draws: below 1, the best-looking are run more than they would be."""
_SWEPT_RUNS: Final = 500
"""From so many runs on, a sweep is made once for each share of 1 / 500 of the runs."""
_CAPPED_FROM: Final = 10
_RACE_DEVIATIONS: Final = 2.0


@dataclass
class ModelSearch:
    """Search by Thompson sampling from `RunTimeModel`, with a growing number of configurations.

    A new configuration is run as long as configurations are fewer than a third of the runs.
    Otherwise the one with the least draw of its effect is run, of those that have an instance left
    and whose runs have not all failed. A run has the limit with the largest expected gain; it is
    given up earlier if the best configuration is expected to have ended by then. The default is run
    as often as the best one as long as it may be as good.
    """

    gains: RunGains
    limits: FloatArray
    model: RunTimeModel
    learns_limit: bool
    _next_sweep: int = 1
    _best: int = 0

    def tell(self, runs: NDArray[Any], features: FloatArray, rng: np.random.Generator) -> None:
        """Update the model after a run, the last of `runs`."""
        if len(runs) >= self._next_sweep:
            self._next_sweep = len(runs) + max(1, len(runs) // _SWEPT_RUNS)
            self.model.sweep(runs, features, rng)

    def choose(
        self,
        runs: NDArray[Any],
        starts: FloatArray,
        challenger: int | None,
        most_runs: float,
        rng: np.random.Generator,
    ) -> tuple[int, float] | None:
        """Return a configuration and a draw of its effect; None if none can be run.

        `starts` has the number of runs of each configuration, pending ones included; `challenger`
        is the next new configuration, and `most_runs` is how many a configuration may have.
        """
        model = self.model
        if not starts[0]:
            return 0, model.mean
        if not len(runs):
            return challenger or 0, model.mean
        count = len(model.means)
        scores = np.where(have_only_failed(runs, count), np.inf, model.means + model.deviations)
        self._best = best = int(np.argmin(scores))
        has_all_runs = starts[:count] >= most_runs
        reach = _RACE_DEVIATIONS * math.hypot(model.deviations[0], model.deviations[best])
        if starts[0] < starts[best] and model.means[0] - model.means[best] < reach:
            return 0, model.configuration_effects[0]
        may_add = np.count_nonzero(starts) < starts.sum() / _RUNS_PER_CONFIGURATION + 1
        normals = rng.standard_normal(count)
        draws = model.means + _FOCUS * model.deviations * normals
        draws[has_all_runs | np.isinf(scores)] = np.inf
        choice = int(np.argmin(draws))
        if challenger is not None and (may_add or np.isinf(draws[choice])):
            return challenger, model.mean
        return None if np.isinf(draws[choice]) else (choice, draws[choice])

    def limit(self, runs: NDArray[Any], configuration: int, instance: int, effect: float) -> float:
        """Return the limit of a run of a configuration with a drawn effect."""
        model = self.model
        cutoff = self.gains.cutoff
        if not len(runs):
            return cutoff
        limit = cutoff
        if self.learns_limit:
            log_means = effect + model.instance_effects[model.used_instances]
            deviation = math.sqrt(model.variance)
            gains = self.gains.expected(log_means, deviation, self.limits)
            limit = float(self.limits[np.argmax(gains)])
        has_estimates = len(runs) >= _CAPPED_FROM and model.used_instances[instance]
        if has_estimates and configuration not in (0, self._best):
            time = math.exp(model.means[self._best] + model.instance_effects[instance])
            limit = min(limit, max(time, SHORTEST))
        return limit


def have_only_failed(runs: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Return for each of the first `count` configurations whether it has runs and all failed."""
    run_counts = np.bincount(runs["configuration"], minlength=count)
    failure_counts = np.bincount(runs["configuration"], runs["is_failed"], count)
    have_failed: NDArray[np.bool_] = (run_counts > 0) & (failure_counts == run_counts)
    return have_failed[:count]
