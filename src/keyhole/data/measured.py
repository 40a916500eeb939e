"""Measured runs of one's own: what each yielded and consumed, replayed as a problem."""

import csv
import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core.memory import FloatArray
from keyhole.core.validate import distinct
from keyhole.data.rows import read_rows
from keyhole.resource import Problem, Replay
from keyhole.resource.functions import KnownFunction

_COLUMNS: Final = ("arm", "reward", "consumption")


@dataclass(frozen=True, eq=False, repr=False)
class Measured:
    """Arms, and for each of them what its runs yielded and consumed.

    Parameters
    ----------
    name : str
        What the runs are called.
    arms : tuple of str, shape (arms,)
        What each arm is, each once.
    rewards, consumptions : sequence of ndarray of float64, shape (arms,)
        For each arm, run by run: the reward, in [0, 1], and what it took, at least 0; infinite for
        runs that were ended, whose reward is 0.

    Examples
    --------
    >>> runs = Measured("two", ("a", "b"), ([0.5, 0.7], [0.9]), ([1.0, 2.0], [30.0]))
    >>> runs
    Measured(two; a: 2 runs, b: 1 run)
    """

    name: str
    arms: tuple[str, ...]
    rewards: tuple[FloatArray, ...]
    consumptions: tuple[FloatArray, ...]

    def __post_init__(self) -> None:
        """Check that there is a list of each kind for every arm, and an entry of each a run."""
        object.__setattr__(self, "arms", distinct("arms", self.arms))
        for name, lists in (("rewards", self.rewards), ("consumptions", self.consumptions)):
            if len(lists) != len(self.arms):
                raise ValueError(
                    f"{name} must have one list for each arm, {len(self.arms)}; got {len(lists)}"
                )
        for arm, (earned, used) in enumerate(zip(self.rewards, self.consumptions, strict=True)):
            if len(earned) != len(used):
                raise ValueError(
                    f"consumptions[{arm}] must have {len(earned)} entries, got {len(used)}"
                )

    def __repr__(self) -> str:
        """Return the name, and how many runs each arm has."""
        sizes = (
            f"{arm}: {len(rewards)} run{'' if len(rewards) == 1 else 's'}"
            for arm, rewards in zip(self.arms, self.rewards, strict=True)
        )
        return f"Measured({self.name}; {', '.join(sizes)})"

    def quartiles(self) -> tuple[float, float]:
        """Return the quarter and the three-quarter quantile of the arms' mean consumptions.

        Returns
        -------
        tuple of float
            Runs that were ended are left out.
        """
        done = [used[np.isfinite(used)] for used in map(np.asarray, self.consumptions)]
        low, high = np.quantile([used.mean() for used in done if len(used)], [0.25, 0.75])
        return float(low), float(high)

    def problem(self, limits: ArrayLike, *, cost: KnownFunction, penalty: KnownFunction) -> Problem:
        """Make a problem whose arms give back what was measured.

        Parameters
        ----------
        limits : sequence of float
            Rising, above 0, in the unit of the consumptions; a run that was ended exceeds them all.
        cost, penalty : Function or callable
            See `keyhole.resource.Problem`.

        Returns
        -------
        keyhole.resource.Problem
            The problem: a pull draws one of the arm's runs, each equally likely.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.
        """
        beyond = 2.0 * float(np.max(limits))
        arms = [
            Replay(rewards, np.where(np.isfinite(used), used, beyond))
            for rewards, used in zip(self.rewards, map(np.asarray, self.consumptions), strict=True)
        ]
        return Problem(arms, limits, cost, penalty)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the runs to a CSV file that `read_measured_csv` reads.

        Parameters
        ----------
        path : str or path
            Where to.

        Raises
        ------
        OSError
            If the file cannot be written.
        """
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            rows.writerow(_COLUMNS)
            for arm, rewards, used in zip(self.arms, self.rewards, self.consumptions, strict=True):
                for reward, consumption in zip(rewards, used, strict=True):
                    ended = math.isinf(consumption)
                    rows.writerow(
                        [arm, "", ""] if ended else [arm, f"{reward:.6g}", f"{consumption:.6g}"]
                    )


def read_measured_csv(path: str | PathLike[str]) -> Measured:
    r"""Read measured runs from a CSV file with one row for each run.

    The first row names the columns: ``arm``, ``reward`` and ``consumption``; others are ignored,
    and so are blank lines. Reward and consumption are both empty for a run that was ended.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8, separated by commas.

    Returns
    -------
    Measured
        Arms in the order of their first appearance.

    Raises
    ------
    FileNotFoundError
        If there is no such file.
    ValueError
        If the file is not as above; the message names the line and the field.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.csv")
    ...     _ = path.write_text("arm,reward,consumption\nfast,0.5,1.2\nslow,,\nslow,0.9,30\n")
    ...     read_measured_csv(path)
    Measured(runs; fast: 1 run, slow: 2 runs)
    """
    found: dict[str, list[tuple[float, float]]] = {}

    def add(arm: str, reward: str, consumption: str) -> None:
        if not arm:
            raise ValueError("arm must not be empty, got ''")
        if not reward and not consumption:
            found.setdefault(arm, []).append((0.0, math.inf))
            return
        earned, used = _number("reward", reward), _number("consumption", consumption)
        if earned > 1:
            raise ValueError(f"reward must lie in [0, 1], got {reward!r}")
        found.setdefault(arm, []).append((earned, used))

    read_rows(path, _COLUMNS, add)
    runs = [np.array(values) for values in found.values()]
    return Measured(
        Path(path).stem,
        tuple(found),
        tuple(values[:, 0] for values in runs),
        tuple(values[:, 1] for values in runs),
    )


def _number(name: str, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a number, at least 0, got {text!r}")
    return value
