"""Logs of advertisements, as the problem of choosing an advertisement whose sales come late."""

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from keyhole import validation
from keyhole.contract.state_arrays import FloatArray
from keyhole.data import csv_rows
from keyhole.data.recorded_deadline_times import read_bundled_table
from keyhole.delayed import Empirical, Problem
from keyhole.delayed.setting import Feedback

UNITS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
"""Lengths of a round in seconds, by their names."""
_COLUMNS: Final = ("shown_at", "converted_at", "arm")
_ARMS: Final = ("1", "2", "3", "4+")  # of CDNOW: the number of items in a customer's first order
_CDNOW_FOLLOW_UP: Final = 462  # shortest follow-up of a customer, in days


@dataclass(frozen=True, eq=False, repr=False)
class Conversions:
    """Delays of the conversions of each arm's impressions.

    Parameters
    ----------
    name : str
        Name of the data set.
    arms : tuple of str, shape (arms,)
        Names of the arms, each once; at least one.
    delays : sequence of ndarray of float64, shape (arms,)
        For each arm the delays in whole rounds, at least one; infinite without a conversion.
    source, licence : str, default ""
        Source and licence of the data.
    followed : sequence of ndarray of float64, shape (arms,), optional
        For each delay, the number of whole rounds for which its impression was followed: only
        shorter delays were sure to be seen. By default impressions are followed for ever, and an
        infinite delay means that there is never a conversion.

    Examples
    --------
    >>> log = Conversions("adverts", ("red", "blue"), ([0, 3, np.inf], [np.inf, 9]))
    >>> log
    Conversions(adverts; red: 2 of 3, blue: 1 of 2)
    >>> log.delay()
    Empirical(3 delays, mean 4)
    >>> log.problem(within=5).means.round(2)
    array([0.67, 0.  ])
    """

    name: str
    arms: tuple[str, ...]
    delays: tuple[FloatArray, ...]
    source: str = ""
    licence: str = ""
    followed: Sequence[FloatArray] | None = None

    def __post_init__(self) -> None:
        """Check the values, and copy the arrays."""
        object.__setattr__(self, "arms", validation.check_names("arms", self.arms))
        delays = csv_rows.check_arm_columns("delays", self.delays, self.arms, _check_delays)
        object.__setattr__(self, "delays", delays)
        if self.followed is not None:
            rounds = csv_rows.check_arm_columns("followed", self.followed, self.arms, _check_delays)
            if [len(column) for column in rounds] != [len(column) for column in self.delays]:
                raise ValueError("followed must have an entry for each of the delays of each arm")
            object.__setattr__(self, "followed", rounds)

    def __repr__(self) -> str:
        """Return the name, and the number of conversions of each arm."""
        counts = (
            f"{arm}: {np.isfinite(delays).sum()} of {len(delays)}"
            for arm, delays in zip(self.arms, self.delays, strict=True)
        )
        return f"Conversions({self.name}; {', '.join(counts)})"

    def delay(self, within: int | None = None) -> Empirical:
        """Return the distribution of the delays of at most `within` rounds.

        Only impressions that were followed for longer than `within` rounds count, as in `problem`.
        """
        window, arm_delays = self._find_window_and_delays(within)
        delays = np.concatenate(arm_delays)
        delays = delays[delays <= window]
        if len(delays) == 0:
            raise ValueError(
                f"within must leave a conversion of {self.name}, got {window:g} rounds"
            )
        return Empirical(delays)

    def problem(self, within: int | None = None, *, feedback: Feedback = "anonymous") -> Problem:
        """Make a problem that replays recorded pairs of reward and delay.

        A pull draws one of the arm's impressions uniformly. If the impression converted within the
        window, the reward is 1, and arrives with the delay of the conversion. Otherwise the reward
        is 0; with named feedback it arrives at the end of the window. Delays may depend on the arm,
        whereas the published policies are designed for delays that do not.

        An impression whose window was not over at the end of the log may still convert. Such
        impressions are left out, whether they have converted or not, and a warning counts them.

        Parameters
        ----------
        within : int, optional
            Attribution window in rounds. The default is the longest delay, or the longest window
            for which each arm has an impression that was followed for longer, if that is shorter.
        feedback : {"anonymous", "named"}, default "anonymous"
            Whether only the number of conversions is observed, or also which decisions they
            belong to.
        """
        window, arm_delays = self._find_window_and_delays(within)
        rewards = [(delays <= window).astype(np.float64) for delays in arm_delays]
        # A replay needs a delay for each reward. Without a conversion, the reward of 0 arrives at
        # the end of the window.
        waits = [np.minimum(delays, window) for delays in arm_delays]
        return Problem.replay(rewards, waits, feedback=feedback)

    def _find_window_and_delays(self, within: int | None) -> tuple[float, Sequence[FloatArray]]:
        """Return the window, in rounds, and each arm's delays of impressions followed beyond it."""
        if within is None:
            delays = np.concatenate(self.delays)
            window = float(delays[np.isfinite(delays)].max(initial=0.0))
        else:
            window = validation.check_integer("within", within, validation.Range(ge=0, le=2**40))
        if self.followed is None:
            return window, self.delays
        # Each arm needs an impression that was followed beyond the window.
        arm_follow_ups = zip(self.arms, self.followed, strict=True)
        follow_up, arm = min((float(follow_ups.max()), arm) for arm, follow_ups in arm_follow_ups)
        if within is None:
            window = max(min(window, follow_up - 1), 0.0)
        if window >= follow_up:
            raise ValueError(
                f"within must be below {follow_up:g} rounds, the longest follow-up of an "
                f"impression of {arm!r}; got {window:g}"
            )
        pairs = zip(self.delays, self.followed, strict=True)
        followed_delays = [delays[follow_ups > window] for delays, follow_ups in pairs]
        total, kept = (sum(map(len, column)) for column in (self.delays, followed_delays))
        if kept < total:
            warnings.warn(
                f"{total - kept:,} of {total:,} impressions of {self.name} are left out: they were "
                f"not followed for longer than the {window:g} rounds within which a conversion "
                f"counts{'; a smaller `within` leaves out fewer' if window else ''}",
                stacklevel=3,
            )
        return window, followed_delays


