"""The folder of a tune: its files, the runs in them, estimates from the runs, and their export."""

import json
import math
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self, cast

import numpy as np

from keyhole.cached_property import cached_property
from keyhole.contract.policy import Policy
from keyhole.data import write_aslib
from keyhole.data.aslib_files import RunToExport
from keyhole.extras import require_extra
from keyhole.files import folder_lock, has_content, write_atomically
from keyhole.study import Study, list_studies
from keyhole.study.events import TOLD, TOLD_LATE, TOLD_TOO_LATE
from keyhole.text_formatting import count_text
from keyhole.tune.decision_sources import make_decider
from keyhole.tune.held_out_validation import VALIDATION_FILE, compare_configurations
from keyhole.tune.pair_estimates import GainEstimates, Interval
from keyhole.tune.recommendation import (
    REFERENCE,
    TOLERANCE,
    Best,
    BestConfiguration,
    ConfigurationEstimate,
    PairEstimate,
)
from keyhole.tune.run_time_effects import ParameterEffect
from keyhole.tune.space_decider import SpaceDecider
from keyhole.tune.spec import DEFAULT_POLICY, Spec
from keyhole.tune.trial_log import RUNS_FILE, TrialLog, TrialRecord, describe_error, read_records
from keyhole.tune.varied_parameters import estimate_effects
from keyhole.validation import Range, check_integer, escape_controls, short_repr

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

    from keyhole.study.log_export import Replay

SPEC_FILE: Final = "tune.json"
STUDY: Final = "study.db"
REPORT_FILE: Final = "report.html"
STUDY_NAME: Final = "tune"
"""Name of the study in its database."""
_CHANGEABLE_ENTRIES: Final = ("name", "notes", "folder")
"""Entries of the spec that may change when a tune is resumed."""
_ENTRIES: Final = {entry.name for entry in fields(Spec)}


@contextmanager
def lock_tune_folder(folder: Path, spec: Spec) -> Iterator[None]:
    """Create or open a tune folder, and lock it until the end of the context.

    Raises
    ------
    ValueError
        If the folder belongs to another spec or has other files, or if another process works in it.
    """
    if not has_content(folder):  # raises if the path is that of a file
        spec.check_new()
    folder.mkdir(parents=True, exist_ok=True)
    with folder_lock(folder):
        _check_and_write_spec(folder, spec)
        yield


def _check_and_write_spec(folder: Path, spec: Spec) -> None:
    """Refuse a folder that has other files or another spec; else write the spec."""
    if has_content(folder):
        if not (folder / SPEC_FILE).exists():
            raise ValueError(
                f"out must be a new folder or that of a tune, but {folder} has other files"
            )
        saved_entries = read_spec(folder).as_json()
        new_entries = spec.as_json()
        for entry, saved in saved_entries.items():
            if entry not in _CHANGEABLE_ENTRIES and saved != new_entries[entry]:
                path, old, new = _find_first_difference(entry, saved, new_entries[entry])
                raise ValueError(
                    f"{folder} belongs to a tune with another spec: {path} was {short_repr(old)}, "
                    f"is now {short_repr(new)}; choose another folder"
                )
        # If this version cannot open the study, this raises before anything is written.
        if (folder / STUDY).exists():
            list_studies(folder / STUDY)
    # The spec is written by each call, since its name and notes may have changed.
    write_atomically(folder / SPEC_FILE, json.dumps(spec.as_json(), indent=1).encode())


def _find_first_difference(path: str, old: object, new: object) -> tuple[str, object, object]:
    """Return the path at which two values first differ, and both values at this path."""
    if isinstance(old, dict) and isinstance(new, dict) and old.keys() == new.keys():
        key = next(key for key in old if old[key] != new[key])
        return _find_first_difference(f"{path}.{key}", old[key], new[key])
    if not isinstance(old, list) or not isinstance(new, list):
        return path, old, new
    if len(old) != len(new):
        return f"the number of {path}", len(old), len(new)
    index = next(i for i, (a, b) in enumerate(zip(old, new, strict=True)) if a != b)
    return _find_first_difference(f"{path}[{index}]", old[index], new[index])


def read_spec(folder: Path) -> Spec:
    """Return the spec of a tune folder."""
    path = folder / SPEC_FILE
    if not path.is_file():
        raise FileNotFoundError(f"{folder} must be a tune folder, but has no {SPEC_FILE}")
    try:
        content = json.loads(path.read_text("utf-8"))
        spec = Spec.from_json(content)
    except KeyError as error:
        raise ValueError(f"{path} is damaged: it has no entry {error}") from None
    except (ValueError, TypeError, RecursionError) as error:
        raise ValueError(f"{path} is damaged: {describe_error(error)}") from None
    if unknown := content.keys() - _ENTRIES:
        raise ValueError(
            f"{path} has entries that this version of Keyhole does not know "
            f"({', '.join(sorted(unknown))}): open it with the newer version that wrote them"
        )
    return spec


