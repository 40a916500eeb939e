"""Recorded runs of several options, replayed as a problem of choosing an option and a limit."""

import math
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np

from keyhole import validation
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.data.csv_rows import check_arm_columns, parse_number, read_rows
from keyhole.resource import Problem, Replay
from keyhole.resource.cost_functions import KnownFunction, as_function, check_increasing
from keyhole.text_formatting import count_text

_COLUMNS: Final = ("arm", "reward", "consumption")
_LIMIT: Final = "limit"


@dataclass(frozen=True, eq=False, repr=False)
class MeasuredRuns:
    """Rewards, consumptions and limits of the runs of each arm.

    Parameters
    ----------
    name : str
        Name of the data set.
    arms : tuple of str, shape (arms,)
        Names of the arms, each once; at least one.
    rewards, consumptions : sequence of sequence of float, shape (arms,)
        Rewards and consumptions of the runs of each arm, at least one run. Rewards lie in [0, 1],
        consumptions are at least 0. A censored run, which was ended at its limit, has the
        reward 0 and an infinite consumption.
    limits : sequence of sequence of float, shape (arms,), optional
        Limits of the runs of each arm, above 0; infinite for a run without a limit. A
        censored run must have a limit, since nothing else is known of it.

    Examples
    --------
    >>> runs = MeasuredRuns("two", ("a", "b"), ([0.5, 0.7], [0.9]), ([1.0, 2.0], [30.0]))
    >>> runs
    MeasuredRuns(two; a: 2 runs, b: 1 run)
    """

    name: str
    arms: tuple[str, ...]
    rewards: tuple[FloatArray, ...]
    consumptions: tuple[FloatArray, ...]
    limits: tuple[FloatArray, ...] | None = None

    def __post_init__(self) -> None:
        """Check the values, and copy the lists into arrays."""
        object.__setattr__(self, "arms", validation.check_names("arms", self.arms))
        unlimited = tuple(np.full(len(column), math.inf) for column in self.consumptions)
        columns = {
            "rewards": self.rewards,
            "consumptions": self.consumptions,
            "limits": unlimited if self.limits is None else self.limits,
        }
        for name, lists in columns.items():
            object.__setattr__(self, name, check_arm_columns(name, lists, self.arms))
        for arm in range(len(self.arms)):
            self._check_runs(arm)

    def _check_runs(self, arm: int) -> None:
        """Refuse runs of an arm that cannot have been measured."""
        rewards = self.rewards[arm]
        consumptions = self.consumptions[arm]
        limits = self._own_limits[arm]
        for name, values in (("consumptions", consumptions), ("limits", limits)):
            if len(values) != len(rewards):
                raise ValueError(
                    f"{name}[{arm}] must have {len(rewards)} entries, got {len(values)}"
                )
        is_censored = np.isinf(consumptions)
        has_needed_limit = ~is_censored | np.isfinite(limits)
        is_within = is_censored | (consumptions <= limits)
        checks = [
            ("rewards", rewards, (rewards >= 0) & (rewards <= 1), "lie in [0, 1]"),
            ("rewards", rewards, ~is_censored | (rewards == 0), "be 0 for a censored run"),
            ("consumptions", consumptions, consumptions >= 0, "be at least 0"),
            ("limits", limits, limits > 0, "be above 0"),
            ("limits", limits, has_needed_limit, "be given for a censored run"),
            ("consumptions", consumptions, is_within, "be at most the run's limit"),
        ]
        for name, values, is_allowed, allowed in checks:
            validation.check_each(f"{name}[{arm}]", values, is_allowed, allowed)

    @property
    def _own_limits(self) -> tuple[FloatArray, ...]:
        assert self.limits is not None  # `__post_init__` has set it
        return self.limits

    def __repr__(self) -> str:
        """Return the name, and the number of runs of each arm."""
        sizes = (
            f"{arm}: {count_text(len(rewards), 'run')}"
            for arm, rewards in zip(self.arms, self.rewards, strict=True)
        )
        return f"MeasuredRuns({self.name}; {', '.join(sizes)})"

    def quartiles(self) -> tuple[float, float]:
        """Return the lower and upper quartile of the arms' median consumptions.

        Censored runs are left out, and so are arms that have only censored runs.
        """
        uncensored = [column[np.isfinite(column)] for column in self.consumptions]
        medians = [np.median(column) for column in uncensored if len(column)]
        if not medians:
            raise ValueError("consumptions must have a run that was not censored, got none")
        low, high = np.quantile(medians, [0.25, 0.75])
        return float(low), float(high)

    def estimates(
        self, limits: validation.SequenceLike, *, cost: KnownFunction, penalty: KnownFunction
    ) -> tuple[FloatArray, IntArray]:
        r"""Estimate the gain of every pair of arm and limit from all informative runs.

        A run is informative about every limit up to its own:

        .. math:: \hat\nu_{i,\tau} = \frac1{N_{i,\tau}} \sum_{s : \tau_s \ge \tau}
            \bigl[ (R_s - c(C_s)) 1\{C_s \le \tau\} - \lambda(\tau) 1\{C_s > \tau\} \bigr]

        Run s of the arm has the reward :math:`R_s`, the consumption :math:`C_s` and the limit
        :math:`\tau_s`; c is the cost, and :math:`\lambda` the penalty. :math:`N_{i,\tau}` is the
        number of the arm's runs with a limit of at least :math:`\tau` (Bengs and Huellermeier 2022,
        equations 8 and 9). The results are the estimates, NaN where :math:`N_{i,\tau} = 0`, and
        :math:`N`, both of shape (arms, limits).

        Parameters
        ----------
        limits : sequence of float, shape (limits,)
            Increasing, above 0, in the unit of the consumptions.
        cost, penalty : Function or callable
            See `keyhole.resource.Problem`.

        Examples
        --------
        >>> from keyhole.resource import Power
        >>> runs = MeasuredRuns("one", ("a",), ([1, 0],), ([2, np.inf],), ([9, 1],))
        >>> gains, counts = runs.estimates([1, 3], cost=Power(slope=0.1), penalty=Power(slope=0.1))
        >>> gains.round(3), counts
        (array([[-0.1,  0.8]]), array([[2, 1]]))
        """
        grid = check_increasing(
            "limits", validation.check_vector("limits", limits, validation.Range(gt=0))
        )
        costs = as_function("cost", cost, grid)
        penalties = as_function("penalty", penalty, grid)
        gains = np.full((len(self.arms), len(grid)), np.nan)
        counts = np.zeros(gains.shape, np.int64)
        # A run with a large limit shows how it would have ended with each smaller one.
        for (arm, limit_index), _ in np.ndenumerate(gains):
            is_informative = self._own_limits[arm] >= grid[limit_index]
            consumptions = self.consumptions[arm][is_informative]
            rewards = self.rewards[arm][is_informative]
            is_done = consumptions <= grid[limit_index]
            counts[arm, limit_index] = len(consumptions)
            if len(consumptions):
                # The cost is not evaluated at consumptions beyond the limit, which may be infinite.
                values = np.where(
                    is_done,
                    rewards - costs(np.where(is_done, consumptions, 0.0)),
                    -float(penalties(grid[limit_index])),
                )
                gains[arm, limit_index] = values.mean()
        return gains, counts

    def problem(
        self, limits: validation.SequenceLike, *, cost: KnownFunction, penalty: KnownFunction
    ) -> Problem:
        """Make a problem that replays the measured runs.

        A pull draws uniformly one of the arm's runs that are informative about all `limits`: runs
        whose own limit is at least the largest of `limits`. Only `estimates` uses the others.

        Parameters
        ----------
        limits : sequence of float
            Increasing, above 0, in the unit of the consumptions.
        cost, penalty : Function or callable
            See `keyhole.resource.Problem`.
        """
        largest = float(validation.check_vector("limits", limits, validation.Range(gt=0)).max())
        replays = []
        for arm, name in enumerate(self.arms):
            own_limits = self._own_limits[arm]
            # Runs with a smaller limit are left out, whether they were censored or not. If only
            # the censored ones were left out, the arm would look faster than it is.
            is_informative = own_limits >= largest
            if not is_informative.any():
                raise ValueError(
                    f"limits must be at most {own_limits.max():g}, the largest limit that arm "
                    f"{name!r} was run with, got {largest:g}"
                )
            consumptions = self.consumptions[arm][is_informative]
            # All consumptions above the largest limit have the same effect on the problem.
            finite_consumptions = np.where(np.isfinite(consumptions), consumptions, 2.0 * largest)
            replays.append(Replay(self.rewards[arm][is_informative], finite_consumptions))
        return Problem(replays, limits, cost, penalty)


