"""Logarithms of counts, looked up."""

import math
from typing import Final

import numpy as np

_LENGTH: Final = 4096
# By the C library that compiled code calls too: the same bits. A compiled kernel is filed under
# these numbers, since the module is none of those whose sources alone stand for them.
_LOGARITHMS: Final = np.array([-math.inf, *(math.log(count) for count in range(1, _LENGTH))])


def log_count(count: float) -> float:
    """Return ln(count), for a whole number from 1.

    Looking it up takes a quarter off a round of `LSA`. It does not help where arguments are not
    counts, as in `MOSS`.

    Examples
    --------
    >>> log_count(7.0) == math.log(7)
    True
    """
    whole = int(count)
    return float(_LOGARITHMS[whole]) if 0 < whole < _LENGTH else math.log(count)
