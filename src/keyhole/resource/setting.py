"""The setting `resource`: the decision and the feedback of a round, and the known quantities."""

from typing import Any, Final

import numpy as np

from keyhole.contract.reward_units import UNIT, Scale
from keyhole.policy import Field, FloatArray, Setting, fact
from keyhole.resource.cost_functions import (
    PIECE,
    Function,
    KnownFunction,
    as_function,
    check_costs,
    check_increasing,
    rescale_function,
)
from keyhole.validation import Range, SequenceLike, check_vector


class Facts:
    """The known quantities: what a policy may know in advance."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    limit_count = fact(int, ge=1, argument=None, doc="number of limits")
    limits = fact(float, "limit_count", gt=0, doc="the limits, rising")
    continuous = fact(
        int, ge=0, le=1, argument=bool, default=False,
        doc="whether every limit up to the largest may be chosen",
    )  # fmt: skip
    cost_size = fact(int, ge=PIECE, argument=None, doc="length of `cost`")
    cost = fact(
        float, "cost_size", argument=KnownFunction,
        doc="cost of a consumption: not falling, and in [0, 1] up to the largest limit",
    )  # fmt: skip
    penalty_size = fact(int, ge=PIECE, argument=None, doc="length of `penalty`")
    penalty = fact(
        float, "penalty_size", argument=KnownFunction,
        doc="cost of exceeding a limit: not falling, and at least 0",
    )  # fmt: skip
    horizon = fact(int, ge=1, lt=2**40, always=False, doc="rounds in all")


def _is_pair_allowed(p: Facts, arm: int, limit: float) -> bool:
    return 0 <= arm < p.arms and is_limit_allowed(p.limits, p.continuous, limit)


SETTING: Final = Setting(
    name="resource",
    declarations=Facts,
    decision={"arm": Field("int64"), "limit": Field("float64")},
    feedback={
        "reward": Field("float64"),
        "consumption": Field("float64"),
        "exceeded": Field("int64"),
    },
    report={"best_arm": Field("int64"), "best_limit": Field("float64")},
    allowed=_is_pair_allowed,
    rewards=True,
)
"""Choose an arm and a limit; observe reward and consumption, or that the limit was exceeded."""


def facts_of(
    arms: int,
    limits: SequenceLike,
    cost: KnownFunction,
    penalty: KnownFunction,
    continuous: bool,
    scale: Scale = UNIT,
) -> dict[str, Any]:
    """Return the facts, all but `arms` checked; rescale cost and penalty to rewards in [0, 1]."""
    limit_array = check_increasing("limits", check_vector("limits", limits, Range(gt=0)))
    if not isinstance(continuous, bool | np.bool_):
        raise TypeError(f"continuous must be True or False, got {continuous!r}")
    functions: dict[str, Function] = {
        "cost": as_function("cost", cost, limit_array),
        "penalty": as_function("penalty", penalty, limit_array),
    }
    check_costs(functions["cost"], functions["penalty"], float(limit_array[-1]), scale.span)
    # The functions are rescaled only now, so that the messages above are in the user's units.
    if scale != UNIT:
        functions["cost"] = rescale_function(functions["cost"], scale.span)
        functions["penalty"] = rescale_function(functions["penalty"], scale.span, scale.low)
    facts: dict[str, Any] = {
        "arms": arms,
        "limit_count": len(limit_array),
        "limits": limit_array,
        "continuous": int(continuous),
    }
    for name, function in functions.items():
        facts |= {f"{name}_size": len(function.pieces), name: function.pieces}
    return facts


def limit_index(limits: FloatArray, limit: float) -> int:
    """Return the position of the first of `limits` that is at least `limit`, or of the last."""
    low, high = 0, len(limits) - 1
    while low < high:
        middle = (low + high) // 2
        if limits[middle] < limit:
            low = middle + 1
        else:
            high = middle
    return low


def is_limit_allowed(limits: FloatArray, continuous: int, limit: float) -> bool:
    """Return whether a limit is in `limits` or, if `continuous` is 1, in (0, largest limit]."""
    if continuous == 1:
        return bool(0.0 < limit <= limits[len(limits) - 1])
    # The comparison is exact, since policies choose entries of this array.
    return bool(limits[limit_index(limits, limit)] == limit)
