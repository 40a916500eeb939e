"""Recorded crimes by place and day, as the problem of dividing patrols among places."""

from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.data.csv_rows import check_whole_numbers, read_rows
from keyhole.data.recorded_deadline_times import read_bundled_table
from keyhole.semibandit import Problem
from keyhole.validation import check_choice, check_names

_BUNDLED: Final = ("tracts", "boroughs", "cities")


@dataclass(frozen=True, eq=False, repr=False)
class DailyCounts:
    """Number of events of each place on each of several consecutive days.

    Parameters
    ----------
    name : str
        Name of the data set.
    places : tuple of str, shape (arms,)
        The places, each once; at least one.
    first : date
        The first day.
    counts : ndarray of int64, shape (days, arms)
        Numbers of events; at least one day. The array is copied and made read-only.
    source, licence : str, default ""
        Source and licence of the data.

    Examples
    --------
    >>> first = date(2024, 5, 1)
    >>> events = DailyCounts("town", ("north", "south"), first, np.array([[0, 2], [1, 1]]))
    >>> events
    DailyCounts(town: 2 places, 2 days, 1.00 events a day and place)
    >>> events.losses
    array([[0, 1],
           [1, 1]])
    """

    name: str
    places: tuple[str, ...]
    first: date
    counts: NDArray[np.int64]
    source: str = ""
    licence: str = ""

    def __post_init__(self) -> None:
        """Check the values, and copy the array."""
        object.__setattr__(self, "places", check_names("places", self.places))
        counts = check_whole_numbers("counts", self.counts)
        if counts.ndim != 2 or counts.shape[1] != len(self.places) or counts.size == 0:
            raise ValueError(
                f"counts must have a row for each day and {len(self.places)} columns, "
                f"got the shape {counts.shape}"
            )
        if (counts < 0).any():
            raise ValueError(f"counts must be at least 0, got {counts.min()}")
        # A read-only copy: later changes of the user's array must not reach the problem.
        counts = counts.astype(np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        days, place_count = self.counts.shape
        return (
            f"DailyCounts({self.name}: {place_count} places, {days} days, "
            f"{self.counts.mean():.2f} events a day and place)"
        )

    @property
    def losses(self) -> NDArray[np.int64]:
        """Whether each place had an event on each day, 0 or 1, shape (days, arms)."""
        return np.asarray(self.counts > 0).astype(np.int64)


def patrols_problem(
    places: str | DailyCounts = "tracts",
    *,
    thresholds: ArrayLike,
    resource: float,
    order: str = "drawn",
) -> Problem:
    """Make a problem of allocating patrols to places.

    An arm is a place, and a round is a day. A place's loss is 1 if it had an event on the day and
    its allocation is below its threshold; otherwise the loss is 0. The arms are the places of the
    `DailyCounts`, in their order: see `load_crimes`. The thresholds are assumptions, since data do
    not contain them.

    Parameters
    ----------
    places : {"tracts", "boroughs", "cities"} or DailyCounts, default "tracts"
        Thefts of motor vehicles in New York's 20 busiest census tracts, or in its five boroughs by
        band of hours; homicides in nine cities; or the user's events (see `read_daily_counts_csv`).
    thresholds : float or sequence of float, shape (arms,)
        Smallest allocation that prevents a place's losses, in (0, 1].
    resource : float
        Amount to allocate on a day, above 0.
    order : {"drawn", "recorded"}, default "drawn"
        Whether each round draws one of the days uniformly, or the days are replayed by date.

    Examples
    --------
    >>> problem = patrols_problem("cities", thresholds=0.5, resource=1.5)
    >>> problem.mean_losses.round(2)
    array([0.71, 0.52, 0.11, 0.23, 0.52, 0.15, 0.61, 0.08, 0.05])

    A learner allocates patrols, and is told the losses that it did not prevent:

    >>> from keyhole.data import load_crimes
    >>> from keyhole.semibandit import CSBST
    >>> events = load_crimes("cities")
    >>> learner = CSBST(epsilon=0.04).learner(arms=9, resource=1.5)
    >>> for day in events.losses:
    ...     allocation = learner.ask()
    ...     learner.tell(np.where(allocation >= 0.5, 0, day))
    >>> float(learner.recommend()[0])  # the estimated threshold
    0.5
    """
    events = load_crimes(places) if isinstance(places, str) else places
    if not isinstance(events, DailyCounts):
        raise TypeError(
            f"places must be one of {', '.join(_BUNDLED)}, or DailyCounts, got {places!r}"
        )
    return Problem.replay(events.losses, thresholds, resource, order=order)


def load_crimes(places: str = "tracts") -> DailyCounts:
    """Return recorded events by place and day.

    The 20 census tracts are in decreasing order of thefts; the boroughs in alphabetical order, each
    with the bands 0-6, 6-12, 12-18 and 18-24 hours; the cities in alphabetical order.

    Parameters
    ----------
    places : {"tracts", "boroughs", "cities"}, default "tracts"
        As for `patrols_problem`.

    Examples
    --------
    >>> load_crimes("tracts")
    DailyCounts(tracts: 20 places, 1461 days, 0.07 events a day and place)
    """
    file = f"{check_choice('places', places, _BUNDLED)}.csv"
    notes, (header, *table) = read_bundled_table("crime", file, header=True)
    first = date.fromisoformat(table[0][0])
    counts = np.array([row[1:] for row in table]).astype(np.int64)
    names = tuple(header[1:])
    return DailyCounts(notes["name"], names, first, counts, notes["source"], notes["licence"])


def read_daily_counts_csv(
    path: str | PathLike[str],
    *,
    since: date | str | None = None,
    until: date | str | None = None,
    delimiter: str = ",",
) -> DailyCounts:
    r"""Read events from a CSV file with one row for each day and place.

    The first row names the columns: ``day``, ``place`` and ``events``; other columns and blank
    lines are ignored. Days are dates such as 2024-05-31. All days from `since` to `until` count; a
    place without a row on a day has 0 events.

    Unless both `since` and `until` are given, each day between the first and the last must have a
    row: this refuses files with a mistyped year, or with totals of weeks or months. Give both if
    days without events have no row.

    Parameters
    ----------
    path : str or path
        The file, in UTF-8.
    since, until : date or str, optional
        The first and the last day; by default those of the file.
    delimiter : str, default ","
        The sign between columns.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "town.csv")
    ...     _ = path.write_text("day,place,events\n2024-05-01,north,2\n2024-05-02,south,1\n")
    ...     events = read_daily_counts_csv(path)
    ...     may = read_daily_counts_csv(path, since="2024-05-01", until="2024-05-31")
    >>> events.counts
    array([[2, 0],
           [0, 1]])
    >>> may
    DailyCounts(town: 2 places, 31 days, 0.05 events a day and place)
    """
    earliest = date.min if since is None else _parse_day("since", str(since))
    latest = date.max if until is None else _parse_day("until", str(until))
    counts: dict[tuple[date, str], int] = {}

    def add(day_text: str, place_name: str, events: str) -> None:
        day = _parse_day("day", day_text)
        if day < earliest:
            raise ValueError(f"day must not be before since, {earliest}, got {day_text}")
        if day > latest:
            raise ValueError(f"day must not be after until, {latest}, got {day_text}")
        if (day, place_name) in counts:
            raise ValueError(f"day and place must differ, got {day_text}, {place_name!r} twice")
        # int() alone would also take 1_000, and the digits of other scripts.
        if not events.isascii() or not events.isdecimal():
            raise ValueError(f"events must be a whole number, at least 0, got {events!r}")
        counts[day, place_name] = int(events)

    read_rows(path, ("day", "place", "events"), add, delimiter=delimiter, nonempty=("place",))
    days = sorted({day for day, _ in counts})
    if since is None or until is None:
        _refuse_missing_days(path, days)
    first = days[0] if since is None else earliest
    last = days[-1] if until is None else latest
    place_names = tuple(dict.fromkeys(place_name for _, place_name in counts))
    calendar = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    table = np.array(
        [[counts.get((day, place_name), 0) for place_name in place_names] for day in calendar]
    )
    return DailyCounts(Path(path).stem, place_names, first, table, source=str(path))


def _parse_day(name: str, text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{name} must be a date such as 2024-05-31, with four digits of the year, not seconds "
            f"since 1970, and not a spreadsheet's serial number; got {text!r}"
        ) from None


def _refuse_missing_days(path: str | PathLike[str], days: list[date]) -> None:
    """Refuse gaps between sorted days, since missing days would count as days without events."""
    for day, next_day in pairwise(days):
        if next_day - day > timedelta(days=1):
            raise ValueError(
                f"{path}: each day must have a row, got {next_day} after {day}; correct a mistyped "
                "year, and leave out totals of weeks or months. If nothing happened between the "
                "days, name the first and the last day by since= and until="
            )


Events = DailyCounts  # the name in what was pickled before
