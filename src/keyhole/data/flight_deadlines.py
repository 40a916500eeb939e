"""Arrival delays of flights, as the problem of choosing a carrier that is in time for a deadline.

A carrier is an option (arm), and a deadline is a threshold that the delay should not exceed.
"""

import math
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.data.deadline_times import Times, read_bundled_table
from keyhole.threshold import Problem
from keyhole.threshold.setting import Feedback
from keyhole.validate import Range, check_choice, check_integer

ORIGINS: Final = ("EWR", "JFK", "LGA")
DEADLINES: Final = (60, 45, 30, 15, 10, 5, 0, -5, -10, -20)
"""Minutes after the scheduled arrival, from the most generous to the tightest."""


def flights(
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
    order : Order, str or mapping, default "iid"
        Sequence of the deadlines: see `keyhole.threshold.threshold_sequences`.
    deadlines : sequence of float, default (60, 45, 30, 15, 10, 5, 0, -5, -10, -20)
        In minutes after the scheduled arrival, decreasing.
    origin : {"EWR", "JFK", "LGA"}, optional
        Code of the origin; by default all three.
    min_flights : int, default 300
        Carriers with fewer flights are left out.

    Examples
    --------
    >>> flights("SFO")
    Problem(5 arms, 10 levels, censored feedback, order=iid())

    A learner books flights to Charleston, and observes only the delays of late ones. One carrier is
    best for late deadlines, another for early ones.

    >>> from keyhole.data import level_of_time, load_flights
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
    ...         learner.tell(level_of_time(minutes, deadlines))
    >>> [times.arms[carrier] for carrier in learner.recommend()]
    ['B6', 'B6', 'B6', '9E']
    """
    times = load_flights(route, origin=origin, min_flights=min_flights)
    return times.problem(deadlines, feedback=feedback, order=order)


def load_flights(route: str, *, origin: str | None = None, min_flights: int = 300) -> Times:
    """Return the delays of the flights on a route, carrier by carrier, in minutes.

    The data are all flights scheduled out of New York City in 2013; the README beside them has the
    source, the licence and the names of the carriers. Carriers are in alphabetical order of their
    codes; delays of cancelled and diverted flights are infinite. Parameters are those of `flights`.

    Examples
    --------
    >>> times = load_flights("ATL")
    >>> times
    Times(flights to ATL; DL: 10571, EV: 1764, FL: 2337, MQ: 2322)
    >>> times.met_shares(deadlines=[60, 15, 0, -20]).round(3)
    array([[0.92 , 0.789, 0.586, 0.126],
           [0.808, 0.601, 0.418, 0.096],
           [0.864, 0.636, 0.368, 0.044],
           [0.873, 0.659, 0.427, 0.064]])
    """
    notes, rows = read_bundled_table("nycflights13", "arrival_delays.csv")
    table = [row.split(",") for row in rows]
    check_choice("route", route, dict.fromkeys(dest for dest, _, _, _ in table))
    if origin is not None:
        check_choice("origin", origin, ORIGINS)
    least = check_integer("min_flights", min_flights, Range(ge=1))
    found: dict[str, list[FloatArray]] = {}
    for dest, start, carrier, delays in table:
        if dest == route and origin in (None, start):
            found.setdefault(carrier, []).append(_minutes(delays))
    carriers = {carrier: np.concatenate(parts) for carrier, parts in sorted(found.items())}
    kept = {carrier: minutes for carrier, minutes in carriers.items() if len(minutes) >= least}
    name = f"flights to {route}" if origin is None else f"flights from {origin} to {route}"
    if len(kept) < 2:
        sizes = ", ".join(f"{carrier} {len(minutes)}" for carrier, minutes in carriers.items())
        raise ValueError(
            f"min_flights must leave at least two carriers, got {least} where {name} are "
            f"{sizes or 'none'}"
        )
    return Times(name, tuple(kept), tuple(kept.values()), notes["source"], notes["licence"])


def _minutes(delays: str) -> FloatArray:
    """Return the delay of every flight, from pairs of delay and count."""
    pairs = [pair.split(":") for pair in delays.split(" ")]
    values = [math.inf if delay == "never" else float(delay) for delay, _ in pairs]
    return np.repeat(values, [int(count) for _, count in pairs])
