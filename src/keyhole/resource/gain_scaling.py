"""Gains of runs (reward less cost, or minus a penalty if stopped), rescaled to [0, 1].

Policies of the classical bandit, which choose among options with rewards in [0, 1], expect that.
"""

from typing import Any

from keyhole.resource.cost_functions import value_at


def scale_gain(gain: float, largest_penalty: float) -> float:
    """Return the gain of a run rescaled to [0, 1], after equation (7) (a kernel).

    `gain` is reward less cost, or minus the penalty: from -`largest_penalty` to 1.

    Examples
    --------
    >>> round(scale_gain(0.4, 0.2), 3)
    0.5
    """
    return (gain + largest_penalty) / (1.0 + largest_penalty)


def check_cost_covered(policy: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Refuse a cost above the penalty at the largest limit: rescaled gains could be negative."""
    largest = float(facts["limits"][-1])
    cost, penalty = value_at(facts["cost"], largest), value_at(facts["penalty"], largest)
    if cost > penalty:
        raise ValueError(
            f"penalty must be at least the cost at the largest limit, {cost:g}, for {policy}; "
            f"got {penalty:g}"
        )
    return facts
