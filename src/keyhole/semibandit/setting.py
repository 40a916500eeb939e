"""The setting `semibandit`: the decision and the feedback of a round, and the known quantities."""

import math
from typing import Final

import numpy as np

from keyhole.policy import Field, FloatArray, Setting, fact
from keyhole.validation import Range, check_integer, check_number

TOLERANCE: Final = 1e-9
"""Because of rounding, an allocation up to this much below an arm's threshold suffices."""


class Facts:
    """The known quantities: what a policy may know in advance."""

    arms = fact(int, ge=1, lt=2**24, doc="number of arms")
    resource = fact(float, gt=0, le=2**24, doc="how much there is to allocate in a round")
    thresholds = fact(
        float, "arms", gt=0, le=1, always=False,
        doc="smallest allocation that prevents each arm's losses (unknown in practice)",
    )  # fmt: skip


def _is_affordable(p: Facts, allocation: FloatArray) -> bool:
    total = 0.0
    for arm in range(p.arms):
        if not 0.0 <= allocation[arm] <= 1.0:
            return False
        # Added in the order of `clip_to_budget`, because the sum in another order might be rounded
        # to more than the resource.
        total += allocation[arm]
    return total <= p.resource


SETTING: Final = Setting(
    name="semibandit",
    declarations=Facts,
    decision={"allocation": Field("float64", ("arms",))},
    feedback={"losses": Field("float64", ("arms",))},
    report={
        "estimates": Field("float64", ("arms",)),
        "searched": Field("int64"),
        "refuted": Field("int64"),
    },
    allowed=_is_affordable,
)
"""Allocate the resource to the arms; observe a loss of 0 or 1 of each arm.

The observed loss of an arm with a sufficient allocation is 0. The sum of an allocation, added up
from arm 0 on, never exceeds the resource. `keyhole.semibandit.Policy` explains the report.
"""


def allocation_reaches_threshold(allocation: float, threshold: float) -> bool:
    """Return whether an allocation reaches the threshold, up to `TOLERANCE`."""
    return allocation >= threshold - TOLERANCE


def integer_part(resource: float) -> int:
    """Return the integer part; numbers up to `TOLERANCE` below an integer count as the integer."""
    return math.floor(resource + TOLERANCE)


def clip_to_budget(allocation: FloatArray, arms: int, resource: float) -> None:
    """Scale down an allocation whose sum exceeds the resource because of rounding."""
    total = sum_up(allocation, arms)
    while total > resource:
        # A little less than the ratio: rounding could otherwise leave the sum above the resource
        # for ever.
        share = resource / total * (1.0 - 2.0**-52)
        for arm in range(arms):
            allocation[arm] *= share
        total = sum_up(allocation, arms)


def sum_up(allocation: FloatArray, arms: int) -> float:
    """Return the sum of an allocation, added from arm 0 on."""
    total = 0.0
    for arm in range(arms):
        total += allocation[arm]
    return total


_RESOURCE = Range(gt=0)


def candidate_thresholds(arms: int, resource: float) -> FloatArray:
    r"""Return the candidates for a common threshold, in increasing order.

    .. math:: \Theta = \{ Q/K, \, Q/(K-1), \, \dots, \, \min\{1, Q\} \}

    There are K arms, and the resource Q is above 0. Thresholds for which Q suffices for equally
    many arms are equivalent, and each candidate is the largest of its class. Thresholds are at most
    1, so the numbers of arms go from K down to :math:`\min\{K, \max\{1, \lfloor Q \rfloor\}\}`.

    Notes
    -----
    The paper's list ends with min{1, Q}. If Q is above 1 and not an integer, the entry before the
    last is Q divided by the next integer above Q. If Q is below 1, the last entry is Q.

    References
    ----------
    Verma, Hanawal, Rajkumar and Sankaran (2019), section 3, Lemma 1.

    Examples
    --------
    >>> candidate_thresholds(arms=5, resource=2)
    array([0.4       , 0.5       , 0.66666667, 1.        ])
    """
    arms = check_integer("arms", arms, Range(ge=1))
    available = check_number("resource", resource, _RESOURCE)
    least_funded = min(arms, max(1, integer_part(available)))
    return np.minimum(1.0, available / np.arange(arms, least_funded - 1, -1))


def count_funded_arms(threshold: float, arms: int, resource: float) -> int:
    r"""Return the number of arms that can be funded, :math:`\min\{\lfloor Q/\theta_c \rfloor, K\}`.

    Quotients up to 1e-9 below an integer count as that integer. The threshold is in (0, 1], and at
    most the resource.

    Examples
    --------
    >>> count_funded_arms(0.7, arms=20, resource=7)
    10
    """
    threshold = check_number("threshold", threshold, Range(gt=0, le=1))
    available = check_number("resource", resource, _RESOURCE)
    count = integer_part(available / threshold)
    if count == 0:
        raise ValueError(
            f"threshold must be at most the resource, {available:g}; got {threshold:g}"
        )
    return min(count, check_integer("arms", arms, Range(ge=1)))