def cdnow_problem(within: int = 90, *, feedback: Feedback = "anonymous") -> Problem:
    """Make a problem of the repeat orders of a shop's customers.

    An arm is the number of items in a customer's first order, 1, 2, 3, or 4 and more; a pull draws
    one of these customers. The reward is 1 if they order again within `within` days, and arrives
    on the day of that order. The data are observational: differences between arms are not causal
    effects.

    Parameters
    ----------
    within : int, default 90
        Days, from 0 to 462, the shortest follow-up of a customer.
    feedback : {"anonymous", "named"}, default "anonymous"
        As for `Conversions.problem`.

    Examples
    --------
    >>> cdnow_problem().means.round(4)
    array([0.24  , 0.3152, 0.3572, 0.384 ])
    """
    days = validation.check_integer("within", within, validation.Range(ge=0, le=_CDNOW_FOLLOW_UP))
    return load_cdnow().problem(days, feedback=feedback)


def load_cdnow() -> Conversions:
    """Return the days between the first two orders of a shop's customers, by items in the first.

    The data are of 23,570 customers of an online shop whose first order was in the first quarter of
    1997, followed up to the middle of 1998. The delay of a customer without a second order in that
    time is infinite. All customers are taken as followed for 462 days, the shortest follow-up.

    Examples
    --------
    >>> load_cdnow()
    Conversions(CDNOW; 1: 5111 of 11920, 2: 2803 of 5435, 3: 1560 of 2746, 4+: 2042 of 3469)
    """
    notes, rows = read_bundled_table("delays", "cdnow.csv")
    delays_by_items: dict[str, list[FloatArray]] = {}
    for items, delay, customers in rows:
        days = np.full(int(customers), float(delay or "inf"))
        delays_by_items.setdefault(items, []).append(days)
    delays = tuple(np.concatenate(arrays) for arrays in delays_by_items.values())
    # A follow-up of n rounds shows delays below n, and delays of 462 days were seen, too.
    followed = [np.full(len(column), _CDNOW_FOLLOW_UP + 1.0) for column in delays]
    return Conversions(notes["name"], _ARMS, delays, notes["source"], notes["licence"], followed)


