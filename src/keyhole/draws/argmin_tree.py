"""Kernels that find the arm with the smallest key, or the first arm that was never pulled.

The keys of the arms, or of other candidates, are the leaves of a tree, so that a search reads few
nodes. A node is a group of sixteen keys, which vector registers compare at once. Up to 16 keys are
one node; 17 to 32 keys are two nodes without a root, and a search reads both; more keys, up to 256,
are two levels, and so on. If several keys are the smallest, the lowest position is the answer. Keys
must not be NaN. In all functions, `keys` is an array of `argmin_tree_size(candidates)` cells,
`candidates` is at least 1, and positions count from 0.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.kernel_decorators import kernel, load_intrinsic

# An implicit tree, as in a binary heap: the root's children are cells 0 to 15, and those of cell i
# are the sixteen cells from 16 (i + 1) on. The leaves are the last cells, padded with infinity to
# whole nodes. A binary tree has ten levels instead of three at K = 1,000, where a round of LSA took
# 1.4 times as long with it.
_CHILDREN: Final = 16
# Up to this number of keys there is no root. A search would read it just after an update has
# written one of its cells, which is slow: without it, a round of LSA at K = 20 takes 0.67 of the
# time.
_MOST_WITHOUT_TREE: Final = 2 * _CHILDREN


def smallest_of_sixteen(keys: NDArray[np.float64], start: int) -> float:
    """Return the smallest of the sixteen keys from cell `start` on.

    The result is that of the vector code, to the bit. The order of comparisons matters only between
    -0.0 and 0.0, which are equal, and for NaN, which is not smaller than anything.
    """
    numbers: list[float] = list(keys[start : start + _CHILDREN])
    if len(numbers) < _CHILDREN:
        raise IndexError("index out of bounds")
    smallest = min(numbers)
    if smallest and not math.isnan(sum(numbers)):
        return smallest
    # Compare in the order of the vector code.
    while len(numbers) > 1:
        half = len(numbers) // 2
        numbers = [
            high if high < low else low for low, high in zip(numbers, numbers[half:], strict=False)
        ]
    return numbers[0]


def find_among_sixteen(keys: NDArray[np.float64], start: int, key: float) -> int:
    """Return the first position with `key` among sixteen from cell `start` on; 0 if none has it."""
    for position in range(_CHILDREN):
        if keys[start + position] == key:
            return position
    return 0


_smallest: Final = load_intrinsic(smallest_of_sixteen, lambda internals: internals.smallest_in_node)
_position: Final = load_intrinsic(find_among_sixteen, lambda internals: internals.position_in_node)


@kernel
def argmin_tree_size(candidates: int) -> int:
    """Return the length of the array that holds the keys of `candidates` candidates.

    Examples
    --------
    >>> argmin_tree_size(10), argmin_tree_size(1000)
    (16, 1280)
    """
    # `level` is the number of cells on a level: 16, 256, ...; `above` is the number of cells on all
    # levels above the leaves.
    above = 0
    level = _CHILDREN
    while level < candidates and candidates > _MOST_WITHOUT_TREE:
        above += level
        level *= _CHILDREN
    return above + (candidates + _CHILDREN - 1) // _CHILDREN * _CHILDREN


@kernel
def argmin_tree_keys_start(size: int, candidates: int) -> int:
    """Return the cell in which the keys begin, in an array of `size` cells.

    Examples
    --------
    >>> argmin_tree_keys_start(16, 10), argmin_tree_keys_start(1280, 1000)
    (0, 272)
    """
    return size - (candidates + _CHILDREN - 1) // _CHILDREN * _CHILDREN


@kernel
def argmin_tree_fill(keys: NDArray[np.float64], candidates: int, key: float) -> None:
    """Give all candidates the same key.

    Examples
    --------
    >>> store = np.empty(argmin_tree_size(3))
    >>> argmin_tree_fill(store, 3, -math.inf)
    >>> argmin_tree_find(store, 3)
    0
    """
    # On each level, from the leaves up, the cells with a candidate below them get the key.
    keys[:] = math.inf
    cell = argmin_tree_keys_start(len(keys), candidates)
    count = candidates
    while cell > 0:
        keys[cell : cell + count] = key
        cell = cell // _CHILDREN - 1
        count = (count + _CHILDREN - 1) // _CHILDREN
    keys[:count] = key


@kernel
def argmin_tree_update(
    keys: NDArray[np.float64], candidates: int, position: int, key: float
) -> None:
    """Give one candidate a new key.

    Examples
    --------
    >>> store = np.empty(argmin_tree_size(3))
    >>> argmin_tree_fill(store, 3, 1.0)
    >>> argmin_tree_update(store, 3, 2, 0.5)
    >>> argmin_tree_find(store, 3)
    2
    """
    begin = argmin_tree_keys_start(len(keys), candidates)
    cell = begin + position
    keys[cell] = key
    # On the path up to the root, each node's minimum is written into its parent cell.
    while begin > 0 and cell >= _CHILDREN:
        node = cell // _CHILDREN
        cell = node - 1
        keys[cell] = _smallest(keys, _CHILDREN * node)


@kernel
def argmin_tree_find(keys: NDArray[np.float64], candidates: int) -> int:
    """Return the lowest position among those with the smallest key.

    Examples
    --------
    >>> store = np.empty(argmin_tree_size(3))
    >>> argmin_tree_fill(store, 3, 1.0)
    >>> argmin_tree_find(store, 3)
    0
    """
    smallest: float = _smallest(keys, 0)
    begin = argmin_tree_keys_start(len(keys), candidates)
    if begin == 0 and candidates > _CHILDREN:
        smallest_of_second: float = _smallest(keys, _CHILDREN)
        # `winning_node` is the first cell of the node with the smallest key; of equal keys, that in
        # the first node has the lowest position.
        winning_node = _CHILDREN if smallest_of_second < smallest else 0
        smaller = min(smallest, smallest_of_second)
        position: int = winning_node + _position(keys, winning_node, smaller)
        return min(position, candidates - 1)
    # The path goes down from the root, on each level to the first child that equals the minimum.
    cell: int = _position(keys, 0, smallest)
    while cell < begin:
        # `node` is the first cell of a node. It is bounded, and so is the result, since keys from a
        # damaged file must not lead outside the array.
        node = min(_CHILDREN * (cell + 1), len(keys) - _CHILDREN)
        cell = node + _position(keys, node, smallest)
    return min(cell - begin, candidates - 1)


def argmin_tree_rebuild(keys: NDArray[np.float64], candidates: int) -> None:
    """Rebuild the tree above the keys, in Python: files of learners have the keys alone.

    Examples
    --------
    >>> store = np.array([2.0, 1.0] + 14 * [0.0])
    >>> argmin_tree_rebuild(store, 2)
    >>> argmin_tree_find(store, 2)
    1
    """
    padding = -candidates % _CHILDREN
    level = np.append(keys[len(keys) - candidates - padding :][:candidates], [math.inf] * padding)
    keys[:] = math.inf
    begin = len(keys) - len(level)
    while begin > 0:
        keys[begin : begin + len(level)] = level
        level = level.reshape(-1, _CHILDREN).min(axis=1)
        level = np.append(level, [math.inf] * (-len(level) % _CHILDREN))
        begin = begin // _CHILDREN - 1
    keys[: len(level)] = level


@kernel
def first_unpulled(pulls: NDArray[np.float64], begin: NDArray[np.float64]) -> int:
    """Return the first arm without pulls; -1 if there is none.

    The round does not tell which arms have pulls: an arm's first feedback may come late or never,
    and arms may be added.

    Parameters
    ----------
    pulls : ndarray of float64
        Pulls of each arm.
    begin : ndarray of float64, shape (1,)
        Where the search begins: all arms below this number have pulls. The kernel moves it on, so
        that most rounds need no search; it is a `scratch_array()` of the policy's state.

    Examples
    --------
    >>> begin = np.zeros(1)
    >>> first_unpulled(np.array([1.0, 0.0, 2.0]), begin), begin
    (1, array([1.]))
    >>> first_unpulled(np.array([1.0, 3.0, 2.0]), begin), begin
    (-1, array([3.]))
    """
    arm = int(begin[0])
    if arm == len(pulls):
        return -1
    while arm < len(pulls) and pulls[arm] > 0.0:
        arm += 1
    begin[0] = arm
    return arm if arm < len(pulls) else -1
