"""Candidates for an unknown amount that all places (arms) need alike, and how many can get it.

A resource is divided among places; one has no losses while it gets this amount, its threshold. It
is enough to know how many places the resource suffices for: each number gives one candidate.
"""

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.semibandit.setting import integer_part
from keyhole.validate import Range, check_integer, check_number

_THRESHOLD = Range(gt=0, le=1)
_RESOURCE = Range(gt=0)


def candidate_thresholds(arms: int, resource: float) -> FloatArray:
    r"""Return the candidates for a common threshold, one for each equivalence class.

    .. math:: \Theta = \{ Q/K, \, Q/(K-1), \, \dots, \, \min\{1, Q\} \}

    For K arms and a resource Q above 0, in increasing order: one for each number of arms that the
    resource may suffice for, from K down to :math:`\lfloor Q \rfloor`, since thresholds are at most
    1.

    Notes
    -----
    The paper's list ends with min{1, Q}. Where Q is not an integer, the entry before is that for
    the next integer above Q; where Q is below 1, the last entry is Q.

    References
    ----------
    Verma, Hanawal, Rajkumar and Sankaran (2019), section 3, Lemma 1.

    Examples
    --------
    >>> candidate_thresholds(arms=5, resource=2)
    array([0.4       , 0.5       , 0.66666667, 1.        ])
    """
    most, available = (
        check_integer("arms", arms, Range(ge=1)),
        check_number("resource", resource, _RESOURCE),
    )
    fewest = min(most, max(1, integer_part(available)))
    return np.minimum(1.0, available / np.arange(most, fewest - 1, -1))


def count_funded_arms(threshold: float, arms: int, resource: float) -> int:
    r"""Return the number of arms that can be funded, :math:`\min\{\lfloor Q/\theta_c \rfloor, K\}`.

    Quotients up to 1e-9 below an integer count as that integer. The threshold is in (0, 1], and at
    most the resource.

    Examples
    --------
    >>> count_funded_arms(0.7, arms=20, resource=7)
    10
    """
    least = check_number("threshold", threshold, _THRESHOLD)
    available = check_number("resource", resource, _RESOURCE)
    count = integer_part(available / least)
    if count == 0:
        raise ValueError(f"threshold must be at most the resource, {available:g}; got {least:g}")
    return min(count, check_integer("arms", arms, Range(ge=1)))
