"""Warnings of a tune, such as that no run succeeds, or that other processes are at work."""

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import Final

from keyhole.text_formatting import count_text
from keyhole.tune.machine_load import count_physical_cores
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import EXPIRED, TrialRecord
from keyhole.validation import short_repr

_MIN_RUNS: Final = 10  # that show a problem, before a warning or the end of the tune
_MAX_FAILED_RUNS: Final = 100  # if all have failed, the tune ends though arms are untried
_MIN_CONFIGURATIONS: Final = 20  # if so many of a space have all failed, the tune ends
_MOST_CHARACTERS: Final = 200  # a warning quotes at most so much of an output
_MIN_SECONDS: Final = 5.0  # core seconds of runs below which there is no warning of other load
_MAX_SHARE: Final = 0.1  # up to this share of other load there is no warning


class AllFailedError(RuntimeError):
    """Every run has failed: there is nothing to learn."""


class OtherLoad:
    """Load of other processes on the cores of runs, summed over runs.

    Parameters
    ----------
    spec : Spec
        The spec of the tune.
    runs : iterable of TrialRecord
        Runs to begin with.
    """

    def __init__(self, spec: Spec, runs: Iterable[TrialRecord] = ()) -> None:
        self._spec = spec
        self._core_seconds = self._other_seconds = 0.0
        for run in runs:
            self.count_run(run)

    def count_run(self, run: TrialRecord) -> None:
        """Add the times of a run."""
        self._core_seconds += run.seconds * self._spec.cores
        self._other_seconds += run.others

    @property
    def share(self) -> float:
        """Share of the runs' time in which their cores worked for other processes."""
        return min(1.0, self._other_seconds / (self._core_seconds or float("inf")))

    @property
    def warning(self) -> str:
        """Warning that the machine was busy, so that the seconds are too long; "" if it was not."""
        # Other load changes CPU time little.
        is_affected = self._spec.clock != "cpu" and self._core_seconds >= _MIN_SECONDS
        if not (is_affected and self.share > _MAX_SHARE):
            return ""
        return (
            "the machine was busy: during the runs, their cores worked for other processes "
            f"{self.share:.0%} of the time, so that the measured seconds are too long; end other "
            "programs, use another machine, or use fewer workers if you have several"
        )


class EarlyWarnings:
    """Warnings that a call of `Tuner.run` gives as soon as runs show a problem.

    Parameters
    ----------
    spec : Spec
        The spec of the tune.
    runs : collection of TrialRecord
        The runs of earlier calls.
    """

    def __init__(self, spec: Spec, runs: Collection[TrialRecord]) -> None:
        self._spec = spec
        self._counts = Counter[str](run.outcome for run in runs)
        # Arms, or configurations of a space.
        self._tried = {(run.arm, run.configuration) for run in runs}
        self._other_load = OtherLoad(spec)
        self._warned: set[str] = set()
        self._mismatch_count = 0

    def observe(self, record: TrialRecord) -> None:
        """Warn once of each problem that this run shows; raise if all runs failed."""
        if record.outcome == EXPIRED:
            self._warn(EXPIRED, f"a run does not count and is repeated: {record.reason}")
            return
        self._counts[record.outcome] += 1
        self._tried.add((record.arm, record.configuration))
        self._warn_of_unmatched_output(record)
        self._other_load.count_run(record)
        if text := self._other_load.warning:
            self._warn("others", text)
        failed_count = self._counts["failed"] + self._counts["out of memory"]
        runs = self._counts.total()
        # Untried arms may succeed: the tune ends only if all arms, or many configurations of a
        # space, were tried, or after many runs.
        noun = "arm"
        needed_count = len(self._spec.arms)
        if self._spec.search is not None:
            noun = "configuration"
            needed_count = _MIN_CONFIGURATIONS
        has_tried_enough = len(self._tried) >= needed_count
        if failed_count == runs >= _MIN_RUNS and (has_tried_enough or runs >= _MAX_FAILED_RUNS):
            raise AllFailedError(
                f"all {runs} runs failed, of {count_text(len(self._tried), noun)}; the last, of "
                f"{record.arm!r} on {record.instance!r}, {record.reason}{_format_output(record)}"
            )

    def _warn_of_unmatched_output(self, record: TrialRecord) -> None:
        """Warn if success.pattern or success.number was found in none of ten outputs."""
        success = self._spec.success
        self._mismatch_count += record.reason.endswith("was not found")
        if self._mismatch_count >= _MIN_RUNS and not self._counts["ok"]:
            entry = "number"
            if success.pattern and "pattern" in record.reason:
                entry = "pattern"
            expression = getattr(success, entry)
            self._warn(
                "pattern",
                f"success.{entry} {expression!r} was found in none of "
                f"{self._mismatch_count} outputs so far{_format_output(record)}",
            )

    def _warn(self, topic: str, text: str) -> None:
        if topic not in self._warned:
            self._warned.add(topic)
            warnings.warn(text, stacklevel=2)


def warn_of_unused_instances(spec: Spec) -> None:
    """Warn of arms that use no field of an instance, if there are several instances."""
    instance_fields = {"instance", *spec.instances[0].columns, "**"}  # "**" takes all fields
    names = [
        arm.name
        for arm in spec.arms
        # The arguments of a function may be unknown, and are then empty.
        if (arm.command or arm.arguments)
        and instance_fields.isdisjoint({*arm.open_fields(), *arm.arguments} - {*arm.parameters})
    ]
    if names and len(spec.instances) > 1:
        warnings.warn(
            f"arms {short_repr(names)} use neither {{instance}} nor a column, so that all "
            f"{len(spec.instances):,} instances are the same for them; add {{instance}}, or leave "
            "instances out",
            stacklevel=3,
        )


def workers_warning(workers: int, cores_each: int, cores: Sequence[int]) -> str:
    """Return a warning if workers need more cores than there are, else ""."""
    needed_count = workers * cores_each
    core_count = count_physical_cores(cores)
    if not cores or needed_count <= core_count:
        return ""
    return (
        f"workers: {count_text(needed_count, 'core')} would be needed, and this process may use "
        f"{core_count} with {count_text(len(cores), 'thread')}: the measured seconds are too long"
    )


def _format_output(record: TrialRecord) -> str:
    """Return the end of a run's output on one line, to be put at the end of a message."""
    text = ""
    for line in reversed(record.output.splitlines()):
        longer = " ".join(f"{line} {text}".split())
        if text and len(longer) > _MOST_CHARACTERS:
            break
        text = longer
    return f"; its output: {text[-_MOST_CHARACTERS:]}" if text else "; no output"
