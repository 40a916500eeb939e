"""The folder of a tune over a parameter space: its recommendation, effects and validation."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from keyhole.cached_property import cached_property
from keyhole.tune.held_out_validation import VALIDATION, compare_configurations
from keyhole.tune.parameter_effects import ParameterEffect
from keyhole.tune.recommendation import YARDSTICK, BestConfiguration, ConfigurationEstimate
from keyhole.tune.saved_tune import RUNS, SavedRuns, SavedTune, read_spec, refuse_tune_without_runs
from keyhole.tune.space_decider import SpaceDecider
from keyhole.tune.spec import FULL_CUT_OFF, Spec
from keyhole.tune.trial_log import TrialRecord, read_records
from keyhole.tune.warm_start import read_warm_start
from keyhole.validate import short_repr


def load_tune(folder: str | Path) -> SavedTune | SavedSpaceTune:
    """Load a tune folder, of a list of commands or of a space; a tuner may be at work in it.

    Parameters
    ----------
    folder : str or Path
        The folder of the tune.
    """
    has_space = read_spec(Path(folder)).search is not None
    return SavedSpaceTune.load(folder) if has_space else SavedTune.load(folder)


def make_decider(folder: Path, spec: Spec, records: Iterable[TrialRecord]) -> SpaceDecider:
    """Make the decider of a tune as it is after these runs.

    Raises
    ------
    ValueError
        If a record has no configuration or instance of the spec, or has other parameters than the
        configuration of its number.
    """
    search = spec.search
    assert search is not None
    decider = SpaceDecider(
        search.space,
        spec.limits,
        len(spec.instances),
        seed=spec.seed,
        cost_per_second=spec.objective.cost_per_second,
        cost_of_giving_up=spec.objective.cost_of_giving_up,
        policy=search.rule,
        learns_limit=spec.objective.preset != FULL_CUT_OFF,
        is_deterministic=search.is_deterministic,
    )
    positions = {instance.name: number for number, instance in enumerate(spec.instances)}
    if start := read_warm_start(folder):
        # Instances that only the earlier tune has are numbered after those of this tune.
        names = dict.fromkeys([*positions, *(run.instance for run in start.runs)])
        numbers = {name: number for number, name in enumerate(names)}
        trials = [
            (run.as_trial(numbers), run.outcome, run.seconds)
            for run in start.runs
            if run.outcome != "expired"
        ]
        decider.warm(trials, start.weight)
    for record in records:
        trial = record.as_trial(positions)
        if min(trial.configuration, trial.instance) < 0:
            raise ValueError(
                f"{folder / RUNS}: run {record.round:,} must have a configuration and an instance "
                f"of the spec, got {record.configuration} and {short_repr(record.instance)}"
            )
        decider.tell(trial, record.outcome, record.seconds)
        number = trial.configuration
        if record.is_counted and decider.configurations[number] != trial.parameters:
            raise ValueError(
                f"{folder / RUNS}: run {record.round:,} must have the parameters of "
                f"configuration {number}, got {short_repr(trial.parameters)}"
            )
    return decider


class SavedSpaceTune(SavedRuns):
    """The contents of the folder of a tune over a parameter space.

    Attributes
    ----------
    spec : Spec
        The spec of the tune.
    runs : list of TrialRecord
        The runs that count, in the order in which they ended.
    expired : list of TrialRecord
        Runs that do not count and were repeated.
    """

    has_space = True
    noun = "configuration"

    @cached_property
    def _decider(self) -> SpaceDecider:
        return make_decider(self.folder, self.spec, self.runs)

    def best(self) -> BestConfiguration:
        """Return the configuration and the limit to run, beside the default and others.

        Raises
        ------
        ValueError
            If nothing has been run yet.
        """
        return self._best

    @cached_property
    def _best(self) -> BestConfiguration:
        refuse_tune_without_runs(self)
        return self._decider.recommend()

    def effects(self) -> list[ParameterEffect]:
        """Return how each value, or third of a range, of each parameter affects run times.

        Without runs there are no effects.
        """
        return self._decider.effects()

    def estimates(self) -> dict[str, ConfigurationEstimate]:
        """Return the estimates of the recommended, the default and the next best, by name."""
        best = self.best()
        return {
            "recommended": best.incumbent,
            "default": best.default,
            YARDSTICK: best.default_at_cutoff,
            **{f"configuration {estimate.configuration}": estimate for estimate in best.runners_up},
        }

    def validation(self) -> dict[str, ConfigurationEstimate]:
        """Return the same estimates from instances kept aside; none before `Tuner.validate`."""
        return compare_configurations(self.spec, self.estimates(), self.validation_runs)

    @cached_property
    def validation_runs(self) -> list[TrialRecord]:
        """The runs on instances kept aside."""
        records = read_records(self.folder / VALIDATION, self.spec.names)
        return [record for record in records if record.is_counted]


AnyTune = SavedTune | SavedSpaceTune
"""A saved tune, of a list of commands or of a parameter space."""
