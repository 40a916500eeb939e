"""Placement of labels beside a plot: none overlaps another, and the first come nearest."""

from collections.abc import Sequence
from typing import Final

_EPSILON: Final = 1e-9


def place_labels(
    wanted: Sequence[float], *, size: float, length: float, farthest: float
) -> list[float | None]:
    """Return the centre of each label, as near as possible to the wanted one.

    Labels are placed in their order, each at the nearest free place; one without a free place
    within `farthest` gets None. Then the places are exchanged so that labels stand in the order of
    the wanted centres, which brings none of them further away than the furthest was.

    Parameters
    ----------
    wanted : sequence of float
        The wanted centres, the most important label first.
    size : float
        The height of a label.
    length : float
        All labels lie within 0 and `length`.
    farthest : float
        The largest distance between the wanted centre and the label's.

    Examples
    --------
    >>> place_labels([50, 50, 52], size=10, length=100, farthest=10)
    [40.0, 50, 60.0]
    """
    placed: list[float] = []
    found: list[float | None] = []
    for centre in wanted:
        # The nearest free place is the wanted one, an end, or next to a label.
        candidates = [centre, size / 2, length - size / 2]
        candidates += [other + side * size for other in placed for side in (-1.0, 1.0)]
        free = [
            place
            for place in candidates
            if size / 2 <= place <= length - size / 2
            and abs(place - centre) <= farthest
            and all(abs(place - other) >= size - _EPSILON for other in placed)
        ]
        nearest = min(free, key=lambda place: abs(place - centre), default=None)
        found.append(nearest)
        if nearest is not None:
            placed.append(nearest)
    # In the order of the wanted centres, lines from labels to their curves do not cross.
    shown = [number for number, place in enumerate(found) if place is not None]
    upwards = sorted(shown, key=lambda number: (wanted[number], number))
    for number, place in zip(upwards, sorted(placed), strict=True):
        found[number] = place
    return found
