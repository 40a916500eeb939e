"""Decisions of a tune over a parameter space: which configuration to run, where, how long."""

import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace
from typing import Final, Literal

import numpy as np

from keyhole.tune.adaptive_racing import AdaptiveRacing
from keyhole.tune.arms import Scalar
from keyhole.tune.model_search import ModelSearch
from keyhole.tune.parameter_space import ParameterSpace, configuration_key
from keyhole.tune.recommendation import BestConfiguration
from keyhole.tune.run_arrays import RunArray, RunGains, RunOutcome, Trial
from keyhole.tune.run_time_effects import ParameterEffect, parameter_effects
from keyhole.tune.run_time_model import OutcomeModel, RunTimeModel, draw_feature_effects
from keyhole.tune.space_estimates import SpaceEstimates

_TRIES: Final = 1_000  # draws of a configuration, of which one should be new
_FIRST_SIZE: Final = 64  # rows of the array of features
_SHARE_OF_INSTANCES: Final = 0.25
"""How many of the next instances are compared, as a share of all; the easiest of them is run."""
# Purposes of random numbers: each has a generator of its own.
_CONFIGURATIONS, _ORDERS, _DECISIONS, _SWEEPS, _ESTIMATES, _EFFECTS = range(6)


class SpaceExhaustedError(ValueError):
    """There is no configuration that could still be run on an instance."""


