"""Where a limit stands among those that may be chosen (kernels)."""

from keyhole.contract.memory import FloatArray


def place_of(limits: FloatArray, limit: float) -> int:
    """Return the position of the smallest of the limits that is at least `limit`.

    Parameters
    ----------
    limits : ndarray of float64
        Rising.
    limit : float
        Any number; beyond the largest limit the last position is returned.

    Returns
    -------
    int
        From 0.

    Examples
    --------
    >>> import numpy as np
    >>> place_of(np.array([0.25, 0.5, 1.0]), 0.5)
    1
    """
    low, high = 0, len(limits) - 1
    while low < high:
        middle = (low + high) // 2
        if limits[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


def is_admissible(limits: FloatArray, continuous: int, limit: float) -> bool:
    """Return whether a limit may be chosen.

    Parameters
    ----------
    limits : ndarray of float64
        Rising.
    continuous : int
        1 if every limit up to the largest may be chosen, 0 if only these.
    limit : float
        The limit.

    Returns
    -------
    bool
        Whether it may.

    Examples
    --------
    >>> import numpy as np
    >>> is_admissible(np.array([0.5, 1.0]), 0, 0.75), is_admissible(np.array([1.0]), 1, 0.75)
    (False, True)
    """
    if continuous == 1:
        return bool(0.0 < limit <= limits[len(limits) - 1])
    return bool(limits[place_of(limits, limit)] == limit)
