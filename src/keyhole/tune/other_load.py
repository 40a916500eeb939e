"""Load of other processes on the cores of a tune's runs, which makes measured seconds too long."""

from collections.abc import Iterable
from typing import Final

from keyhole.tune.spec import Spec
from keyhole.tune.trial_log import TrialRecord

_MIN_SECONDS: Final = 5.0
_MAX_SHARE: Final = 0.1


class OtherLoad:
    """Sum of the load of other processes, over runs.

    Parameters
    ----------
    spec : Spec
        The spec of the tune.
    runs : iterable of TrialRecord
        Runs to begin with.
    """

    def __init__(self, spec: Spec, runs: Iterable[TrialRecord] = ()) -> None:
        self._spec = spec
        self._seconds = self._others = 0.0
        for run in runs:
            self.add(run)

    def add(self, run: TrialRecord) -> None:
        """Take a run into account."""
        self._seconds += run.seconds * self._spec.cores
        self._others += run.others

    @property
    def share(self) -> float:
        """Share of the time of the runs in which their cores worked for other processes."""
        return min(1.0, self._others / self._seconds) if self._seconds else 0.0

    @property
    def is_high(self) -> bool:
        """Whether it makes the measured seconds too long."""
        # Other load changes CPU time little.
        is_measured = self._spec.clock != "cpu" and self._seconds >= _MIN_SECONDS
        return is_measured and self.share > _MAX_SHARE

    @property
    def warning(self) -> str:
        """Warning in words."""
        return (
            "the machine was busy: during the runs, their cores worked for other processes "
            f"{self.share:.0%} of the time, so that the measured seconds are too long; use fewer "
            "workers, or a machine without other load"
        )