def open_tune_study(folder: Path, spec: Spec) -> Study:
    """Open the study of a tune, or create it."""
    path = folder / STUDY
    # If the process was killed after it made the database, and before it made the study, the
    # database is empty.
    if path.exists() and STUDY_NAME in list_studies(path):
        return Study.open(path, STUDY_NAME)  # with the policy that it was created with
    return Study.create(
        path,
        STUDY_NAME,
        spec.policy or DEFAULT_POLICY,
        [arm.name for arm in spec.arms],
        on_timeout="ask_again",
        seed=spec.seed,
        time_unit=float(spec.clock == "wall"),  # 0 for CPU time, which does not follow the clock
        **spec.facts(),
    )


def read_runs(folder: Path, spec: Spec) -> list[TrialRecord]:
    """Return the records of all runs; warn if some are lost, and raise if all are."""
    path = folder / RUNS_FILE
    told_ids: set[str] = set()
    # The study is read before the log, since a tuner at work records a run before it tells the
    # study. If the study cannot be read, the runs still can, since they are in another file.
    with (
        suppress(OSError, ValueError, RuntimeError),
        Study.open(folder / STUDY, STUDY_NAME) as study,
    ):
        told_ids = _told_run_ids(study)
    records = list(read_records(path, spec.names))
    try:
        _refuse_lost_runs(path, told_ids, {record.id for record in records if record.is_counted})
    except ValueError as error:
        if not records:
            raise
        # This is only a warning, since a folder that was copied while a tuner was at work may lack
        # runs, too.
        warnings.warn(str(error), stacklevel=3)
    return records


def resume_study(study: Study, log: TrialLog) -> None:
    """Tell the study the recorded runs that it lacks, and expire its other pending decisions.

    Raises
    ------
    ValueError
        If records and study disagree: one of their files was removed, cut, or restored.
    """
    told_ids = _told_run_ids(study)
    pending_ids = [decision.id for decision in study.pending]
    _refuse_lost_runs(log.path, told_ids, set(log.by_id))
    untold_ids = log.by_id.keys() - told_ids
    if unknown := len(untold_ids - set(pending_ids)):
        raise ValueError(
            f"{log.path.with_name(STUDY)} lacks {unknown:,} of the runs in {log.path.name}; "
            "restore it from a backup"
        )
    for decision_id in pending_ids:
        if decision_id in untold_ids:
            study.tell(decision_id, **log.by_id[decision_id].to_feedback())
        else:
            study.expire(decision_id)


def _told_run_ids(study: Study) -> set[str]:
    return {
        str(row.decision) for row in study.log() if row.kind in (TOLD, TOLD_LATE, TOLD_TOO_LATE)
    }


def _refuse_lost_runs(path: Path, told_ids: set[str], recorded_ids: set[str]) -> None:
    """Refuse a log at `path` that lacks the record of a run that the study was told."""
    if lost_count := len(told_ids - recorded_ids):
        raise ValueError(
            f"{path} lacks {lost_count:,} of the runs that the study has; restore it from a backup"
        )


_REGRET_QUANTILE: Final = 0.95
_SPEC_KINDS: Final = ("of a list of commands", "with [parameters] in its spec")
"""Kinds of tunes, without and with a parameter space: indexed by `has_space`."""


