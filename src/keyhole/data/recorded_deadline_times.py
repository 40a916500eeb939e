"""Problems of choosing an arm that meets a deadline, made from recorded times of deliveries etc."""

import csv
import math
from dataclasses import dataclass
from importlib import resources
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole import validation
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.data.csv_rows import check_arm_columns, check_column
from keyhole.resource.cost_functions import check_increasing
from keyhole.threshold import Problem
from keyhole.threshold.setting import Feedback


@dataclass(frozen=True, eq=False, repr=False)
class ArrivalTimes:
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
    >>> ferries = ArrivalTimes("ferries", ("red", "blue"), ([3, 12, 5, np.inf], [8, 6]))
    >>> ferries
    ArrivalTimes(ferries; red: 4, blue: 2)
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
        object.__setattr__(self, "arms", validation.check_names("arms", self.arms))
        minutes = check_arm_columns("minutes", self.minutes, self.arms, _check_times)
        object.__setattr__(self, "minutes", minutes)

    def __repr__(self) -> str:
        """Return the name, and the number of times of each arm."""
        sizes = [f"{arm}: {len(times)}" for arm, times in zip(self.arms, self.minutes, strict=True)]
        return f"ArrivalTimes({self.name}; {', '.join(sizes)})"

    def met_shares(self, deadlines: ArrayLike) -> FloatArray:
        """Return the share of each arm's times that meet each deadline, shape (arms, levels).

        Deadlines are in minutes, decreasing.
        """
        grid = check_deadlines("deadlines", deadlines)
        return np.array([(times[:, None] <= grid).mean(axis=0) for times in self.minutes])

    def problem(self, deadlines: ArrayLike, *, feedback: Feedback, order: Any = "iid") -> Problem:
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
        grid = check_deadlines("deadlines", deadlines)
        samples = [_count_deadlines_met(minutes, grid) for minutes in self.minutes]
        return Problem.replay(samples, len(grid), feedback=feedback, order=order)


def count_deadlines_met(minutes: float, deadlines: ArrayLike) -> int:
    """Return the number of deadlines that a time meets: its sample in `ArrivalTimes.problem`.

    Deadlines are in minutes, decreasing; the time may be infinite.

    Examples
    --------
    >>> count_deadlines_met(7, [15, 10, 5]), count_deadlines_met(5, [15, 10, 5])
    (2, 3)
    """
    grid = check_deadlines("deadlines", deadlines)
    return int(_count_deadlines_met(_check_times("minutes", [minutes]), grid)[0])


def check_deadlines(name: str, minutes: ArrayLike) -> FloatArray:
    """Return checked deadlines; refuse a deadline that is not below the one before."""
    grid = validation.check_vector(name, minutes, validation.ANY)
    for before, after in pairwise(grid):
        if after >= before:
            raise ValueError(
                f"{name} must be decreasing, from the most generous to the tightest; "
                f"got {after:g} after {before:g}"
            )
    return grid


def read_bundled_table(*path: str, header: bool = False) -> tuple[dict[str, str], list[list[str]]]:
    """Return the notes above a table in the package, by name, and the fields of the table's rows.

    The path is relative to the folder of `keyhole.data`. With `header`, the first of the rows has
    the names of the columns; else it is left out.
    """
    lines = resources.files("keyhole.data").joinpath(*path).read_text("utf-8").splitlines()
    notes = dict(line[2:].split(": ", 1) for line in lines if line.startswith("# "))
    rows = list(csv.reader(line for line in lines if not line.startswith("# ")))
    return notes, rows if header else rows[1:]


def _count_deadlines_met(minutes: FloatArray, grid: FloatArray) -> IntArray:
    # The side "left" lets a time meet a deadline that it equals.
    return np.asarray(len(grid) - np.searchsorted(grid[::-1], minutes, side="left"))


def _check_times(name: str, values: Any) -> FloatArray:
    """Return a read-only copy of times; refuse an empty list, and values that are no times."""
    column = check_column(name, values)
    # Infinity is allowed: a flight that never arrives meets no deadline.
    is_time = ~np.isnan(column) & (column != -math.inf)
    validation.check_each(name, column, is_time, "be a number of minutes or inf")
    return column


ORIGINS: Final = ("EWR", "JFK", "LGA")
DEADLINES: Final = (60, 45, 30, 15, 10, 5, 0, -5, -10, -20)
"""Minutes after the scheduled arrival, from the most generous to the tightest."""


