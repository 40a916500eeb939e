"""Scenarios of the algorithm selection library: which solver to run, and when to give up."""

import csv
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.core.memory import FloatArray
from keyhole.data.measured import Measured
from keyhole.data.rows import read_text
from keyhole.resource import Power, Problem
from keyhole.resource.functions import KnownFunction

LIMITS: Final = (1 / 1000, 1 / 300, 1 / 100, 1 / 30, 1 / 10, 1 / 3, 1.0)
"""Limits as parts of the cut-off, unless told otherwise."""
_RUNS: Final = "algorithm_runs.arff"
_DESCRIPTION: Final = "description.txt"
_TIMES: Final = ("runtime", "time")
_STATUSES: Final = ("ok", "timeout", "memout", "not_applicable", "crash", "other")


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """Solvers, and how long each of them took on the same instances.

    Parameters
    ----------
    name : str
        What the scenario is called.
    solvers : tuple of str, shape (arms,)
        The solvers, or configurations of one, each once.
    seconds : ndarray of float64, shape (runs, arms)
        How long each took on each instance; infinite for runs that were not done before the
        cut-off, for whatever reason.
    cutoff : float
        Seconds, above 0.

    Examples
    --------
    >>> Scenario("two", ("a", "b"), np.array([[1.0, np.inf], [5.0, 2.0]]), 10.0)
    Scenario(two: 2 solvers, 2 runs each, cut-off 10 s)
    """

    name: str
    solvers: tuple[str, ...]
    seconds: FloatArray
    cutoff: float

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        runs, solvers = self.seconds.shape
        return (
            f"Scenario({self.name}: {solvers} solvers, {runs} runs each, cut-off {self.cutoff:g} s)"
        )

    def solved(self, limit: float = 1.0) -> FloatArray:
        """Return the share of runs that each solver has done by a limit.

        Parameters
        ----------
        limit : float, default 1
            As a part of the cut-off.

        Returns
        -------
        ndarray of float64, shape (arms,)
            From 0 to 1.
        """
        done = np.isfinite(self.seconds) & (self.seconds <= limit * self.cutoff)
        return np.asarray(done.mean(axis=0))

    @property
    def virtual_best(self) -> float:
        """The share of instances that some solver has done."""
        return float(np.isfinite(self.seconds).any(axis=1).mean())

    def problem(
        self,
        limits: ArrayLike = LIMITS,
        *,
        cost: KnownFunction | None = None,
        penalty: KnownFunction | None = None,
    ) -> Problem:
        """Make a problem: choose a solver and a limit; a run that is done has a reward of 1.

        Parameters
        ----------
        limits : sequence of float, default (1/1000, 1/300, 1/100, 1/30, 1/10, 1/3, 1)
            As parts of the cut-off, rising, at most 1.
        cost, penalty : Function or callable, optional
            Of times as parts of the cut-off; by default the time that was used, for runs that were
            done and for those that were not: a gain is then the share of runs done less the mean
            time spent.

        Returns
        -------
        keyhole.resource.Problem
            The problem: a pull draws one of the instances, each equally likely, so that the gains
            are exact means over them.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.
        """
        if np.max(limits) > 1:
            raise ValueError(f"limits must be at most 1, the cut-off, got {np.max(limits):g}")
        done, used = np.isfinite(self.seconds).astype(np.float64), self.seconds / self.cutoff
        runs = Measured(self.name, self.solvers, tuple(done.T), tuple(used.T))
        return runs.problem(
            limits,
            cost=Power(slope=1.0) if cost is None else cost,
            penalty=Power(slope=1.0) if penalty is None else penalty,
        )

    def yardsticks(
        self,
        limits: ArrayLike = LIMITS,
        *,
        cost: KnownFunction | None = None,
        penalty: KnownFunction | None = None,
    ) -> dict[str, float]:
        """Return what a run is worth on average to those who know more than a learner.

        Parameters
        ----------
        limits, cost, penalty
            As for `problem`.

        Returns
        -------
        dict of str to float
            Gains of the ``best pair`` of solver and limit in hindsight; of the ``best solver`` run
            up to the cut-off, or the largest limit; and of the ``virtual best``, which runs on each
            instance the solver that is fastest there, and gives up at the smallest limit where none
            is done.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.
        """
        problem = self.problem(limits, cost=cost, penalty=penalty)
        fastest = self.seconds.min(axis=1) / self.cutoff
        done = fastest <= problem.limits[-1]
        given_up = -float(problem.penalty(problem.limits[0]))
        worth = 1.0 - np.asarray(problem.cost(np.where(done, fastest, 0.0)))
        return {
            "best pair": problem.best_gain,
            "best solver": float(problem.gains[:, -1].max()),
            "virtual best": float(np.where(done, worth, given_up).mean()),
        }


def aslib(
    path: str | PathLike[str],
    *,
    limits: ArrayLike = LIMITS,
    cost: KnownFunction | None = None,
    penalty: KnownFunction | None = None,
) -> Problem:
    """Make a problem of a scenario: which solver to run, and when to give up on it.

    Parameters
    ----------
    path : str or path
        See `load_aslib`.
    limits : sequence of float, default (1/1000, 1/300, 1/100, 1/30, 1/10, 1/3, 1)
        As parts of the cut-off, rising, at most 1.
    cost, penalty : Function or callable, optional
        See `Scenario.problem`.

    Returns
    -------
    keyhole.resource.Problem
        The problem; its arms are those of `load_aslib`, in its order.

    Raises
    ------
    FileNotFoundError, TypeError, ValueError
        As `load_aslib`, or if a value is not allowed.
    """
    return load_aslib(path).problem(limits, cost=cost, penalty=penalty)