class SavedRuns:
    """The spec and the runs of a tune folder.

    Attributes
    ----------
    spec : Spec
        The spec of the tune.
    runs : list of TrialRecord
        The runs that count, in the order in which they ended.
    expired : list of TrialRecord
        Runs that do not count and were repeated.
    """

    has_space: ClassVar[bool]
    noun: ClassVar[str]  # what is compared: an arm or a configuration

    def __init__(self, folder: Path, spec: Spec, records: Sequence[TrialRecord]) -> None:
        self.folder = folder
        self.spec = spec
        self.runs = list({record.id: record for record in records if record.is_counted}.values())
        self.expired = [record for record in records if not record.is_counted]
        self.elapsed = max((record.elapsed for record in records), default=0.0)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Load a tune folder; a tuner may be at work in it."""
        folder = Path(folder)
        spec = read_spec(folder)
        if (spec.search is not None) != cls.has_space:
            raise ValueError(
                f"{folder} must be a tune {_SPEC_KINDS[cls.has_space]}, got one "
                f"{_SPEC_KINDS[not cls.has_space]}; in Python, keyhole.tune.load_tune opens both"
            )
        return cls(folder, spec, read_runs(folder, spec))

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the runs as a data frame (keyhole[pandas]), a parameter as `parameters.NAME`."""
        require_extra("pandas", "SavedTune.to_pandas()")
        import pandas

        return pandas.json_normalize([vars(run) for run in self.runs])

    def plot(self, *, axes: "Axes | None" = None) -> "Axes":
        """Draw the gain of a run by time limit, with 95 % intervals.

        A circle marks the recommendation. Commands without runs are left out, and the curve of a
        command ends at the largest limit that it was run with. In a tune of a parameter space, the
        recommended, the default and the next best configurations have curves.

        Parameters
        ----------
        axes : matplotlib Axes, optional
            Where to draw; by default on a new figure.

        Raises
        ------
        ValueError
            If nothing has been run yet.
        """
        require_extra("plots", f"{type(self).__name__}.plot()")
        from keyhole.pages.matplotlib_chart import plot_chart
        from keyhole.tune.charts import gain_chart

        return plot_chart(gain_chart(cast("AnyTune", self)), axes)

    def __repr__(self) -> str:
        """Return name and number of runs."""
        return f"{type(self).__name__}({self.spec.name}: {count_text(len(self.runs), 'run')})"

    def _repr_html_(self) -> str:
        """Return the HTML for notebooks: the recommendation, a picture and tables."""
        from keyhole.tune.summary import tune_html

        return tune_html(cast("AnyTune", self))


def refuse_tune_without_runs(tune: SavedRuns) -> None:
    """Raise a ValueError if nothing has been run yet."""
    if not tune.runs:
        raise ValueError(f"{tune.folder}: nothing has been run yet")


