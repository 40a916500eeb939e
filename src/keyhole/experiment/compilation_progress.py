"""Progress of compilation ahead of time, with the time left, from what the first kernels took."""

import time
from collections.abc import Callable, Sequence
from typing import Final

from keyhole.durations import format_duration
from keyhole.experiment.compile_jobs import CompileJob, find_file
from keyhole.kernels.compiler_fork_locks import import_numba
from keyhole.play.progress import StatusLine

_SECONDS_BETWEEN_LINES: Final = 10.0


class CompilationProgress:
    """Counts kernels that are compiled one after the other, and shows how long the rest will take.

    Kernels take about equally long, so each of those left that has no file in the cache is expected
    to take the mean time of those that were compiled so far.

    Parameters
    ----------
    jobs : sequence of CompileJob
        The kernels, in their order.
    clock : callable, optional
        Returns the time in seconds.
    """

    def __init__(
        self, jobs: Sequence[CompileJob], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._files = [find_file(job) for job in jobs]
        self._missing = [file is None or not file.exists() for file in self._files]
        if any(self._missing):
            import_numba()  # which takes a second, and is no part of the time of the first kernel
        self._clock, self._since, self._seconds = clock, clock(), 0.0
        self._done, self.compiled = 0, 0
        self._line = StatusLine(_SECONDS_BETWEEN_LINES)

    def count_next(self) -> None:
        """Count the next kernel as done."""
        now = self._clock()
        if self._missing[self._done]:
            self.compiled += 1
            self._seconds += now - self._since
        self._done, self._since = self._done + 1, now

    @property
    def seconds_left(self) -> float | None:
        """The seconds that the rest will take; None if nothing was compiled that says so."""
        left = sum(self._missing[self._done :])
        if not left:
            return 0.0
        return left * self._seconds / self.compiled if self.compiled else None

    def show(self) -> None:
        """Print the time left, for the first kernel that was compiled and then now and then."""
        left = self.seconds_left
        first = self.compiled == 1 and self._missing[self._done - 1]
        if left and (first or self._line.is_due):
            count = sum(self._missing[self._done :])
            self._line.print(f"{count} left to compile, about {format_duration(left)}")
