"""Search among random configurations by a model of run times."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.run_arrays import SHORTEST, RunGains
from keyhole.tune.run_time_model import OutcomeModel

_RUNS_PER_CONFIGURATION: Final = 3
_FAILURE_DISCOUNT: Final = 0.5
"""A failure tells less than a time: by so much less it counts as a run."""
_FOCUS: Final = 0.5
"""Factor of the deviations of draws: below 1, the best-looking are run more than they would be."""
_SWEPT_RUNS: Final = 500
"""From so many runs on, a sweep is made once for each share of 1 / 500 of the runs."""
_CAPPED_FROM: Final = 10
_RACE_DEVIATIONS: Final = 2.0
_LEAST_COST: Final = 1e-9  # of a second, where seconds cost nothing
_LOG_TIME_STEP: Final = 0.05
_FAILED_OR_NOT: Final = np.array([0.0, 1.0])[:, None, None]


@dataclass
class ModelSearch:
    """Search by Thompson sampling from `OutcomeModel`, with a growing number of configurations.

    A new configuration is run as long as configurations are fewer than a third of the runs, of
    which a failed one counts half. Otherwise the one with the largest gain by draws of its effects
    is run, of those that have an instance left and whose runs have not all failed. A run has the
    limit with the largest expected gain; it is given up earlier, once even a success would gain
    less than the best configuration is expected to. The default is run as often as the best one as
    long as it may be as good.

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
    _scores: FloatArray | None = None  # of configurations, until the next sweep

    def tell(self, runs: NDArray[Any], features: FloatArray, rng: np.random.Generator) -> None:
        """Update the model after a run, the last of `runs`."""
        if len(runs) >= self._next_sweep:
            self._next_sweep = len(runs) + max(1, len(runs) // _SWEPT_RUNS)
            self.model.sweep(runs, features, rng)
            self._scores = None

    def losses(self, effects: FloatArray) -> FloatArray:
        """Return numbers in whose order configurations are good, the least the best.

        `effects` has a row for each of the model's `models`. Without failures, log times say all.
        """
        if len(effects) == 1:
            return np.asarray(effects[0])
        times = self.model.times
        deviation = math.sqrt(times.variance + times.mean_square)
        # Times that differ by a few percent count as equal, which takes a tenth of the time.
        steps, columns = np.unique((effects[0] / _LOG_TIME_STEP).round(), return_inverse=True)
        failed_gains, success_gains = self.gains.expected(
            steps * _LOG_TIME_STEP, deviation, self.limits, _FAILED_OR_NOT
        )[..., columns]
        chances = self.model.success_chances(effects)
        gains = failed_gains + chances * (success_gains - failed_gains)
        return np.asarray(-gains.max(axis=0))

    def choose(
        self,
        runs: NDArray[Any],
        starts: FloatArray,
        failure_count: int,
        challenger: int | None,
        most_runs: float,
        rng: np.random.Generator,
    ) -> tuple[int, FloatArray] | None:
        """Return a configuration and a draw of its effects; None if none can be run.

        `starts` has the number of runs of each configuration, pending ones included, of which
        `failure_count` have failed; `challenger` is the next new configuration, and `most_runs` is
        how many a configuration may have.
        """
        model = self.model
        common_effects = np.array([effects_model.mean for effects_model in model.models])
        if not starts[0]:
            return 0, common_effects
        if not len(runs):
            return challenger or 0, common_effects
        means = model.means
        deviations = model.deviations
        count = means.shape[1]
        if self._scores is None:
            self._scores = self.losses(means + deviations)
        scores = np.where(have_only_failed(runs, count), np.inf, self._scores)
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
            return challenger, common_effects
        return None if np.isinf(losses[choice]) else (choice, effects[:, choice])

    def limit(
        self, runs: NDArray[Any], configuration: int, instance: int, effects: FloatArray
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
            limit = min(limit, max(self._break_even(instance), SHORTEST))
        return limit

    def _break_even(self, instance: int) -> float:
        """Return the time from which on a success gains less than the best is expected to."""
        model = self.model
        best_time = math.exp(model.times.means[self._best] + model.times.instance_effects[instance])
        failure_chance = 1.0 - float(model.success_chances(model.means[:, self._best]))
        return best_time + failure_chance / max(self.gains.cost_per_second, _LEAST_COST)


def have_only_failed(runs: NDArray[Any], count: int) -> NDArray[np.bool_]:
    """Return for each of the first `count` configurations whether it has runs and all failed."""
    run_counts = np.bincount(runs["configuration"], minlength=count)
    failure_counts = np.bincount(runs["configuration"], runs["is_failed"], count)
    have_failed: NDArray[np.bool_] = (run_counts > 0) & (failure_counts == run_counts)
    return have_failed[:count]