class SavedTune(SavedRuns):
    """A saved tune of a list of commands: its spec, its runs, and estimates from them.

    Attributes
    ----------
    spec : Spec
        The spec of the tune.
    runs : list of TrialRecord
        The runs that count, in the order in which they ended.
    expired : list of TrialRecord
        Runs that do not count and were repeated.
    """

    has_space = False
    noun = "arm"

    @cached_property
    def gains(self) -> GainEstimates:
        """Posterior estimates of the gains of all pairs."""
        return GainEstimates(self.spec, self.runs)

    def runs_of(self, arm: str) -> list[TrialRecord]:
        """Return the runs of an arm."""
        return [run for run in self.runs if run.arm == arm]

    def estimate_pair(self, arm: int, limit_index: int) -> PairEstimate:
        """Return the estimates of a pair.

        Parameters
        ----------
        arm : int
            The index of the arm in ``spec.names``, from 0.
        limit_index : int
            The index of the limit in ``spec.limits``, from 0, the shortest limit.

        Raises
        ------
        TypeError, ValueError
            If an index is no whole number, or the tune has no such arm or limit.
        """
        arm = check_integer("arm", arm, Range(ge=0, le=len(self.spec.names) - 1))
        last_limit = len(self.spec.limits) - 1
        limit_index = check_integer("limit_index", limit_index, Range(ge=0, le=last_limit))
        gains = self.gains
        return PairEstimate(
            arm=self.spec.names[arm],
            limit=self.spec.limits[limit_index],
            gain=gains.gain(arm, limit_index),
            success_rate=gains.success_rate(arm, limit_index),
            seconds=Interval.from_draws(gains.seconds[:, arm, limit_index]),
            runs=int(gains.run_counts[arm, limit_index]),
        )

    def best(self) -> Best:
        """Return the pair with the largest mean gain among those that were tried.

        Raises
        ------
        ValueError
            If nothing has been run yet.
        """
        return self._best

    @cached_property
    def _best(self) -> Best:
        refuse_tune_without_runs(self)
        gains = self.gains
        arm, limit_index = gains.best_pair()
        full_means = gains.tried_means[:, -1]
        # If no arm was run with the full cut-off, estimates at it are compared for all arms.
        if not np.isfinite(full_means).any():
            full_means = gains.draws.mean(axis=0)[:, -1]
        full_arm = int(full_means.argmax())
        has_runs = gains.run_counts[:, 0] > 0
        # The untried pairs are compared as well, since the best pair may be one of them.
        draws = gains.comparison_gains
        shortfalls = draws.max(axis=(1, 2)) - draws[:, arm, limit_index]
        return Best(
            **vars(self.estimate_pair(arm, limit_index)),
            # The draws say little of an arm that was never run: it is assumed to be the best with
            # the probability 1 / arms.
            probability=float(
                (shortfalls <= TOLERANCE * self.spec.success.reward_span).mean() * has_runs.mean()
            ),
            regret_bound=float(np.quantile(shortfalls, _REGRET_QUANTILE)),
            full=self.estimate_pair(full_arm, len(self.spec.limits) - 1),
            gain_over_full=self._gain_over_full(arm, limit_index, full_arm),
            runs_of_arms={name: len(self.runs_of(name)) for name in self.spec.names},
            successes=sum(run.outcome == "ok" for run in self.runs),
        )

    def _gain_over_full(self, arm: int, limit_index: int, full_arm: int) -> Interval:
        """Return the gain of a pair less the gain of the best command at the full cut-off.

        It is uncertain which command is the best at the full cut-off. The mean and the lower end of
        the interval compare with the best tried command of each draw. The upper end compares with
        `full_arm`, which has the largest mean.
        """
        draws = self.gains.cut_off_gains
        pair_draws = draws[:, arm, limit_index]
        full_draws = draws[:, :, -1]
        has_runs = self.gains.run_counts[:, 0] > 0
        over_best = Interval.from_draws(pair_draws - full_draws[:, has_runs].max(axis=1))
        over_full = Interval.from_draws(pair_draws - full_draws[:, full_arm])
        return Interval(over_best.value, over_best.low, over_full.high)

    def effects(self) -> list[ParameterEffect]:
        """Return how each value of each grid parameter affects run times; none without runs."""
        return estimate_effects(self.spec, self.runs)

    def replay(self, policy: Policy, **facts: Any) -> "Replay":
        """Replay another policy on the recorded decisions: see `keyhole.study.Study.replay`."""
        with open_tune_study(self.folder, self.spec) as study:
            return study.replay(policy, **facts)


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
        """Return estimates of the recommended, default and next best configurations, by name."""
        best = self.best()
        return {
            "recommended": best.incumbent,
            "default": best.default,
            REFERENCE: best.default_at_cutoff,
            **{f"configuration {estimate.configuration}": estimate for estimate in best.runners_up},
        }

    def validation(self) -> dict[str, ConfigurationEstimate]:
        """Return what `estimates` does, from instances kept aside; none before `Tuner.validate`."""
        return compare_configurations(self.spec, self.estimates(), self.validation_runs)

    @cached_property
    def validation_runs(self) -> list[TrialRecord]:
        """The runs on instances kept aside."""
        records = read_records(self.folder / VALIDATION_FILE, self.spec.names)
        return [record for record in records if record.is_counted]


AnyTune = SavedTune | SavedSpaceTune
"""A saved tune, of a list of commands or of a parameter space."""


def load_tune(folder: str | Path) -> SavedTune | SavedSpaceTune:
    """Load a tune folder, of a list of commands or of a space; a tuner may be at work in it.

    Parameters
    ----------
    folder : str or Path
        The folder of the tune.
    """
    has_space = read_spec(Path(folder)).search is not None
    return SavedSpaceTune.load(folder) if has_space else SavedTune.load(folder)


_STATUSES: Final = {
    "ok": "ok",
    "out of time": "timeout",
    "out of memory": "memout",
    "failed": "crash",
}


def write_scenario(tune: SavedRuns, folder: str | Path) -> Path:
    """Write runs as a scenario that `keyhole.data.load_aslib` reads; return the scenario's folder.

    Rewards that were read from outputs are scaled to [0, 1] and become the solution quality.
    """
    refuse_tune_without_runs(tune)
    if (Path(folder) / SPEC_FILE).exists():
        raise ValueError(
            f"the scenario must be written to a folder of its own, got the tune folder {folder}"
        )
    exported_runs = (_make_run_to_export(tune, run) for run in tune.runs)
    return write_aslib(folder, tune.spec.name, tune.spec.limits[-1], exported_runs)


def _make_run_to_export(tune: SavedRuns, run: TrialRecord) -> RunToExport:
    success = tune.spec.success
    quality = math.nan
    if success.number and run.reward is not None:
        low, high = success.scale
        quality = (run.reward - low) / (high - low)
    seconds = run.limit if run.outcome == "out of time" else min(run.seconds, run.limit)
    instance = escape_controls(run.instance)  # the name of a file need not be UTF-8
    return RunToExport(instance, run.label, seconds, _STATUSES[run.outcome], run.limit, quality)