def read_conversions_csv(
    path: str | PathLike[str],
    *,
    unit: float | str = "day",
    until: str | float | date | None = None,
    delimiter: str = ",",
    date_format: str | None = None,
) -> Conversions:
    r"""Read a conversion log from a CSV file with one row for each impression.

    The first row names the columns: ``shown_at``, ``converted_at`` (empty without a conversion) and
    ``arm``; other columns and blank lines are ignored. Times are dates with or without a time of
    day, such as 2024-05-31 or 2024-05-31T18:30, or numbers; all of one kind. A delay is the time
    from an impression to its conversion, in rounds, rounded down. Arms keep the order of their
    first appearance.

    The log is assumed to have all conversions up to `until`; if all times are whole rounds, also
    those in the round that begins at `until`. Later impressions are left out, and later
    conversions count as not known yet.

    Times without an offset are taken as UTC: where clocks change, write offsets (2024-05-31
    18:30+02:00). A default for "not yet", such as 1970-01-01 or 9999-12-31, is refused. Where times
    say the second, a warning counts rows that repeat an earlier row in all three columns, and names
    the line of the first repetition. Repetitions count as impressions, too.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.
    unit : {"second", "minute", "hour", "day", "week"} or float, default "day"
        Length of a round: one of the names where times are dates, and a number above 0 where times
        are numbers.
    until : str, float or date, optional
        The time up to which the log goes, in the form of its times; by default its last time.
    delimiter : str, default ","
        The sign between columns.
    date_format : str, optional
        The form of dates, in the codes of `datetime.strptime`: ``"%d.%m.%Y %H:%M"``; or "unix",
        "unix_ms" or "unix_us" for seconds, milliseconds or microseconds since 1970.

    Examples
    --------
    >>> import tempfile
    >>> rows = ["shown_at,converted_at,arm", "2024-05-01,2024-05-04,red", "2024-05-01,,blue"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "adverts.csv")
    ...     _ = path.write_text("\n".join(rows))
    ...     log = read_conversions_csv(path)
    >>> log.delays, log.followed
    ((array([3.]), array([inf])), (array([4.]), array([4.])))
    """
    parse_time = csv_rows.DateParser(date_format).parse_seconds
    if isinstance(unit, str):
        unit_length: float = UNITS[validation.check_choice("unit", unit, UNITS)]
    else:
        unit_length = validation.check_number("unit", unit, validation.Range(gt=0))
        parse_time = partial(csv_rows.parse_number, reason=", since unit is a number")
    arms: list[str] = []
    times: list[tuple[float, float]] = []

    def add(shown_at: str, converted_at: str, arm: str) -> None:
        times.append(csv_rows.parse_time_and_delay(parse_time, _COLUMNS, shown_at, converted_at))
        arms.append(arm)

    identify = csv_rows.identify_by_time
    csv_rows.read_rows(
        path, _COLUMNS, add, delimiter=delimiter, identify=identify, nonempty=("arm",)
    )
    starts, delay_times = np.array(times).T
    ends = starts + delay_times
    log_end = max(starts.max(), ends[np.isfinite(ends)].max(initial=-math.inf))
    if until is not None:
        log_end = parse_time("until", str(until))
    if not (starts <= log_end).any():
        raise ValueError(f"until must not be before all impressions, got {until}")
    delays = np.where(ends <= log_end, delay_times, math.inf) / unit_length
    follow_ups = (log_end - starts) / unit_length
    fractions = np.concatenate([delays[np.isfinite(delays)], follow_ups]) % 1
    # If all times are whole rounds, the round that begins at `log_end` counts, too. Delays are
    # rounded down: a conversion less than a round after its impression has the delay 0.
    columns = np.floor(delays), np.floor(follow_ups) + (not fractions.any())
    rows_by_arm: dict[str, list[int]] = {}
    for row in np.flatnonzero(starts <= log_end).tolist():
        rows_by_arm.setdefault(arms[row], []).append(row)
    arm_delays, followed = (
        tuple(column[rows] for rows in rows_by_arm.values()) for column in columns
    )
    return Conversions(
        Path(path).stem, tuple(rows_by_arm), arm_delays, source=str(path), followed=followed
    )


def _check_delays(name: str, values: Any) -> FloatArray:
    """Return a read-only copy of delays or follow-ups: whole numbers of rounds, or infinite."""
    column = csv_rows.check_column(name, values)
    is_whole = (column >= 0) & (column == np.floor(column))
    validation.check_each(name, column, is_whole, "be a whole number of rounds, or infinite")
    return column


_REPORTED_CASES: Final = ("dengue", "mpox-diagnosis", "mpox-onset")


def disease_reporting_delay(cases: str) -> Empirical:
    """Return the empirical distribution of a disease's reporting delays.

    Cases that were reported after the end of the data are missing, so long delays are a little
    rarer in the data than they really were.

    Parameters
    ----------
    cases : {"dengue", "mpox-diagnosis", "mpox-onset"}
        Weeks from the onset of dengue to its report, in Puerto Rico from 1990 to 2010; days from
        the diagnosis of mpox, or from its onset, to its report, in New York City in 2022.

    Examples
    --------
    >>> distribution = disease_reporting_delay("dengue")
    >>> distribution
    Empirical(52987 delays, mean 1.73765)
    >>> distribution.bound
    26.0
    """
    validation.check_choice("cases", cases, _REPORTED_CASES)
    _, rows = read_bundled_table("delays", "reporting.csv")
    pairs = [(int(delay), int(count)) for name, delay, count in rows if name == cases]
    delays, counts = zip(*pairs, strict=True)
    return Empirical(np.repeat(delays, counts).astype(np.float64))
