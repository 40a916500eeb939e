"""Gains brought to [0, 1], for policies of the classical bandit."""

from typing import Any

from keyhole.resource.cost_functions import value_at


def scaled_gain(worth: float, largest_penalty: float) -> float:
    """Return what a run was worth on a scale from 0 to 1 (a kernel): equation (7), rescaled.

    `worth` is reward less cost, or minus the penalty: from -`largest_penalty` to 1.

    Examples
    --------
    >>> round(scaled_gain(0.4, 0.2), 3)
    0.5
    """
    return (worth + largest_penalty) / (1.0 + largest_penalty)


def check_covered(policy: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Return the facts; refuse a cost above the largest penalty: gains could be negative."""
    largest = float(facts["limits"][-1])
    cost, penalty = value_at(facts["cost"], largest), value_at(facts["penalty"], largest)
    if cost > penalty:
        raise ValueError(
            f"penalty must be at least the cost at the largest limit, {cost:g}, for {policy}; "
            f"got {penalty:g}"
        )
    return facts