def flights_problem(
    route: str,
    *,
    feedback: Feedback = "censored",
    order: Any = "iid",
    deadlines: ArrayLike = DEADLINES,
    origin: str | None = None,
    min_flights: int = 300,
) -> Problem:
    """Make a problem of the flights on a route: choose a carrier for a given deadline.

    In each round a customer has a deadline for their arrival; threshold c is the c-th of the
    deadlines, and higher thresholds are earlier. A pull books a carrier and draws one of its
    flights in 2013, with replacement. The sample is the highest threshold whose deadline the flight
    meets, 0 if it meets none; cancelled and diverted flights never arrive. With censored feedback
    an arrival is observed only if it was late; uncensored, every arrival is observed.

    The carriers are those of `load_flights`, in its order.

    Parameters
    ----------
    route : str
        Code of the destination: "SFO", "ATL", ...
    feedback : {"uncensored", "censored"}, default "censored"
        Whether all arrivals are observed, or only those after the deadline.
    order : ThresholdSequence, str or mapping, default "iid"
        Sequence of the deadlines: see `keyhole.threshold.threshold_sequences`.
    deadlines : sequence of float, default (60, 45, 30, 15, 10, 5, 0, -5, -10, -20)
        In minutes after the scheduled arrival, decreasing.
    origin : {"EWR", "JFK", "LGA"}, optional
        Code of the origin; by default all three.
    min_flights : int, default 300
        Carriers with fewer flights are left out.

    Examples
    --------
    >>> flights_problem("SFO")
    Problem(5 arms, 10 levels, censored feedback, order=iid())

    A learner books flights to Charleston, and observes only the delays of late ones. One carrier is
    best for late deadlines, another for early ones.

    >>> from keyhole.data import count_deadlines_met, load_flights
    >>> from keyhole.threshold import KaplanMeierUCB
    >>> times, deadlines = load_flights("CHS"), [60, 30, 15, -10]
    >>> learner = KaplanMeierUCB().learner(arms=3, levels=4, feedback="censored", horizon=5000)
    >>> rng = np.random.default_rng(2013)
    >>> for customer in range(5000):
    ...     c = int(rng.integers(1, 5))
    ...     carrier = learner.ask(threshold=c)
    ...     minutes = rng.choice(times.minutes[carrier])
    ...     if minutes <= deadlines[c - 1]:
    ...         learner.tell(censored=True)
    ...     else:
    ...         learner.tell(count_deadlines_met(minutes, deadlines))
    >>> [times.arms[carrier] for carrier in learner.recommend()]
    ['B6', 'B6', 'B6', '9E']
    """
    times = load_flights(route, origin=origin, min_flights=min_flights)
    return times.problem(deadlines, feedback=feedback, order=order)


def load_flights(route: str, *, origin: str | None = None, min_flights: int = 300) -> ArrivalTimes:
    """Return the delays of each carrier's flights on a route, in minutes.

    The data are all flights scheduled out of New York City in 2013; the README beside them has the
    source, the licence and the names of the carriers. Carriers are in alphabetical order of their
    codes; delays of cancelled and diverted flights are infinite. Parameters are those of
    `flights_problem`.

    Examples
    --------
    >>> times = load_flights("ATL")
    >>> times
    ArrivalTimes(flights to ATL; DL: 10571, EV: 1764, FL: 2337, MQ: 2322)
    >>> times.met_shares(deadlines=[60, 15, 0, -20]).round(3)
    array([[0.92 , 0.789, 0.586, 0.126],
           [0.808, 0.601, 0.418, 0.096],
           [0.864, 0.636, 0.368, 0.044],
           [0.873, 0.659, 0.427, 0.064]])
    """
    notes, table = read_bundled_table("nycflights13", "arrival_delays.csv")
    validation.check_choice("route", route, dict.fromkeys(row[0] for row in table))
    if origin is not None:
        validation.check_choice("origin", origin, ORIGINS)
    fewest_flights = validation.check_integer("min_flights", min_flights, validation.Range(ge=1))
    times_by_carrier: dict[str, list[FloatArray]] = {}
    for destination, from_airport, carrier, delays in table:
        if destination == route and origin in (None, from_airport):
            # Such as "5:12 never:3": a delay in minutes, or "never", and the number of its flights.
            texts, counts = zip(*(pair.split(":") for pair in delays.split(" ")), strict=True)
            minutes = [float(text.replace("never", "inf")) for text in texts]
            times = np.repeat(minutes, np.array(counts, int))
            times_by_carrier.setdefault(carrier, []).append(times)
    carriers = {
        carrier: np.concatenate(arrays) for carrier, arrays in sorted(times_by_carrier.items())
    }
    arms = {code: times for code, times in carriers.items() if len(times) >= fewest_flights}
    name = f"flights to {route}" if origin is None else f"flights from {origin} to {route}"
    if len(arms) < 2:
        sizes = ", ".join(f"{carrier} {len(minutes)}" for carrier, minutes in carriers.items())
        raise ValueError(
            f"min_flights must leave at least two carriers, got {fewest_flights} where {name} are "
            f"{sizes or 'none'}"
        )
    return ArrivalTimes(name, tuple(arms), tuple(arms.values()), notes["source"], notes["licence"])