def read_measured_runs_csv(
    path: str | PathLike[str],
    *,
    limit: float | None = None,
    delimiter: str = ",",
    decimal: str = ".",
) -> MeasuredRuns:
    r"""Read measured runs from a CSV file with one row for each run.

    The first row names the columns: ``arm``, ``reward``, ``consumption`` and, for censored runs,
    ``limit``; other columns and blank lines are ignored. Reward and consumption are both empty for
    a censored run. The limit is empty for a run without a limit. Arms keep the order of their first
    appearance.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.
    limit : float, optional
        Limit of all runs, for a file without the column.
    delimiter : str, default ","
        The sign between columns.
    decimal : {".", ","}, default "."
        The decimal sign.

    Examples
    --------
    >>> import tempfile
    >>> text = "arm,reward,consumption,limit\nfast,0.5,1.2,60\nslow,,,60\nslow,0.9,30,60\n"
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "runs.csv")
    ...     _ = path.write_text(text)
    ...     read_measured_runs_csv(path)
    MeasuredRuns(runs; fast: 1 run, slow: 2 runs)
    """
    common_limit = math.inf
    if limit is not None:
        common_limit = validation.check_number("limit", limit, validation.Range(gt=0))
    runs_by_arm: dict[str, list[tuple[float, float, float]]] = {}

    def add(arm: str, reward: str, consumption: str, limit_text: str) -> None:
        if limit_text and limit is not None:
            raise ValueError(
                f"limit must be given once, got {common_limit!r} for all and {limit_text!r} here"
            )
        run_limit = common_limit
        if limit_text:
            run_limit = _parse_number("limit", limit_text, decimal, validation.Range(gt=0))
        if not reward and not consumption:
            if math.isinf(run_limit):
                raise ValueError("limit must be given for a censored run, got ''")
            runs_by_arm.setdefault(arm, []).append((0.0, math.inf, run_limit))
            return
        if not reward or not consumption:
            given_column = "consumption" if consumption else "reward"
            raise ValueError(
                "reward and consumption must both be given, or both be empty for a run that was "
                f"censored at its limit; got {given_column} alone"
            )
        run_reward = _parse_number("reward", reward, decimal, validation.Range(ge=0, le=1))
        run_consumption = _parse_number("consumption", consumption, decimal, validation.Range(ge=0))
        if run_consumption > run_limit:
            text = f"consumption must be at most the limit, {run_limit:g}, got {run_consumption:g}"
            raise ValueError(text)
        runs_by_arm.setdefault(arm, []).append((run_reward, run_consumption, run_limit))

    read_rows(path, _COLUMNS, add, optional=(_LIMIT,), delimiter=delimiter, nonempty=("arm",))
    arm_columns = [np.array(runs).T for runs in runs_by_arm.values()]
    rewards, consumptions, limits = zip(*arm_columns, strict=True)
    all_runs = np.concatenate(arm_columns, axis=1)
    # A run with the reward 0 that took exactly its limit was probably censored.
    if count := int(((all_runs[0] == 0) & (all_runs[1] == all_runs[2])).sum()):
        validation.warn_user(
            f"{path}: runs with a reward of 0 that consumed exactly their limit: {count:,}; they "
            "count as completed: if the limit ended them, leave reward and consumption empty"
        )
    return MeasuredRuns(Path(path).stem, tuple(runs_by_arm), rewards, consumptions, limits)


def _parse_number(name: str, text: str, decimal: str, allowed: validation.Range) -> float:
    value = parse_number(name, text, decimal, if_missing="leave reward and consumption empty")
    return validation.check_number(name, value, allowed)
