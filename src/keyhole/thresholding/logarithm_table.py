"""Lookup table of the logarithms of small whole numbers, such as the pulls of an arm.

The policy LSA needs one for each arm (option) in each round, and a table is faster.
"""

import math
from typing import Final

import numpy as np

_LENGTH: Final = 4096
# Computed by the C library that compiled code calls, for the same bits. The numbers are part of the
# digest of every kernel that uses them, since this module's source is not.
_LOGARITHMS: Final = np.array([-math.inf, *(math.log(count) for count in range(1, _LENGTH))])


def log_count(count: float) -> float:
    """Return ln(count), for a whole number from 1.

    The table saves a quarter of a round of `LSA`; it is of no use for arguments that are not
    counts, as in `MOSS`.

    Examples
    --------
    >>> log_count(7.0) == math.log(7)
    True
    """
    whole = int(count)
    return float(_LOGARITHMS[whole]) if 0 < whole < _LENGTH else math.log(count)