DAYS: Final[tuple[str, ...]] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
BANDS: Final = {"hour": (13.0, 15.0, 17.0, 19.0), "distance": (2.25, 2.75, 3.5, 5.0)}
"""Default boundaries between bands of hours of the clock, and between bands of miles."""
PROMISED: Final = (40, 35, 30, 27.5, 25, 22.5, 20)
"""Default promised times in minutes, from the most generous to the tightest."""
_COLUMNS: Final = ("day", "hour", "distance", "minutes")


def deliveries_problem(
    arms: str = "day",
    *,
    bands: ArrayLike | None = None,
    promised: ArrayLike = PROMISED,
    feedback: Feedback = "censored",
    order: Any = "iid",
) -> Problem:
    """Make a problem of a restaurant's deliveries and promised delivery times.

    Threshold c is the c-th of the promised times, and higher thresholds are tighter. A pull draws
    one of the orders of a day, an hour band or a distance band, with replacement. The sample is the
    highest threshold whose promised time the delivery meets, 0 if it meets none. With censored
    feedback only times longer than promised are observed.

    The arms are those of `load_deliveries`, in its order.

    Parameters
    ----------
    arms : {"day", "hour", "distance"}, default "day"
        Meaning of an arm: a day of the week, a band of hours, or a band of distances.
    bands : sequence of float, optional
        Boundaries between bands, increasing: clock hours (default 13, 15, 17, 19), or miles
        (default 2.25, 2.75, 3.5, 5). An order on a boundary belongs to the upper band.
    promised : sequence of float, default (40, 35, 30, 27.5, 25, 22.5, 20)
        Minutes from order to receipt, decreasing.
    feedback : {"uncensored", "censored"}, default "censored"
        Whether all times are observed, or only those longer than promised.
    order : ThresholdSequence, str or mapping, default "iid"
        Sequence of the promised times: see `keyhole.threshold.threshold_sequences`.

    Examples
    --------
    >>> deliveries_problem("hour", promised=[40, 30, 20])
    Problem(5 arms, 3 levels, censored feedback, order=iid())
    """
    times = load_deliveries(arms, bands=bands)
    return times.problem(check_deadlines("promised", promised), feedback=feedback, order=order)


def load_deliveries(arms: str = "day", *, bands: ArrayLike | None = None) -> ArrivalTimes:
    """Return the delivery times of a restaurant's orders, by day, hour or distance, in minutes.

    The data are 10,012 orders of one restaurant. Days are in order from Monday, and bands from the
    lowest. The parameters are those of `deliveries_problem`.

    Examples
    --------
    >>> times = load_deliveries("distance", bands=[2.5, 4])
    >>> times
    ArrivalTimes(deliveries by distance; below 2.5: 3905, 2.5 to 4: 4738, from 4: 1369)
    >>> times.met_shares(deadlines=[40, 30, 20]).round(3)
    array([[0.996, 0.846, 0.247],
           [0.992, 0.728, 0.199],
           [0.817, 0.416, 0.104]])
    """
    validation.check_choice("arms", arms, ("day", *BANDS))
    notes, rows = read_bundled_table("deliveries", "orders.csv")
    columns = dict(zip(_COLUMNS, zip(*rows, strict=True), strict=True))
    minutes = np.array(columns["minutes"], np.float64)
    if arms != "day":
        values = np.array(columns[arms], np.float64)
        names, arm_of_row = _assign_bands(values, BANDS[arms] if bands is None else bands)
    elif bands is None:
        names = DAYS
        arm_of_row = np.array([DAYS.index(day) for day in columns["day"]])
    else:
        raise ValueError(f"bands must be left out where arms are days, got {bands!r}")
    groups = tuple(minutes[arm_of_row == arm] for arm in range(len(names)))
    return ArrivalTimes(f"deliveries by {arms}", names, groups, notes["source"], notes["licence"])


def _assign_bands(values: FloatArray, bands: ArrayLike) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return the names of the bands, and the number of each value's band."""
    boundaries = check_increasing("bands", validation.check_vector("bands", bands))
    texts = [f"{boundary:g}" for boundary in boundaries]
    inner_names = [f"{low} to {high}" for low, high in pairwise(texts)]
    names = (f"below {texts[0]}", *inner_names, f"from {texts[-1]}")
    # The side "right" puts an order on a boundary into the upper band.
    band_of_row = np.searchsorted(boundaries, values, side="right")
    for arm, name in enumerate(names):
        if not (band_of_row == arm).any():
            raise ValueError(
                f"bands must each have an order, got none {name}: orders lie between "
                f"{values.min():g} and {values.max():g}"
            )
    return names, band_of_row


Times = ArrivalTimes  # the name in what was pickled before
