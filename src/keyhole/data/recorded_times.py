"""Recorded times, arm by arm: made into a threshold bandit by a list of deadlines."""

import math
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_memory import FloatArray, IntArray
from keyhole.threshold import Problem
from keyhole.threshold.setting import Feedback
from keyhole.validate import ANY, check_distinct, check_vector


@dataclass(frozen=True, eq=False, repr=False)
class Times:
    """Arms, and how long each of them took, time after time.

    Parameters
    ----------
    name : str
        What the data are called.
    arms : tuple of str, shape (arms,)
        What each arm is, each once; at least one.
    minutes : sequence of ndarray of float64, shape (arms,)
        The times of each arm, at least one; infinite for what never came. The arrays are copied
        and made read-only.
    source, licence : str, default ""
        Where the times come from, and under which terms.

    Examples
    --------
    >>> ferries = Times("ferries", ("red", "blue"), ([3, 12, 5, np.inf], [8, 6]))
    >>> ferries
    Times(ferries; red: 4, blue: 2)
    >>> ferries.kept(deadlines=[15, 10, 5])
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
        """Check the values, and take copies of the arrays."""
        object.__setattr__(self, "arms", check_distinct("arms", self.arms))
        if len(self.minutes) != len(self.arms):
            raise ValueError(
                f"minutes must have one list for each arm, {len(self.arms)}; "
                f"got {len(self.minutes)}"
            )
        columns = (_times(f"minutes[{i}]", values) for i, values in enumerate(self.minutes))
        object.__setattr__(self, "minutes", tuple(columns))

    def __repr__(self) -> str:
        """Return the name, and how many times each arm has."""
        sizes = [f"{arm}: {len(m)}" for arm, m in zip(self.arms, self.minutes, strict=True)]
        return f"Times({self.name}; {', '.join(sizes)})"

    def kept(self, deadlines: ArrayLike) -> FloatArray:
        """Return the share of each arm's times that keep each deadline: shape (arms, levels).

        Deadlines, kept by a time that is no longer, are in minutes, falling.
        """
        grid = check_nonincreasing("deadlines", deadlines)
        return np.array([(m[:, None] <= grid).mean(axis=0) for m in self.minutes])

    def problem(
        self,
        deadlines: ArrayLike,
        *,
        feedback: Feedback,
        order: Any = "iid",
    ) -> Problem:
        """Make a problem in which a threshold is a deadline, and a pull draws one of the times.

        Threshold c asks for the c-th deadline: the higher, the tighter. A sample is the highest
        threshold whose deadline is kept, 0 if none is. With censored feedback it is seen only by
        how much a deadline was missed; that one was kept says no more than that.

        Parameters
        ----------
        deadlines : sequence of float
            In minutes, falling.
        feedback, order
            See `keyhole.threshold.Problem`.
        """
        grid = check_nonincreasing("deadlines", deadlines)
        samples = [_levels(minutes, grid) for minutes in self.minutes]
        return Problem.replay(samples, len(grid), feedback=feedback, order=order)


def deadlines_kept(minutes: float, deadlines: ArrayLike) -> int:
    """Return how many deadlines a time keeps: the sample that `Times.problem` makes of it.

    Deadlines are in minutes, falling; the time is infinite for what never came.

    Examples
    --------
    >>> deadlines_kept(7, [15, 10, 5]), deadlines_kept(5, [15, 10, 5])
    (2, 3)
    """
    grid = check_nonincreasing("deadlines", deadlines)
    return int(_levels(_times("minutes", [minutes]), grid)[0])


def check_nonincreasing(name: str, minutes: ArrayLike) -> FloatArray:
    """Return deadlines; refuse any that is not shorter than the one before."""
    grid = check_vector(name, minutes, ANY)
    for i in range(1, len(grid)):
        if grid[i] >= grid[i - 1]:
            raise ValueError(
                f"{name} must fall, from the most generous to the tightest; "
                f"got {grid[i]:g} after {grid[i - 1]:g}"
            )
    return grid


def bundled_datasets(*path: str, header: bool = False) -> tuple[dict[str, str], list[str]]:
    """Return what the lines on top of a table that ships say, by name, and the lines below.

    The path is taken from the folder of `keyhole.data`; with `header` the names of the columns come
    first.
    """
    text = resources.files("keyhole.data").joinpath(*path).read_text(encoding="utf-8")
    lines = text.splitlines()
    notes = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    rows = [line for line in lines if not line.startswith("# ")]
    return notes, rows if header else rows[1:]


def _levels(minutes: FloatArray, grid: FloatArray) -> IntArray:
    """Return how many deadlines each time keeps; since they fall, those are the first ones."""
    rising = grid[::-1]
    return np.asarray(len(grid) - np.searchsorted(rising, minutes, side="left"))


def _times(name: str, values: Any) -> FloatArray:
    """Return a read-only copy of times; refuse none, and what is no time."""
    column = np.array(values)
    if column.ndim != 1 or column.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a flat list of numbers, got {values!r}")
    if column.size == 0:
        raise ValueError(f"{name} must have at least one entry, got none")
    column = column.astype(np.float64)
    bad = np.flatnonzero(np.isnan(column) | (column == -math.inf))
    if len(bad):
        at = int(bad[0])
        raise ValueError(f"{name}[{at}] must be a number of minutes or inf, got {column[at]}")
    column.setflags(write=False)
    return column
