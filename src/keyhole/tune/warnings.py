"""What a user should hear while it goes on, not when all is over."""

import warnings
from collections.abc import Sequence
from typing import Final

from keyhole.contract.descriptions import count_text
from keyhole.tune.cpu_cores import physical_cores
from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import EXPIRED, TrialRecord

_RUNS: Final = 10
_MANY_RUNS: Final = 100
_SECONDS: Final = 5.0
_OTHERS: Final = 0.1
_SHOWN: Final = 200


class AllFailedError(RuntimeError):
    """Every run failed by itself: there is nothing to learn."""


class EarlyWarnings:
    """Looks at the runs of one stay.

    Parameters
    ----------
    spec : Spec
        What is tuned.
    """

    def __init__(self, spec: Spec) -> None:
        self._spec = spec
        self._counts = dict.fromkeys(("ok", "failed", "out of time", "out of memory", EXPIRED), 0)
        self._arms: set[str] = set()
        self._seconds = self._others = 0.0
        self._said: set[str] = set()
        self._unmatched = self._matched = 0

    def observe(self, record: TrialRecord) -> None:
        """Take a run into account; warn, once of each thing, or give up if all is in vain."""
        self._counts[record.outcome] += 1
        if record.outcome == EXPIRED:
            self._warn(EXPIRED, f"a run counts for nothing and is done again: {record.reason}")
            return
        self._arms.add(record.arm)
        self._look_for_pattern(record)
        self._look_at_others(record)
        crashed = self._counts["failed"] + self._counts["out of memory"]
        runs = sum(self._counts.values()) - self._counts[EXPIRED]
        arms = len(self._arms)
        if crashed == runs >= _RUNS and (arms == len(self._spec.arms) or runs >= _MANY_RUNS):
            raise AllFailedError(
                f"all {runs} runs failed, of {count_text(arms, 'arm')}; the last, of "
                f"{record.arm!r} on {record.instance!r}, {record.reason}{_output(record)}"
            )

    def _look_for_pattern(self, record: TrialRecord) -> None:
        """Say after ten runs that ended by themselves that nothing was found in their output."""
        success = self._spec.success
        if record.outcome == "ok":
            self._matched += 1
        elif record.outcome == "failed" and record.reason.endswith("was not found"):
            self._unmatched += 1
        if self._unmatched >= _RUNS and not self._matched:
            which = "pattern" if success.pattern and "pattern" in record.reason else "number"
            wanted = success.pattern if which == "pattern" else success.number
            self._warn(
                "pattern",
                f"success.{which} {wanted!r} was found in none of {self._unmatched} outputs so "
                f"far{_output(record)}",
            )

    def _look_at_others(self, record: TrialRecord) -> None:
        if self._spec.clock == "cpu":  # which others do not slow down by much
            return
        self._seconds += record.seconds * self._spec.cores
        self._others += record.others
        if self._seconds >= _SECONDS and self._others > _OTHERS * self._seconds:
            self._warn(
                "others",
                "the machine is busy: while commands ran, their cores worked for others "
                f"{min(1.0, self._others / self._seconds):.0%} of the time, so that the seconds "
                "measured are too long; take fewer workers, or a machine that does nothing else",
            )

    def _warn(self, what: str, text: str) -> None:
        if what not in self._said:
            self._said.add(what)
            warnings.warn(text, stacklevel=2)


def workers_warning(workers: int, each: int, cores: Sequence[int]) -> str:
    """Return what is to be said of more workers than there are cores, if anything."""
    there = physical_cores(cores)
    if not cores or workers * each <= there:
        return ""
    threads = f", which have {len(cores)} threads" if there < len(cores) else ""
    wanted = f"{workers} workers with {each} core{'' if each == 1 else 's'} each"
    return f"{wanted} share {there}{threads}: the seconds measured are too long"


def _output(record: TrialRecord) -> str:
    """Return the last lines of what a run wrote, on one."""
    found = ""
    for line in reversed(record.output.splitlines()):
        more = " ".join(f"{line} {found}".split())
        if found and len(more) > _SHOWN:
            break
        found = more
    return f"; it wrote: {found[-_SHOWN:]}" if found else "; it wrote nothing"
