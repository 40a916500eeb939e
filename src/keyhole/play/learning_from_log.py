"""Replay of a log of decisions and feedback by a learner, and the checks of its columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sized
from itertools import takewhile
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.contract.kernel_compilation import compiled_policy
from keyhole.contract.reward_units import UNIT, UNIT_RANGE, Scale, errors_with_scale_hint
from keyhole.drivers.learner_step import DIFFERENT_DECISION, LOGGED_REFUSED, compiled_replay
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.kernel_decorators import bounds_checked, is_bounds_checked
from keyhole.validation import Range, check_integer, check_number, short_repr

if TYPE_CHECKING:
    from keyhole.play.learner import Learner

# Rows per call of the compiled loop. A call holds the interpreter's lock, so other threads run only
# between calls.
_BLOCK_ROWS: Final = 2**15

Columns = Mapping[str, NDArray[Any]]
Column = TypeVar("Column", NDArray[Any], NDArray[np.float64])


def learn_from_log(learner: Learner, columns: Columns) -> int:
    """Have a learner learn a log; return in how many rows its policy decides as the log does.

    If a row is refused, the learner has learnt the rows before it, and the caller restores the
    learner's memory.
    """
    policy = learner.policy
    rounds_before = learner.rounds
    matches = 0
    # A learner's file may hold any numbers, and kernels may use them as indices.
    checks_indices = learner._from_file or is_bounds_checked()
    with bounds_checked(checks_indices), interpreted(bool(learner._interpreted)):
        replay = compiled_replay(compiled_policy(type(policy)), policy.setting)
    # The columns, in the order in which their values lie in a learner's memory.
    names = (*learner._context, *learner._decision, *learner._feedback)
    rows = len(columns[names[0]])
    for first in range(0, rows, _BLOCK_ROWS):
        # Each value is one cell of 8 bytes, whatever its type, as in a learner's memory.
        cell_columns = [
            np.ascontiguousarray(columns[name][first : first + _BLOCK_ROWS])
            .reshape(min(_BLOCK_ROWS, rows - first), -1)
            .view(np.uint64)
            for name in takewhile(columns.__contains__, names)
        ]
        try:
            count_or_code = replay(learner._memory, np.hstack(cell_columns), not policy.off_policy)
        except IndexError as error:
            learner.raise_kernel_error(error)
        if count_or_code < 0:
            _refuse_row(learner, count_or_code, learner.rounds - rounds_before, columns)
        matches += count_or_code
    return matches


def _refuse_row(learner: Learner, code: int, row: int, columns: Columns) -> NoReturn:
    policy = learner.policy
    row_text = f"row {row} of the log"
    log_text = learner._decision_text({name: columns[name][row] for name in learner._decision})
    own_text = learner._decision_text(learner._decision)
    if code == DIFFERENT_DECISION:
        raise ValueError(
            f"{row_text} must be what {policy} decides there ({own_text}), got {log_text}: the "
            "policy cannot learn from decisions of others"
        )
    if code == LOGGED_REFUSED:
        raise ValueError(f"{row_text} must be a decision that the setting allows, got {log_text}")
    raise ValueError(policy.refusal(row_text, own_text))


def float_column(
    name: str, values: ArrayLike, allowed: Range, like: Sized | None = None
) -> NDArray[np.float64]:
    """Return a column of numbers or booleans as floats; it must be as long as `like`, if given."""
    column = _check_column(name, values, "bifu", "numbers", like)
    with np.errstate(invalid="ignore"):
        return _check_values(name, column.astype(np.float64), allowed, check_number)


def reward_column(
    name: str, values: ArrayLike, scale: Scale, like: Sized | None = None
) -> NDArray[np.float64]:
    """Convert a column of rewards from the user's units to those of policies."""
    column = _check_column(name, values, "bifu", "numbers", like).astype(np.float64)
    if scale != UNIT:
        return scale.to_unit(_check_values(name, column, scale.map_range(UNIT_RANGE), check_number))
    with errors_with_scale_hint():
        return _check_values(name, column, UNIT_RANGE, check_number)


def int_column(
    name: str, values: ArrayLike, allowed: Range, like: Sized | None = None
) -> NDArray[np.int64]:
    """Return a column of integers; it must be as long as `like`, if given."""
    column = _check_column(name, values, "iu", "whole numbers", like)
    return _check_values(name, column, allowed, check_integer).astype(np.int64)


def bool_column(name: str, values: ArrayLike, like: Sized | None = None) -> NDArray[np.bool_]:
    """Return a column of booleans; it must be as long as `like`, if given."""
    return _check_column(name, values, "b", "True or False", like)


def _check_column(
    name: str, values: ArrayLike, kinds: str, noun: str, like: Sized | None
) -> NDArray[Any]:
    """Return values as a vector; `kinds` are NumPy's letters for the allowed kinds of dtypes."""
    try:
        column = np.asarray(values)
    except ValueError:  # rows of different lengths
        column = np.empty(0, object)
    if column.shape == (0,) and column.dtype == float:  # of any empty list, NumPy makes floats
        kinds += "f"
    if column.dtype.kind not in kinds or column.ndim != 1:
        raise TypeError(f"{name} must be a list of {noun}, got {short_repr(values)}")
    if like is not None and len(column) != len(like):
        raise ValueError(f"{name} must have {len(like)} entries, one a round; got {len(column)}")
    return column


def _check_values(
    name: str, column: Column, allowed: Range, check: Callable[..., object]
) -> Column:
    """Return a column; `check` raises the error of the first value that is not allowed."""
    low, high = allowed.ends
    # The negation makes NaN wrong, for which every comparison is false.
    is_wrong = ~((column >= low) & (column <= high))
    is_wrong |= (column == allowed.gt) | (column == allowed.lt)
    if is_wrong.any():
        row = int(is_wrong.argmax())
        check(f"{name}[{row}]", column[row], allowed)
    return column
