"""Estimate of how many replications (simulated histories) would decide an open claim of a paper."""

import math
from collections.abc import Sequence
from typing import Final

from keyhole.papers.verdicts import Number

_MOST: Final = 1e9  # replications; larger estimates are not reported


def replications_needed(numbers: Sequence[Number], replications: int) -> int | None:
    r"""Estimate how many replications would decide an undecided claim, given its numbers.

    A number with an interval of half-width h at a distance d from the end of the claimed range
    takes :math:`n (h / d)^2` replications in place of n, if its value does not change. For a claim
    to hold all its numbers must be clear; for it not to hold, one beyond its range is enough.
    Comparisons that are adjusted together take more than this.

    Returns
    -------
    int or None
        None if no number is unclear, if the claim needs only some of several comparisons, or if
        more than 10**9 would be needed.
    """
    inside, beyond, several = list[float](), list[float](), False
    for number in numbers:
        ranged = [end for end in (number.at_least, number.at_most) if math.isfinite(end)]
        if not ranged and number.p_value is None:
            continue
        # A count of comparisons that is claimed: only some of them need be clear.
        several |= bool(ranged) and number.low == number.high
        unclear = [end for end in ranged or [0.0] if number.low < end < number.high]
        if not unclear or not math.isfinite(number.high - number.low):
            continue
        several |= not ranged
        needed = max(_needed(number, end, replications) for end in unclear)
        within = number.at_least <= number.value <= number.at_most
        (inside if within else beyond).append(needed)
    if not (inside or beyond) or (several and len(inside + beyond) > 1):
        return None
    # One number clearly beyond its range decides the claim; inside, all must be clear.
    found = min(beyond) if beyond else max(inside)
    # 50.00000001 is 50
    return math.ceil(found - 1e-6) if replications < found <= _MOST else None


def _needed(number: Number, end: float, replications: int) -> float:
    distance = abs(number.value - end)
    # the wider half: intervals of shares and ratios are not symmetric
    reach = max(number.high - number.value, number.value - number.low)
    return replications * (reach / distance) ** 2 if distance > 0 else math.inf
