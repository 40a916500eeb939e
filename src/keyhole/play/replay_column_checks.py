"""Checks of a log of decisions before a policy learns from it: errors name the first bad row."""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.reward_units import UNIT, Scale, suggested_scale
from keyhole.validate import Range, check_integer, check_number, short_repr

_UNIT_RANGE: Final = Range(ge=0, le=1)


def float_column(
    name: str, values: Any, allowed: Range, like: Any = None, wide: int = 0
) -> NDArray[np.float64]:
    """Return a column of numbers or booleans as floats, as long as the column `like`.

    Each row has `wide` numbers if that is not 0.
    """
    found = _column(name, values, "bifu", "numbers", like, wide)
    with np.errstate(invalid="ignore"):
        return _check_values(name, found.astype(np.float64), allowed, check_number)


def reward_column(name: str, values: Any, scale: Scale, like: Any = None) -> NDArray[np.float64]:
    """Return a column of rewards in the user's units, as long as the column `like`, in [0, 1]."""
    found = _column(name, values, "bifu", "numbers", like).astype(np.float64)
    if scale != UNIT:
        return scale.to_unit(_check_values(name, found, scale.range(_UNIT_RANGE), check_number))
    with suggested_scale():
        return _check_values(name, found, _UNIT_RANGE, check_number)


def int_column(name: str, values: Any, allowed: Range, like: Any = None) -> NDArray[np.int64]:
    """Return a column of integers, as long as the column `like`."""
    found = _check_values(
        name, _column(name, values, "iu", "whole numbers", like), allowed, check_integer
    )
    return found.astype(np.int64)


def bool_column(name: str, values: Any, like: Any = None) -> NDArray[np.bool_]:
    """Return a column of booleans, as long as the column `like`."""
    return _column(name, values, "b", "True or False", like)


def _column(
    name: str, values: Any, kinds: str, words: str, like: Any, wide: int = 0
) -> NDArray[Any]:
    try:
        found = np.asarray(values)
    except ValueError:  # rows of several lengths
        found = np.empty(0, object)
    if found.shape == (0,) and found.dtype == float:  # an empty list is one of anything
        kinds, found = f"{kinds}f", found.reshape((0, wide) if wide else 0)
    row = (wide,) if wide else ()
    if found.dtype.kind not in kinds or not found.ndim or found.shape[1:] != row:
        each = f"lists of {wide} {words}" if wide else words
        raise TypeError(f"{name} must be a list of {each}, got {short_repr(values)}")
    if like is not None and len(found) != len(like):
        raise ValueError(f"{name} must have {len(like)} entries, one a round; got {len(found)}")
    return found


def _check_values(name: str, found: NDArray[Any], allowed: Range, check: Any) -> NDArray[Any]:
    low, high = allowed.ends
    # Negated, so that NaN, for which every comparison is false, is wrong.
    wrong = ~((found >= low) & (found <= high))
    wrong |= (found == allowed.gt) | (found == allowed.lt)
    if wrong.any():
        at = np.argwhere(wrong)[0].tolist()
        check(f"{name}[{', '.join(map(str, at))}]", found[tuple(at)], allowed)
    return found
