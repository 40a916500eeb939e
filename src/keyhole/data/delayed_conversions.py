"""Logs of advertisements, as the problem of choosing one to show while purchases arrive late.

A log has impressions (an advertisement was shown) and conversions (it led to a purchase, later).
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from os import PathLike
from pathlib import Path
from typing import Any, Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.data.csv_rows import read_rows
from keyhole.data.deadline_times import read_bundled_table
from keyhole.delayed import Empirical, Problem
from keyhole.delayed.setting import Feedback
from keyhole.validate import Range, check_choice, check_integer, check_names, check_number

UNITS: Final = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
"""Names of a round's length, in seconds."""
_COLUMNS: Final = ("shown_at", "converted_at", "arm")
_ITEMS: Final = ("1", "2", "3", "4+")
_FOLLOWED: Final = 462  # shortest follow-up of a customer, in days


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

    def __post_init__(self) -> None:
        """Check the values, and copy the arrays."""
        object.__setattr__(self, "arms", check_names("arms", self.arms))
        if len(self.delays) != len(self.arms):
            raise ValueError(
                f"delays must have one list for each arm, {len(self.arms)}; got {len(self.delays)}"
            )
        columns = (_delays(f"delays[{i}]", values) for i, values in enumerate(self.delays))
        object.__setattr__(self, "delays", tuple(columns))

    def __repr__(self) -> str:
        """Return the name, and the number of conversions of each arm."""
        counts = (
            f"{arm}: {np.isfinite(delays).sum()} of {len(delays)}"
            for arm, delays in zip(self.arms, self.delays, strict=True)
        )
        return f"Conversions({self.name}; {', '.join(counts)})"

    def delay(self, within: int | None = None) -> Empirical:
        """Return the distribution of all delays, or of those of at most `within` rounds."""
        limit = self._limit(within)
        found = np.concatenate(self.delays)
        found = found[found <= limit]
        if len(found) == 0:
            raise ValueError(f"within must leave a conversion of {self.name}, got {limit:g} rounds")
        return Empirical(found)

    def problem(self, within: int | None = None, *, feedback: Feedback = "anonymous") -> Problem:
        """Make a problem that replays recorded pairs of reward and delay.

        A pull draws one of the arm's impressions uniformly. The reward is 1 if it converted within
        the window, and arrives with its delay; otherwise it is 0, and with named feedback arrives
        at the end of the window. Delays may depend on the arm, unlike those for which the published
        policies are designed.

        Parameters
        ----------
        within : int, optional
            Attribution window in rounds; by default the longest delay.
        feedback : {"anonymous", "named"}, default "anonymous"
            Whether only the number of conversions is observed, or also their decisions.
        """
        limit = self._limit(within)
        rewards = [(delays <= limit).astype(np.float64) for delays in self.delays]
        # An impression without a conversion has no delay, but a replay needs one: its reward of 0
        # arrives when the time is up.
        waits = [np.minimum(delays, limit) for delays in self.delays]
        return Problem.replay(rewards, waits, feedback=feedback)

    def _limit(self, within: int | None) -> float:
        if within is not None:
            return check_integer("within", within, Range(ge=0, le=2**40))
        finite = [delays[np.isfinite(delays)] for delays in self.delays]
        return max((float(delays.max()) for delays in finite if len(delays)), default=0.0)


def cdnow(within: int = 90, *, feedback: Feedback = "anonymous") -> Problem:
    """Make a problem of the repeat orders of a shop's customers.

    An arm is the number of items in a customer's first order, 1, 2, 3, or 4 and more; a pull draws
    one of these customers. The reward is 1 if they order again within `within` days, and arrives
    on that day. The data are observational: differences between arms are not causal effects.

    Parameters
    ----------
    within : int, default 90
        Days, from 0 to 462, the shortest follow-up of a customer.
    feedback : {"anonymous", "named"}, default "anonymous"
        As for `Conversions.problem`.

    Examples
    --------
    >>> cdnow().means.round(4)
    array([0.24  , 0.3152, 0.3572, 0.384 ])
    """
    days = check_integer("within", within, Range(ge=0, le=_FOLLOWED))
    return load_cdnow().problem(days, feedback=feedback)


