"""The candidate with the smallest key, when one key changes at a time.

Few keys are scanned; many are kept in a tree of minima, so that a round costs log K and not K. Both
give the same answer: the lowest position among equal smallest keys. Keys must not be NaN.
Throughout, `keys` is the store of `argmin_size(candidates)` keys, and `candidates` at least 1;
positions count from 0.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.jit import kernel

# Measured with four replications interleaved (ns a round, scan / tree): K = 10: 6.9 / 9.7,
# K = 16: 9.8 / 9.7, K = 32: 18.6 / 12.0, K = 1,000: 573 / 33.
_SCAN_BELOW: Final = 24


@kernel
def argmin_size(candidates: int) -> int:
    """Return the length of the array that holds the keys of `candidates` candidates.

    That is `candidates` when they are scanned, else twice the next power of two (a heap-ordered
    tree: node i has children 2i and 2i + 1, the root is 1, leaves come last).

    Examples
    --------
    >>> argmin_size(10), argmin_size(1000)
    (10, 2048)
    """
    if candidates < _SCAN_BELOW:
        return candidates
    leaves = 1
    while leaves < candidates:
        leaves *= 2
    return 2 * leaves


@kernel
def argmin_fill(keys: NDArray[np.float64], candidates: int, key: float) -> None:
    """Give all candidates the same key.

    Examples
    --------
    >>> store = np.empty(argmin_size(3))
    >>> argmin_fill(store, 3, -math.inf)
    >>> argmin(store, 3)
    0
    """
    if len(keys) == candidates:
        keys[:] = key
        return
    keys[:] = math.inf
    leaves = len(keys) >> 1
    keys[leaves : leaves + candidates] = key
    for node in range(leaves - 1, 0, -1):
        keys[node] = min(keys[2 * node], keys[2 * node + 1])


@kernel
def argmin_set(keys: NDArray[np.float64], candidates: int, position: int, key: float) -> None:
    """Give one candidate a new key.

    Examples
    --------
    >>> store = np.empty(argmin_size(3))
    >>> argmin_fill(store, 3, 1.0)
    >>> argmin_set(store, 3, 2, 0.5)
    >>> argmin(store, 3)
    2
    """
    if len(keys) == candidates:
        keys[position] = key
        return
    node = (len(keys) >> 1) + position
    keys[node] = key
    while node > 1:
        sibling = keys[node ^ 1]
        if sibling < key:
            key = sibling
        node >>= 1
        keys[node] = key


@kernel
def argmin(keys: NDArray[np.float64], candidates: int) -> int:
    """Return the lowest position among those with the smallest key.

    Examples
    --------
    >>> argmin(np.array([2.0, 1.0, 1.0]), 3)
    1
    """
    if len(keys) == candidates:
        best, smallest = 0, keys[0]
        for position in range(1, candidates):
            if keys[position] < smallest:
                best, smallest = position, keys[position]
        return best
    leaves = len(keys) >> 1
    smallest = keys[1]
    node = 1
    while node < leaves:
        node *= 2
        if keys[node] != smallest:
            node += 1
    return node - leaves
