"""Times of food deliveries, as the problem of which orders will keep a promised time.

The options (arms) are days, hours or distances of orders; a promised time is a threshold that the
delivery should not exceed.
"""

from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.data.deadline_times import Times, check_decreasing, read_bundled_table
from keyhole.threshold import Problem
from keyhole.threshold.setting import Feedback
from keyhole.validate import check_choice, check_vector

DAYS: Final[tuple[str, ...]] = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
BANDS: Final = {"hour": (13.0, 15.0, 17.0, 19.0), "distance": (2.25, 2.75, 3.5, 5.0)}
"""Default boundaries of the bands of each kind: clock hours, and miles."""
PROMISED: Final = (40, 35, 30, 27.5, 25, 22.5, 20)
"""Minutes, from the most generous to the tightest."""
_COLUMNS: Final = ("day", "hour", "distance", "minutes")


def deliveries(
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
    order : Order, str or mapping, default "iid"
        Sequence of the promised times: see `keyhole.threshold.threshold_sequences`.

    Examples
    --------
    >>> deliveries("hour", promised=[40, 30, 20])
    Problem(5 arms, 3 levels, censored feedback, order=iid())
    """
    times = load_deliveries(arms, bands=bands)
    return times.problem(check_decreasing("promised", promised), feedback=feedback, order=order)


def load_deliveries(arms: str = "day", *, bands: ArrayLike | None = None) -> Times:
    """Return the delivery times of a restaurant's orders by day, hour or distance, in minutes.

    The data are 10,012 orders of one restaurant, by day from Monday, or by band from the lowest;
    `arms` and `bands` are those of `deliveries`.

    Examples
    --------
    >>> times = load_deliveries("distance", bands=[2.5, 4])
    >>> times
    Times(deliveries by distance; below 2.5: 3905, 2.5 to 4: 4738, from 4: 1369)
    >>> times.met_shares(deadlines=[40, 30, 20]).round(3)
    array([[0.996, 0.846, 0.247],
           [0.992, 0.728, 0.199],
           [0.817, 0.416, 0.104]])
    """
    check_choice("arms", arms, ("day", *BANDS))
    notes, rows = read_bundled_table("deliveries", "orders.csv")
    columns = dict(zip(_COLUMNS, zip(*(row.split(",") for row in rows), strict=True), strict=True))
    minutes = np.array(columns["minutes"], np.float64)
    if arms != "day":
        values = np.array(columns[arms], np.float64)
        names, place = _assign_bands(values, BANDS[arms] if bands is None else bands)
    elif bands is None:
        names, place = DAYS, np.array([DAYS.index(day) for day in columns["day"]])
    else:
        raise ValueError(f"bands must be left out where arms are days, got {bands!r}")
    groups = tuple(minutes[place == arm] for arm in range(len(names)))
    return Times(f"deliveries by {arms}", names, groups, notes["source"], notes["licence"])


def _assign_bands(values: FloatArray, bands: ArrayLike) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """Return the names of the bands, and the band of each value."""
    cuts = check_vector("bands", bands)
    for i in range(1, len(cuts)):
        if cuts[i] <= cuts[i - 1]:
            raise ValueError(f"bands must be increasing, got {cuts[i]:g} after {cuts[i - 1]:g}")
    shown = [f"{cut:g}" for cut in cuts]
    inner = [f"{low} to {high}" for low, high in pairwise(shown)]
    names = (f"below {shown[0]}", *inner, f"from {shown[-1]}")
    # From the right: an order on a boundary belongs to the upper band.
    place = np.searchsorted(cuts, values, side="right")
    for arm, name in enumerate(names):
        if not (place == arm).any():
            raise ValueError(
                f"bands must each have an order, got none {name}: orders lie between "
                f"{values.min():g} and {values.max():g}"
            )
    return names, place