def load_cdnow() -> Conversions:
    """Return the days from first to second order of a shop's customers, by items in the first.

    The data are of 23,570 customers of an online shop whose first order was in the first quarter of
    1997, followed up to the middle of 1998. The delay is infinite without a second order in the
    follow-up of at least 462 days.

    Examples
    --------
    >>> load_cdnow()
    Conversions(CDNOW; 1: 5111 of 11920, 2: 2803 of 5435, 3: 1560 of 2746, 4+: 2042 of 3469)
    """
    notes, rows = read_bundled_table("delays", "cdnow.csv")
    found: dict[str, list[FloatArray]] = {}
    for items, delay, customers in (row.split(",") for row in rows):
        days = float(delay) if delay else math.inf
        found.setdefault(items, []).append(np.full(int(customers), days))
    delays = tuple(np.concatenate(parts) for parts in found.values())
    return Conversions(notes["name"], _ITEMS, delays, notes["source"], notes["licence"])


def read_conversions_csv(path: str | PathLike[str], *, unit: float | str = "day") -> Conversions:
    r"""Read a conversion log from a CSV file with one row for each impression.

    The first row names the columns: ``shown_at``, ``converted_at`` (empty without a conversion) and
    ``arm``; other columns and blank lines are ignored. Times are dates with or without a time of
    day, such as 2024-05-31 or 2024-05-31T18:30, or numbers; all of one kind. A delay is the
    difference in rounds, rounded down. Arms keep the order of their first appearance.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8, separated by commas.
    unit : {"second", "minute", "hour", "day", "week"} or float, default "day"
        Length of a round: a name for dates; for numbers a number above 0.

    Examples
    --------
    >>> import tempfile
    >>> rows = ["shown_at,converted_at,arm", "2024-05-01,2024-05-04,red", "2024-05-01,,blue"]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "adverts.csv")
    ...     _ = path.write_text("\n".join(rows))
    ...     read_conversions_csv(path).delays
    (array([3.]), array([inf]))
    """
    dated, found = isinstance(unit, str), dict[str, list[float]]()
    length = _length(unit)

    def add(shown: str, converted: str, arm: str) -> None:
        if not arm:
            raise ValueError("arm must not be empty, got ''")
        delay = _delay(shown, converted, dated=dated) / length
        # Rounded down: a conversion less than a round after its impression has delay 0.
        found.setdefault(arm, []).append(float(np.floor(delay)))

    read_rows(path, _COLUMNS, add)
    delays = tuple(np.array(values) for values in found.values())
    return Conversions(Path(path).stem, tuple(found), delays, source=str(path))


def _length(unit: float | str) -> float:
    """Return the length of a round, in seconds for dates."""
    if isinstance(unit, str):
        return UNITS[check_choice("unit", unit, UNITS)]
    return check_number("unit", unit, Range(gt=0))


def _delay(shown: str, converted: str, *, dated: bool) -> float:
    """Return the difference of two times, in seconds for dates; infinite without a conversion."""
    start = _time("shown_at", shown, dated=dated)
    if not converted:
        return math.inf
    end = _time("converted_at", converted, dated=dated)
    try:
        gap = end - start
    # Python does not subtract times of which only one has a zone.
    except TypeError:
        raise ValueError(
            f"converted_at must have a time zone if, and only if, shown_at has, got {converted!r}"
        ) from None
    delay = gap.total_seconds() if isinstance(gap, timedelta) else float(gap)
    if delay < 0:
        raise ValueError(f"converted_at must not be before shown_at, {shown}; got {converted}")
    return delay


def _time(name: str, text: str, *, dated: bool) -> Any:
    try:
        value = datetime.fromisoformat(text) if dated else float(text)
    except ValueError:
        value = math.nan
    if isinstance(value, float) and not math.isfinite(value):
        kind = "a date such as 2024-05-31" if dated else "a number, since unit is one"
        raise ValueError(f"{name} must be {kind}, got {text!r}")
    return value


def _delays(name: str, values: Any) -> FloatArray:
    """Return a read-only copy of delays: whole numbers of rounds, or infinite."""
    column = np.array(values, np.float64)
    if column.ndim != 1 or column.size == 0:
        raise ValueError(f"{name} must have at least one entry, got {values!r}")
    good = (column >= 0) & (column == np.floor(column))
    if not good.all():
        at = int(good.argmin())
        raise ValueError(
            f"{name}[{at}] must be a whole number of rounds, or infinite, got {column[at]}"
        )
    column.setflags(write=False)
    return column
