"""Stopping: the declarations of a policy that can say *enough*, and how its state is read.

A policy (a rule that chooses among options, the arms) settles arms: it gives each a final verdict,
such as "above" or "below". It is done when every arm is settled.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from keyhole.contract.state_arrays import Field, declared_state
from keyhole.validate import check_distinct

_ARRAYS: Final = {"settled": Field("int64", ("arms",)), "stopped": Field("int64", (1,))}


@dataclass(frozen=True)
class Guarantee:
    """The promise of a policy that can stop: the mean of a metric is at most a number.

    Attributes
    ----------
    metric : {"wrong_settled", "any_wrong_settled"}
        The metric: see `keyhole.metric.STOP_METRICS`.
    most : float
        The largest mean that it may have.
    text : str
        The promise in words.
    """

    metric: str
    most: float
    text: str


def check_stopping(cls: Any) -> None:
    """Refuse a class with verdicts whose state lacks the arrays of a policy that can stop."""
    name = f"{cls.__name__}.verdicts"
    if not isinstance(cls.verdicts, tuple) or not all(isinstance(v, str) for v in cls.verdicts):
        raise TypeError(f"{name} must be a tuple of texts, got {cls.verdicts!r}")
    if not cls.verdicts:
        return
    check_distinct(name, cls.verdicts)
    state = declared_state(cls)
    for array, wanted in _ARRAYS.items():
        if state.get(array) != wanted:
            shape = '"arms"' if wanted.shape == ("arms",) else ""
            raise TypeError(
                f"{cls.__name__} has verdicts: its State must declare {array} = int_array({shape})"
            )


def check_settled(policy: Any, state: Mapping[str, Any]) -> None:
    """Refuse a state from a file with verdicts that the policy does not have."""
    codes = state["settled"] if policy.verdicts else ()
    for arm, code in enumerate(codes):
        if not 0 <= code <= len(policy.verdicts):
            most = len(policy.verdicts)
            raise ValueError(f"settled[{arm}] must be from 0 to {most}, got {code}")


def is_done(policy: Any, state: Mapping[str, Any]) -> bool:
    """Return whether a policy with this state has settled every arm."""
    return bool(policy.verdicts) and bool(state["settled"].all())


def settled_arms(policy: Any, state: Mapping[str, Any]) -> dict[int, str]:
    """Return the verdict on each settled arm, by its number."""
    codes = state["settled"].tolist() if policy.verdicts else []
    return {arm: policy.verdicts[code - 1] for arm, code in enumerate(codes) if code}


def remaining_arms(policy: Any, state: Mapping[str, Any], arms: int) -> list[int]:
    """Return the numbers of the arms that are not settled yet."""
    settled = settled_arms(policy, state)
    return [arm for arm in range(arms) if arm not in settled]
