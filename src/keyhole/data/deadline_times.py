"""Recorded times, such as of deliveries, as the problem of choosing what meets a deadline.

An option (arm) is a way to do the job, such as a carrier; a deadline is a threshold for its time.
"""

import math
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.threshold import Problem
from keyhole.threshold.setting import Feedback
from keyhole.validate import ANY, check_each, check_names, check_vector


@dataclass(frozen=True, eq=False, repr=False)
class Times:
    """Recorded times of each arm, in minutes.

    Parameters
    ----------
    name : str
        Name of the data set.
    arms : tuple of str, shape (arms,)
        Names of the arms, each once; at least one.
    minutes : sequence of ndarray of float64, shape (arms,)
        Times of each arm, at least one; infinite for an event that did not occur. The arrays are
        copied and made read-only.
    source, licence : str, default ""
        Source and licence of the times.

    Examples
    --------
    >>> ferries = Times("ferries", ("red", "blue"), ([3, 12, 5, np.inf], [8, 6]))
    >>> ferries
    Times(ferries; red: 4, blue: 2)
    >>> ferries.met_shares(deadlines=[15, 10, 5])
    array([[0.75, 0.5 , 0.5 ],
           [1.  , 1.  , 0.  ]])
    >>> problem = ferries.problem(deadlines=[15, 10, 5], feedback="censored")
    >>> ferries.arms[problem.best[0]], ferries.arms[problem.best[2]]
    ('blue', 'red')
    """

    name: str
    arms: tuple[str, ...]
    minutes: tuple[FloatArray, ...]
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        """Check the values, and copy the arrays."""
        object.__setattr__(self, "arms", check_names("arms", self.arms))
        if len(self.minutes) != len(self.arms):
            raise ValueError(
                f"minutes must have one list for each arm, {len(self.arms)}; "
                f"got {len(self.minutes)}"
            )
        columns = (_times(f"minutes[{i}]", values) for i, values in enumerate(self.minutes))
        object.__setattr__(self, "minutes", tuple(columns))

    def __repr__(self) -> str:
        """Return the name, and the number of times of each arm."""
        sizes = [f"{arm}: {len(m)}" for arm, m in zip(self.arms, self.minutes, strict=True)]
        return f"Times({self.name}; {', '.join(sizes)})"

    def met_shares(self, deadlines: ArrayLike) -> FloatArray:
        """Return the share of each arm's times that are at most each deadline, (arms, levels).

        Deadlines are in minutes, decreasing.
        """
        grid = check_decreasing("deadlines", deadlines)
        return np.array([(m[:, None] <= grid).mean(axis=0) for m in self.minutes])

    def problem(
        self,
        deadlines: ArrayLike,
        *,
        feedback: Feedback,
        order: Any = "iid",
    ) -> Problem:
        """Make a problem in which a threshold is a deadline, and a pull draws one of the times.

        Threshold c is the c-th deadline; higher thresholds are tighter. A sample is the highest
        threshold whose deadline is met, 0 if none is. With censored feedback a sample is observed
        only if the deadline was missed.

        Parameters
        ----------
        deadlines : sequence of float
            In minutes, decreasing.
        feedback, order
            See `keyhole.threshold.Problem`.
        """
        grid = check_decreasing("deadlines", deadlines)
        samples = [_levels(minutes, grid) for minutes in self.minutes]
        return Problem.replay(samples, len(grid), feedback=feedback, order=order)


def level_of_time(minutes: float, deadlines: ArrayLike) -> int:
    """Return the number of deadlines that a time meets: its sample in `Times.problem`.

    Deadlines are in minutes, decreasing; the time may be infinite.

    Examples
    --------
    >>> level_of_time(7, [15, 10, 5]), level_of_time(5, [15, 10, 5])
    (2, 3)
    """
    grid = check_decreasing("deadlines", deadlines)
    return int(_levels(_times("minutes", [minutes]), grid)[0])


def check_decreasing(name: str, minutes: ArrayLike) -> FloatArray:
    """Return checked deadlines; refuse one that is not shorter than the one before."""
    grid = check_vector(name, minutes, ANY)
    for i in range(1, len(grid)):
        if grid[i] >= grid[i - 1]:
            raise ValueError(
                f"{name} must be decreasing, from the most generous to the tightest; "
                f"got {grid[i]:g} after {grid[i - 1]:g}"
            )
    return grid


def read_bundled_table(*path: str, header: bool = False) -> tuple[dict[str, str], list[str]]:
    """Return the notes above a table in the package, by name, and its rows.

    The path is relative to the folder of `keyhole.data`; with `header` the first row has the names
    of the columns.
    """
    text = resources.files("keyhole.data").joinpath(*path).read_text(encoding="utf-8")
    lines = text.splitlines()
    notes = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    rows = [line for line in lines if not line.startswith("# ")]
    return notes, rows if header else rows[1:]


def _levels(minutes: FloatArray, grid: FloatArray) -> IntArray:
    """Return the number of deadlines that each time meets."""
    # From the left: a deadline that equals the time is met.
    increasing = grid[::-1]
    return np.asarray(len(grid) - np.searchsorted(increasing, minutes, side="left"))


def _times(name: str, values: Any) -> FloatArray:
    """Return a read-only copy of times; refuse an empty list, and other values."""
    column = np.array(values)
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a flat list of numbers, got {values!r}")
    if column.size == 0:
        raise ValueError(f"{name} must have at least one entry, got none")
    column = column.astype(np.float64)
    # Infinity is allowed: a flight that never arrives meets no deadline.
    is_time = ~np.isnan(column) & (column != -math.inf)
    check_each(name, column, is_time, "be a number of minutes or inf")
    column.setflags(write=False)
    return column
