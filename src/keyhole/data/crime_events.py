"""Recorded crimes by place and day, as the problem of dividing patrols among places.

A place is an option (arm). Bundled data and files of the user give the crimes; a place that gets
enough patrols is assumed to have none.
"""

from dataclasses import dataclass
from datetime import date, timedelta
from os import PathLike
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.data.csv_rows import read_rows
from keyhole.data.deadline_times import read_bundled_table
from keyhole.semibandit import Problem
from keyhole.validate import check_choice, check_distinct

PLACES: Final = ("tracts", "boroughs", "cities")
_COLUMNS: Final = ("day", "place", "events")


@dataclass(frozen=True, eq=False, repr=False)
class Events:
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
    >>> events = Events("town", ("north", "south"), date(2024, 5, 1), np.array([[0, 2], [1, 1]]))
    >>> events
    Events(town: 2 places, 2 days, 1.00 events a day and place)
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
        object.__setattr__(self, "places", check_distinct("places", self.places))
        # A copy, read-only below: later changes of the user's array must not reach the problem.
        counts = np.array(self.counts)
        if counts.dtype.kind not in "iu":
            raise TypeError(f"counts must hold whole numbers, got {counts.dtype}")
        if counts.ndim != 2 or counts.shape[1] != len(self.places) or counts.size == 0:
            raise ValueError(
                f"counts must have a row for each day and {len(self.places)} columns, "
                f"got the shape {counts.shape}"
            )
        if (counts < 0).any():
            raise ValueError(f"counts must be at least 0, got {counts.min()}")
        counts = counts.astype(np.int64)
        counts.setflags(write=False)
        object.__setattr__(self, "counts", counts)

    def __repr__(self) -> str:
        """Return the name and the sizes."""
        days, places = self.counts.shape
        return (
            f"Events({self.name}: {places} places, {days} days, "
            f"{self.counts.mean():.2f} events a day and place)"
        )

    @property
    def losses(self) -> NDArray[np.int64]:
        """Whether each place had an event on each day, 0 or 1, shape (days, arms)."""
        return np.asarray(self.counts > 0).astype(np.int64)


def patrols(
    places: str | Events = "tracts",
    *,
    thresholds: ArrayLike,
    resource: float,
    order: str = "drawn",
) -> Problem:
    """Make a problem of allocating patrols to places.

    An arm is a place, a round a day; a place's loss is 1 if it had an event on the day, and 0 if
    its allocation is at least its threshold. The arms are those of `load_crimes`, in its order.
    The thresholds are assumptions, since data do not contain them.

    Parameters
    ----------
    places : {"tracts", "boroughs", "cities"} or Events, default "tracts"
        Thefts of motor vehicles in New York's 20 busiest census tracts, or in its five boroughs by
        band of hours; homicides in nine cities; or the user's events (see `read_events_csv`).
    thresholds : float or sequence of float, shape (arms,)
        Smallest allocation that prevents a place's losses, in (0, 1].
    resource : float
        Amount to allocate on a day, above 0.
    order : {"drawn", "recorded"}, default "drawn"
        Whether each round draws one of the days uniformly, or they are replayed by date.

    Examples
    --------
    >>> problem = patrols("cities", thresholds=0.5, resource=1.5)
    >>> problem.mean_losses.round(2)
    array([0.71, 0.52, 0.11, 0.23, 0.52, 0.15, 0.61, 0.08, 0.05])

    A learner that is told the losses of each day:

    >>> from keyhole.data import load_crimes
    >>> from keyhole.semibandit import CSBST
    >>> events = load_crimes("cities")
    >>> learner = CSBST(epsilon=0.04).learner(arms=9, resource=1.5)
    >>> for day in events.losses:
    ...     given = learner.ask()
    ...     learner.tell(np.where(given >= 0.5, 0, day))
    >>> float(learner.recommend()[0])  # the estimated threshold
    0.5
    """
    events = load_crimes(places) if isinstance(places, str) else places
    if not isinstance(events, Events):
        raise TypeError(f"places must be one of {', '.join(PLACES)}, or Events, got {places!r}")
    return Problem.replay(events.losses, thresholds, resource, order=order)


def load_crimes(places: str = "tracts") -> Events:
    """Return recorded events by place and day.

    The 20 census tracts are in decreasing order of thefts; the boroughs in alphabetical order, each
    with the bands 0-6, 6-12, 12-18 and 18-24 hours; the cities in alphabetical order.

    Parameters
    ----------
    places : {"tracts", "boroughs", "cities"}, default "tracts"
        As for `patrols`.

    Examples
    --------
    >>> load_crimes("tracts")
    Events(tracts: 20 places, 1461 days, 0.07 events a day and place)
    """
    notes, rows = read_bundled_table(
        "crime", f"{check_choice('places', places, PLACES)}.csv", header=True
    )
    header, *table = [row.split(",") for row in rows]
    return Events(
        notes["name"],
        tuple(header[1:]),
        date.fromisoformat(table[0][0]),
        np.array([row[1:] for row in table]).astype(np.int64),
        notes["source"],
        notes["licence"],
    )


def read_events_csv(path: str | PathLike[str]) -> Events:
    r"""Read events from a CSV file with one row for each day and place.

    The first row names the columns: ``day``, ``place`` and ``events``; other columns and blank
    lines are ignored. Days are dates such as 2024-05-31; all from the first to the last in the file
    count. A place without a row on a day has 0 events; write at least one row, with 0 events if
    there are none, for the first and the last day.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "town.csv")
    ...     _ = path.write_text("day,place,events\n2024-05-01,north,2\n2024-05-03,south,1\n")
    ...     read_events_csv(path).counts
    array([[2, 0],
           [0, 0],
           [0, 1]])
    """
    found: dict[tuple[date, str], int] = {}

    def add(day: str, place: str, events: str) -> None:
        key = _key(day, place)
        if key in found:
            raise ValueError(f"day and place must differ, got {day}, {place!r} twice")
        # int() is more lenient: it takes 1_000, and the digits of other scripts.
        if not events.isascii() or not events.isdecimal():
            raise ValueError(f"events must be a whole number, at least 0, got {events!r}")
        found[key] = int(events)

    read_rows(path, _COLUMNS, add)
    return _events(Path(path), found)


def _key(day: str, place: str) -> tuple[date, str]:
    if not place:
        raise ValueError("place must not be empty, got ''")
    try:
        return date.fromisoformat(day), place
    except ValueError:
        raise ValueError(f"day must be a date such as 2024-05-31, got {day!r}") from None


def _events(path: Path, found: dict[tuple[date, str], int]) -> Events:
    first, last = min(day for day, _ in found), max(day for day, _ in found)
    places = tuple(dict.fromkeys(place for _, place in found))
    # All days between the first and the last, also those without a row.
    days = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    counts = np.array([[found.get((day, place), 0) for place in places] for day in days])
    return Events(path.stem, places, first, counts, source=str(path))
