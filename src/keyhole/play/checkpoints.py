"""Checkpoints: the rounds of a simulation after which metrics (reward lost, ...) are recorded."""

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any, Final, Literal, get_args

import numpy as np

from keyhole.validate import Range, check_choice, check_integer, check_sequence

MOST_CHECKPOINTS: Final = 100_000
SpacingKind = Literal["linear", "log"]
_TABLE: Final = {"count", "spacing"}


def check_checkpoints(
    checkpoints: Iterable[int] | Mapping[str, Any] | None, horizon: int, first: int = 1
) -> tuple[int, ...]:
    """Return checked checkpoints; the horizon alone where none are given.

    Parameters
    ----------
    checkpoints : iterable of int, mapping or None
        Increasing rounds, or their number and spacing: see `spaced_rounds`.
    horizon : int
        The last round.
    first : int, default 1
        The least round of a spaced checkpoint; listed ones are not checked against it.

    Examples
    --------
    >>> check_checkpoints({"count": 3, "spacing": "log"}, 1000)
    (10, 100, 1000)
    """
    if checkpoints is None:
        return (horizon,)
    if isinstance(checkpoints, Mapping):
        return spaced_rounds(checkpoints, min(first, horizon), horizon)
    listed = check_sequence(
        "checkpoints", checkpoints, "a list of rounds, or a number of them as {'count': 50}"
    )
    rounds = tuple(
        check_integer(f"checkpoints[{i}]", c, Range(ge=1, le=horizon)) for i, c in enumerate(listed)
    )
    if not rounds:
        raise ValueError("checkpoints must have at least one entry, got none")
    for before, after in pairwise(rounds):
        if after <= before:
            raise ValueError(f"checkpoints must rise, got {after} after {before}")
    return rounds


def spaced_rounds(table: Mapping[str, Any], first: int, horizon: int) -> tuple[int, ...]:
    """Return evenly spaced checkpoints from round `first` or later to `horizon`.

    Parameters
    ----------
    table : mapping
        ``count``, from 1 to 100,000 (fewer remain where rounding makes some equal), and, if given,
        ``spacing``: "linear", evenly in rounds, or "log", in their logarithm.
    first, horizon : int
        The ends.
    """
    for name in table:
        check_choice("each entry of checkpoints", name, sorted(_TABLE))
    if "count" not in table:
        raise ValueError("checkpoints.count must be given")
    count = check_integer("checkpoints.count", table["count"], Range(ge=1, le=MOST_CHECKPOINTS))
    if (
        check_choice("checkpoints.spacing", table.get("spacing", "linear"), get_args(SpacingKind))
        == "linear"
    ):
        points = horizon * np.arange(1, count + 1) / count
    else:
        # One point more, of which the first is dropped: the spacing is then that of `count` steps.
        points = np.geomspace(first, horizon, count + 1)[1:]
    return tuple(sorted({max(first, int(p)) for p in points.round()}))