def load_aslib(path: str | PathLike[str]) -> Scenario:
    """Read a scenario of the algorithm selection library (ASlib).

    Keyhole has none of them: take a scenario's folder from the library.

    Parameters
    ----------
    path : str or path
        The folder of a scenario, with ``algorithm_runs.arff`` and ``description.txt``; or a Parquet
        file with the columns instance, repetition, algorithm, runtime, runstatus and cutoff.

    Returns
    -------
    Scenario
        Solvers in alphabetical order; a row for each instance and repetition. A run is done if its
        status is ok and it took less than the cut-off.

    Raises
    ------
    FileNotFoundError
        If a file is missing.
    ValueError
        If a file is cut short, has other columns, or the runs are no full table; the message names
        the file and the field.
    """
    where = Path(path)
    if where.suffix == ".parquet":
        rows, cutoff = _parquet(where)
        return _scenario(where, where.stem, rows, cutoff)
    description = _described(where / _DESCRIPTION)
    name = description.get("scenario_id", where.name)
    cutoff = _number(where / _DESCRIPTION, "algorithm_cutoff_time", description)
    return _scenario(where / _RUNS, name, _arff(where / _RUNS), cutoff)


def _scenario(
    path: Path, name: str, rows: Iterator[tuple[str, str, str, float, str]], cutoff: float
) -> Scenario:
    """Return the table of the runs; refuse gaps and repeated entries."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for instance, repetition, solver, seconds, status in rows:
        runs = found.setdefault((instance, repetition), {})
        if solver in runs:
            raise ValueError(f"{path}: {solver} on {instance}, {repetition}, must be given once")
        runs[solver] = seconds if status == "ok" and seconds < cutoff else math.inf
    solvers = sorted({solver for runs in found.values() for solver in runs})
    for (instance, repetition), runs in found.items():
        missing = [solver for solver in solvers if solver not in runs]
        if missing:
            raise ValueError(f"{path}: {missing[0]} on {instance}, {repetition}, must be given")
    if not found:
        raise ValueError(f"{path}: at least one run must be given, got none")
    table = np.array([[runs[solver] for solver in solvers] for runs in found.values()])
    table.setflags(write=False)
    return Scenario(name, tuple(solvers), table, cutoff)


def _described(path: Path) -> dict[str, str]:
    """Return the entries of a description that stand on one line."""
    pattern = re.compile(r"^([a-z_]+)\s*:\s*(.*?)\s*$")
    matches = (pattern.match(line) for line in read_text(path).splitlines())
    return {one.group(1): one.group(2).strip("'\"") for one in matches if one}


def _number(path: Path, name: str, entries: Mapping[str, str]) -> float:
    try:
        value = float(entries.get(name, "missing"))
    except ValueError:
        value = math.nan
    if not 0 < value < math.inf:
        raise ValueError(
            f"{path}: {name} must be a number of seconds above 0, got {entries.get(name)!r}"
        )
    return value


def _arff(path: Path) -> Iterator[tuple[str, str, str, float, str]]:
    """Yield instance, repetition, solver, seconds and status of each run."""
    lines = read_text(path).splitlines()
    words = [line.split(maxsplit=2) for line in lines]
    at = next((i for i, word in enumerate(words) if word and word[0].lower() == "@data"), None)
    if at is None:
        raise ValueError(f"{path}: @DATA must follow the attributes, got the end of the file")
    columns = [
        word[1].strip("'\"").lower()
        for word in words[:at]
        if len(word) > 1 and word[0].lower() == "@attribute"
    ]
    time = next((name for name in _TIMES if name in columns), "runtime")
    places = []
    for name in ("instance_id", "repetition", "algorithm", time, "runstatus"):
        if name not in columns:
            raise ValueError(f"{path}: the attribute {name} must be given, got {columns}")
        places.append(columns.index(name))
    for number, line in enumerate(lines[at + 1 :], at + 2):
        if not line.strip() or line.startswith("%"):
            continue
        fields = next(csv.reader([line], quotechar="'" if "'" in line else '"'))
        if len(fields) != len(columns):
            raise ValueError(
                f"{path}, line {number}: the run must have {len(columns)} fields, got {len(fields)}"
            )
        instance, repetition, solver, seconds, status = (fields[k].strip() for k in places)
        yield instance, repetition, solver, *_checked(f"{path}, line {number}", seconds, status)


def _checked(where: str, seconds: str, status: str) -> tuple[float, str]:
    if status.lower() not in _STATUSES:
        allowed = ", ".join(_STATUSES)
        raise ValueError(f"{where}: runstatus must be one of {allowed}, got {status!r}")
    if seconds == "?" and status.lower() != "ok":
        return math.inf, status.lower()
    try:
        value = float(seconds)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{where}: runtime must be seconds, at least 0, got {seconds!r}")
    return value, status.lower()


def _parquet(path: Path) -> tuple[Iterator[tuple[str, str, str, float, str]], float]:
    """Return the runs of a prepared table, and its cut-off."""
    import pyarrow.parquet as pq

    if not path.exists():
        raise FileNotFoundError(f"{path}: there is no such file")
    table = pq.read_table(path)
    names = ("instance", "repetition", "algorithm", "runtime", "runstatus", "cutoff")
    for name in names:
        if name not in table.column_names:
            raise ValueError(f"{path}: the column {name} must be given, got {table.column_names}")
    columns: list[list[Any]] = [table[name].to_pylist() for name in names]
    cutoffs: NDArray[np.float64] = np.unique(np.array(columns.pop(), np.float64))
    if len(cutoffs) != 1:
        raise ValueError(f"{path}: cutoff must be the same in all rows, got {cutoffs.tolist()}")
    rows = (
        (i, str(r), a, *_checked(str(path), str(t), s))
        for i, r, a, t, s in zip(*columns, strict=True)
    )
    return rows, float(cutoffs[0])
