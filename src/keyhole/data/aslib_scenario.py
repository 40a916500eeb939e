"""Scenarios of ASlib, the algorithm selection library, as problems of choosing a solver."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.data.aslib_files import RUNS_FILE, ScenarioRun, read_scenario_folder
from keyhole.data.recorded_consumptions import MeasuredRuns
from keyhole.resource import Power, Problem
from keyhole.resource.cost_functions import KnownFunction
from keyhole.validation import SequenceLike, check_choice, check_names

LIMITS: Final = (1 / 1000, 1 / 300, 1 / 100, 1 / 30, 1 / 10, 1 / 3, 1.0)
"""Default limits, as fractions of the cut-off."""
# A limit in seconds may be slightly below its fraction of the cut-off, by rounding.
_ROUNDING: Final = 1e-12
REWARDS: Final = ("done", "quality")
"""Rewards of a completed run: 1 if "done", the quality of its answer if "quality"."""


@dataclass(frozen=True, eq=False, repr=False)
class Scenario:
    """Run times of solvers on the same instances.

    Parameters
    ----------
    name : str
        Name of the scenario.
    solvers : tuple of str, shape (arms,)
        The solvers, or configurations of one solver, each once.
    seconds : ndarray of float64, shape (runs, arms)
        Run time of each solver on each instance; infinite for runs that did not complete before the
        cut-off, for whatever reason.
    cutoff : float
        The longest time, in seconds, that a solver may take; above 0.
    quality : ndarray of float64, shape (runs, arms), optional
        Quality of the answers of completed runs, from 0 to 1; NaN where it is unknown.
    limits : ndarray of float64, shape (runs, arms), optional
        The time limit of each run in seconds; 0 for a run that was not made. By default all runs
        were made, with the cut-off as their limit.

    Examples
    --------
    >>> Scenario("two", ("a", "b"), np.array([[1.0, np.inf], [5.0, 2.0]]), 10.0)
    Scenario(two: 2 solvers, 2 runs each, cut-off 10 s)
    """

    name: str
    solvers: tuple[str, ...]
    seconds: FloatArray
    cutoff: float
    quality: FloatArray | None = None
    limits: FloatArray | None = None

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        runs, solvers = self.seconds.shape
        run_text = f"{runs} runs each"
        if self.limits is not None:
            run_text = f"{int((self.limits > 0.0).sum())} runs in all"
        return f"Scenario({self.name}: {solvers} solvers, {run_text}, cut-off {self.cutoff:g} s)"

    def solved_shares(self, limit: float = 1.0) -> FloatArray:
        """Return for each solver the share of runs that it completes within a time limit.

        `limit` is a fraction of the cut-off. Runs whose own limit is smaller are left out. A share
        is NaN if no run is left.
        """
        is_solved = np.isfinite(self.seconds) & (self.seconds <= limit * self.cutoff)
        if self.limits is None:
            return np.asarray(is_solved.mean(axis=0))
        # A run that was stopped earlier does not tell whether it would have completed within this
        # limit. If it counted as unsolved, solvers that were often stopped early would look worse.
        is_observed = self.limits >= limit * self.cutoff * (1.0 - _ROUNDING)
        # The share of a solver without observed runs is 0 / 0, a NaN without a warning.
        with np.errstate(invalid="ignore"):
            return np.asarray((is_solved & is_observed).sum(axis=0) / is_observed.sum(axis=0))

    @property
    def virtual_best(self) -> float:
        """Share of instances that at least one solver completes."""
        return float(np.isfinite(self.seconds).any(axis=1).mean())

    def problem(
        self,
        limits: SequenceLike = LIMITS,
        *,
        cost: KnownFunction | None = None,
        penalty: KnownFunction | None = None,
        reward: str = "done",
    ) -> Problem:
        """Make a problem: choose a solver and a limit.

        A pull draws one of the instances uniformly, so that gains are exactly means over instances.
        If runs have limits of their own, a pull draws one of the solver's runs whose own limit is
        at least the largest of `limits`: see `keyhole.data.MeasuredRuns.problem`.

        Parameters
        ----------
        limits : sequence of float, default (1/1000, 1/300, 1/100, 1/30, 1/10, 1/3, 1)
            Fractions of the cut-off, increasing, at most 1.
        cost, penalty : Function or callable, optional
            Functions of times as fractions of the cut-off; by default both are the time: a gain is
            then the share of completed runs less the mean time spent.
        reward : {"done", "quality"}, default "done"
            Reward of a completed run: 1, or the quality of its answer. With "quality", instances
            with a completed run of unknown quality are left out.
        """
        if (largest_limit := np.max(np.asarray(limits))) > 1:
            raise ValueError(f"limits must be at most 1, the cut-off, got {largest_limit:g}")
        rewards = np.isfinite(self.seconds).astype(np.float64)
        if check_choice("reward", reward, REWARDS) == "quality":
            if self.quality is None:
                raise ValueError(
                    f"reward must be 'done' for {self.name}, which has no quality, got 'quality'"
                )
            rewards = np.where(rewards > 0, self.quality, 0.0)
        run_limits = np.full(rewards.shape, self.cutoff) if self.limits is None else self.limits
        # An instance with a completed run of unknown quality is left out for all solvers: they are
        # compared on the same instances.
        is_complete = ~np.isnan(rewards).any(axis=1)
        tables = (rewards, self.seconds / self.cutoff, run_limits / self.cutoff)
        solver_columns = zip(*(table[is_complete].T for table in tables), strict=True)
        # A limit of 0 means that the run was not made.
        runs_made = [
            [column[own_limits > 0.0] for column in (solver_rewards, times, own_limits)]
            for solver_rewards, times, own_limits in solver_columns
        ]
        runs = MeasuredRuns(self.name, self.solvers, *map(tuple, zip(*runs_made, strict=True)))
        identity = Power(slope=1.0)
        return runs.problem(
            limits,
            cost=identity if cost is None else cost,
            penalty=identity if penalty is None else penalty,
        )


def aslib_problem(
    path: str | PathLike[str],
    *,
    limits: SequenceLike = LIMITS,
    cost: KnownFunction | None = None,
    penalty: KnownFunction | None = None,
    reward: str = "done",
) -> Problem:
    """Make a problem of a scenario: choose a solver to run, and a limit for the run.

    Parameters
    ----------
    path : str or path
        See `load_aslib`.
    limits : sequence of float, default (1/1000, 1/300, 1/100, 1/30, 1/10, 1/3, 1)
        Fractions of the cut-off, increasing, at most 1.
    cost, penalty, reward
        See `Scenario.problem`.
    """
    return load_aslib(path).problem(limits, cost=cost, penalty=penalty, reward=reward)


def load_aslib(path: str | PathLike[str]) -> Scenario:
    """Read a scenario of the algorithm selection library (ASlib).

    Keyhole contains no scenario: download a scenario's folder from the library.

    Parameters
    ----------
    path : str or path
        The folder of a scenario, with ``algorithm_runs.arff`` and ``description.txt``.

    Returns
    -------
    Scenario
        Solvers are in alphabetical order; there is a row for each instance and repetition. A run is
        complete if its status is ok and its time is below the cut-off. Its time is the measure of
        type runtime in the description (a PAR10 score equals the time of a completed run). Its
        quality is the measure of type solution_quality, or 1 minus this measure if less is better;
        it is unknown if the measure is not in [0, 1]. If there is a column ``limit``, it has the
        limit of each run in seconds, and runs may be missing.
    """
    folder = Path(path)
    if folder.is_file():
        raise ValueError(f"path must be the folder of a scenario, with {RUNS_FILE}, got {folder}")
    name, cutoff, runs = read_scenario_folder(folder)
    return make_scenario(folder / RUNS_FILE, name, runs, cutoff)


def make_scenario(path: Path, name: str, runs: Iterable[ScenarioRun], cutoff: float) -> Scenario:
    """Return the scenario of the runs in a file.

    Refuse repeated runs, and missing runs unless the file has limits.
    """
    runs_by_instance: dict[tuple[str, str], dict[str, ScenarioRun]] = {}
    for run in runs:
        row = runs_by_instance.setdefault(run.instance_and_repetition, {})
        if run.solver in row:
            run_name = f"{run.solver} on {', '.join(run.instance_and_repetition)}"
            raise ValueError(f"{path}: the run of {run_name} must be given once, got 2")
        row[run.solver] = run
    if not runs_by_instance:
        raise ValueError(f"{path}: at least one run must be given, got none")
    solvers = check_names("solvers", sorted(set().union(*runs_by_instance.values())))
    # If a file has limits, a tune chose the runs, and may have left some out. If it has none, a
    # missing run is a fault of the file.
    rows = runs_by_instance.values()
    has_limits = any(run.limit < math.inf for row in rows for run in row.values())
    for instance, row in runs_by_instance.items():
        gaps = [solver for solver in solvers if solver not in row]
        if gaps and not has_limits:
            raise ValueError(f"{path}: the run of {gaps[0]} on {', '.join(instance)} must be given")
    # A limit of 0 marks a run that was not made.
    missing_run = ScenarioRun(("", ""), "", math.inf, math.nan, 0.0)
    # The values after the names: seconds, quality and limit.
    table = np.array([[row.get(name, missing_run)[2:] for name in solvers] for row in rows])
    table.setflags(write=False)
    seconds, quality, limits = (table[:, :, k] for k in range(3))
    return Scenario(
        name,
        solvers,
        seconds,
        cutoff,
        None if np.isnan(quality).all() else quality,
        np.minimum(limits, cutoff) if has_limits else None,
    )