class SpaceDecider:
    """Decider of a tune over a parameter space.

    Its state is a function of the seed and of the sequence of runs that it was told. So a decider
    that is told the runs of a log goes on as the decider of these runs would have.

    Parameters
    ----------
    space : ParameterSpace
        The configurations.
    limits : sequence of float
        Time limits in seconds, increasing; the last is the full cut-off.
    instance_count : int
        How many instances there are.
    seed : int
        Seed of configurations, orders of instances, and decisions.
    cost_per_second, cost_of_giving_up : float
        The cost of a second, and of reaching the limit, if a success earns 1.
    policy : {"model", "racing"}
        Whether a model of run times decides, or racing.
    learns_limit : bool
        Whether a limit is chosen for the recommendation. If not, the full cut-off is recommended,
        and the shorter `limits` are not used.
    is_deterministic : bool
        Whether a second run of a configuration on an instance is the same as the first.

    Attributes
    ----------
    configurations : dict of int to dict
        The configurations that were chosen so far, by number; 0 is the default.
    """

    def __init__(
        self,
        space: ParameterSpace,
        limits: Sequence[float],
        instance_count: int,
        *,
        seed: int,
        cost_per_second: float,
        cost_of_giving_up: float = 0.0,
        policy: Literal["model", "racing"] = "model",
        learns_limit: bool = True,
        is_deterministic: bool = True,
    ) -> None:
        self.space = space
        self.limits = np.array(limits if learns_limit else limits[-1:], dtype=np.float64)
        self.instance_count = instance_count
        self.configurations: dict[int, dict[str, Scalar]] = {}
        self._features = np.zeros((_FIRST_SIZE, len(space.levels)))
        self._seed = seed
        self._gains = RunGains(float(limits[-1]), cost_per_second, cost_of_giving_up)
        # How many runs a configuration may have.
        self._most_runs = instance_count if is_deterministic else np.inf
        self._run_array = RunArray(self._gains.cutoff)
        self._numbers: dict[str, int] = {}  # numbers of configurations, by `configuration_key`
        self._orders: dict[tuple[int, int], list[int]] = {}  # orders of instances: see `_order`
        # How many runs of a configuration on an instance have ended.
        self._repetitions: Counter[tuple[int, int]] = Counter()
        # By configuration, the positions of runs that count or are pending.
        self._started: dict[int, set[int]] = defaultdict(set)
        self._pending_rounds: set[int] = set()
        self._last_round = 0
        self._warm_count = 0  # runs of the warm start
        self._first_new = 1  # the first number that no configuration of the warm start has
        # One run on the only instance says all of a configuration, so that no model is needed.
        is_raced = policy == "racing" or self._most_runs == 1
        self._racing = AdaptiveRacing(self._gains) if is_raced else None
        model = OutcomeModel(instance_count, len(space.levels))
        self._search = ModelSearch(self._gains, self.limits, model)
        self._number_configuration(0, space.default)

    def ask(self) -> Trial:
        """Return the next run; several may be pending at a time."""
        if self._racing:
            choice = self._racing.choose_run(self._started, self._new_number(), self._most_runs)
        else:
            choice = self._choose()
        if choice is None:
            raise SpaceExhaustedError(
                f"nothing is left to be run: the space has {len(self.configurations)} "
                "configurations, and each was run on all instances or as long as it was not worse"
            )
        configuration, position, limit = choice
        if configuration not in self.configurations:
            values = self._draw_new_configuration(self._rng(_CONFIGURATIONS, configuration))
            self._number_configuration(configuration, values)
        self._last_round += 1
        self._started[configuration].add(position)
        self._pending_rounds.add(self._last_round)
        instance = self._instance(configuration, position)
        parameters = self.configurations[configuration]
        return Trial(self._last_round, configuration, parameters, instance, limit)

    def _choose(self) -> tuple[int, int, float] | None:
        challenger = self._new_number()
        starts = np.zeros(max(self.configurations) + 2)  # with an entry for the challenger
        for configuration, positions in self._started.items():
            starts[configuration] = len(positions)
        runs = self._run_array.runs
        rng = self._rng(_DECISIONS, int(starts.sum()))
        failures = int(runs[self._warm_count :]["is_failed"].sum())
        choice = self._search.choose(runs, starts, failures, challenger, self._most_runs, rng)
        if choice is None:
            return None
        configuration, effects = choice
        free_positions = self._free_positions(configuration)
        if not free_positions:  # all remaining runs of the configuration are pending
            return None
        # An easy instance says as much of the configuration as a hard one, and takes less time.
        instance_effects = self._search.model.times.instance_effects
        position = min(
            free_positions,
            key=lambda position: instance_effects[self._instance(configuration, position)],
        )
        instance = self._instance(configuration, position)
        limit = self._search.choose_limit(runs, configuration, instance, effects)
        return configuration, position, limit

    def tell(self, trial: Trial, outcome: RunOutcome | Literal["expired"], seconds: float) -> None:
        """Learn the outcome and the seconds of a run; forget an expired run."""
        if outcome == "expired":
            self.expire(trial)
            return
        self._last_round = max(self._last_round, trial.round)
        self._pending_rounds.discard(trial.round)
        configuration = trial.configuration
        if configuration not in self.configurations:
            self._number_configuration(configuration, trial.parameters)
        # A log has no positions. The n-th run of a configuration on an instance in the log is taken
        # for the run of the n-th permutation.
        repetition = self._repetitions[configuration, trial.instance]
        self._repetitions[configuration, trial.instance] += 1
        offset = self._order(configuration, repetition).index(trial.instance)
        position = repetition * self.instance_count + offset
        self._started[configuration].add(position)
        self._add_run(trial, outcome, seconds, 1.0)
        if self._racing:
            self._racing.tell(configuration, position, self._gains.loss(outcome, seconds))

    def expire(self, trial: Trial) -> None:
        """Forget a pending run that does not count, so that it may be chosen again."""
        self._last_round = max(self._last_round, trial.round)
        if trial.round not in self._pending_rounds:
            return
        self._pending_rounds.remove(trial.round)
        configuration = trial.configuration
        positions = self._started[configuration]
        # The runs in a log get the first positions of their instance, in the order in which they
        # ended. So the last position is free again, whichever run on the instance expired.
        positions.remove(
            max(p for p in positions if self._instance(configuration, p) == trial.instance)
        )
        if not positions:
            del self._started[configuration]
            if configuration >= self._first_new:
                del self._numbers[configuration_key(self.configurations.pop(configuration))]

    def warm(self, runs: Sequence[tuple[Trial, RunOutcome, float]], weight: float) -> None:
        """Learn runs of another tune before the first run of this tune, with a weight in (0, 1].

        Instances that this tune lacks have numbers from `instance_count` on. Configurations are
        numbered anew, the one with the least mean loss first.
        """
        losses: dict[str, list[float]] = defaultdict(list)
        parameters = {}
        for trial, outcome, seconds in runs:
            key = configuration_key(trial.parameters)
            parameters[key] = trial.parameters
            losses[key].append(self._gains.loss(outcome, seconds))
        for key in sorted(losses, key=lambda key: np.mean(losses[key])):
            self.space.check(parameters[key])
            if key not in self._numbers:
                self._number_configuration(len(self.configurations), parameters[key])
        self._first_new = len(self.configurations)
        for trial, outcome, seconds in runs:
            number = self._numbers[configuration_key(trial.parameters)]
            self._add_run(replace(trial, configuration=number), outcome, seconds, weight)
        self._warm_count = self._run_array.count

    def recommend(self) -> BestConfiguration:
        """Return the best configuration and its limit, beside the default and the next best."""
        if self._run_array.count == self._warm_count:
            raise ValueError("a recommendation needs at least one run, got none")
        runs = self._run_array.runs
        estimates = SpaceEstimates(
            runs,
            runs[self._warm_count :],
            self._features,
            self._search,
            self.instance_count,
            self._rng(_ESTIMATES, len(runs)),
        )
        incumbent = self._racing.incumbent if self._racing else estimates.choose_incumbent()
        return estimates.recommend(incumbent, self.configurations)

    def effects(self) -> list[ParameterEffect]:
        """Return the effect of each level of each parameter on the mean log time; none before runs.

        A failed run counts as longer than the largest limit, so that a level with which runs fail
        has a large effect.
        """
        runs = self._run_array.runs
        run_configurations = np.unique(runs[self._warm_count :]["configuration"])
        if not run_configurations.size:
            return []
        features = self._features[: runs["configuration"].max() + 1]
        model = RunTimeModel(self.instance_count, features.shape[1])
        draws = draw_feature_effects(model, runs, features, self._rng(_EFFECTS, len(runs)))
        return parameter_effects(self.space.levels, features[run_configurations], draws)

    def _rng(self, *purpose: int) -> np.random.Generator:
        return np.random.default_rng([self._seed, *purpose])

    def _add_run(self, trial: Trial, outcome: RunOutcome, seconds: float, weight: float) -> None:
        """Add a run to the array of runs; if a model decides, let it learn the run."""
        self._run_array.add(trial, outcome, seconds, weight)
        # A log lacks pending configurations, so they have no features yet.
        while trial.configuration >= len(self._features):
            self._features = np.concatenate([self._features, np.zeros_like(self._features)])
        self._features[trial.configuration] = self.space.encode(trial.parameters)
        if not self._racing:
            rng = self._rng(_SWEEPS, self._run_array.count)
            self._search.tell(self._run_array.runs, self._features, rng)

    def _number_configuration(self, number: int, values: dict[str, Scalar]) -> None:
        self.configurations[number] = values
        self._numbers[configuration_key(values)] = number

    def _new_number(self) -> int | None:
        """Return the number of the next new configuration; None if there is none."""
        # A race does not learn the runs of a warm start: their configurations are new to it.
        numbers = itertools.count(1 if self._racing else self._first_new)
        number = next(number for number in numbers if number not in self._started)
        is_exhausted = len(self.configurations) == len(self.space.configurations)
        return number if number in self.configurations or not is_exhausted else None

    def _draw_new_configuration(self, rng: np.random.Generator) -> dict[str, Scalar]:
        for _ in range(_TRIES):
            if configuration_key(values := self.space.sample(rng)) not in self._numbers:
                return values
        # A small space may be nearly exhausted.
        listed = self.space.configurations
        remaining = [values for values in listed if configuration_key(values) not in self._numbers]
        if not remaining:
            raise SpaceExhaustedError(f"only {len(self._numbers)} configurations could be found")
        return remaining[int(rng.integers(len(remaining)))]

    def _order(self, configuration: int, repetition: int) -> list[int]:
        """Return the permutation of instances for one repetition of a configuration's runs."""
        # All configurations of a race have the same order.
        key = (0 if self._racing else configuration, repetition)
        if key not in self._orders:
            order = self._rng(_ORDERS, *key).permutation(self.instance_count)
            self._orders[key] = order.tolist()
        return self._orders[key]

    def _instance(self, configuration: int, position: int) -> int:
        """Return the instance at a position of the order of a configuration."""
        repetition, offset = divmod(position, self.instance_count)
        return self._order(configuration, repetition)[offset]

    def _free_positions(self, configuration: int) -> list[int]:
        """Return the next positions without a run that counts or is pending."""
        started = self._started.get(configuration, set())
        count = math.ceil(self.instance_count * _SHARE_OF_INSTANCES)
        end = min(len(started) + count, self._most_runs)
        return [position for position in range(int(end)) if position not in started]
