"""Division of the pulls among the arms that minimises a bound on the expected number of errors.

The bound is the sum of exp(-c x gap^2) over the arms, where x is the number of pulls of an arm.
`gaps` are the distances of the arms' means from the threshold, in [0, 1], at least one above 0;
`budget` is T, the total number of pulls, at least 0; the constant `c` is above 0, by default 2 as
in Hoeffding's inequality. Sections and equations are those of Tao et al. (2019).
"""

import heapq
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.validation import Range, check_integer, check_number, check_vector

_GAP: Final = Range(ge=0, le=1)
_POSITIVE: Final = Range(gt=0)
# Up to this gap the divergence of the Bernoulli distributions with means 1/2 - gap and 1/2 + gap is
# at most 16 gap^2; at 0.479 it is more.
_CLOSE: Final = 0.478


def _check_arguments(gaps: ArrayLike, c: float) -> tuple[FloatArray, float]:
    """Return the checked arguments; the formulas call the gaps Delta."""
    delta = check_vector("gaps", gaps, _GAP)
    if not delta.any():
        raise ValueError("gaps must have an entry above 0, got none")
    return delta, check_number("c", c, _POSITIVE)


def _expected_error_bound(gaps: ArrayLike, allocation: FloatArray | IntArray, c: float) -> float:
    """Return the sum of exp(-c x gap^2)."""
    return float(np.exp(-c * allocation * check_vector("gaps", gaps, _GAP) ** 2).sum())


def optimal_allocation(gaps: ArrayLike, budget: float, *, c: float = 2.0) -> FloatArray:
    r"""Return the optimal pulls of each arm for known gaps, as real numbers.

    They minimise :math:`\sum_i e^{-c x_i \Delta_i^2}` over :math:`x \ge 0` with :math:`\sum_i x_i =
    T`. The solution is

    .. math:: x_i = \max\left\{ \frac{\Phi - \frac2c \ln \Delta_i^{-1}}{\Delta_i^2}, 0 \right\}

    where :math:`\Phi` is such that the pulls sum to T. An arm with gap 0 gets no pulls (section 3,
    equations (6) to (9)).

    Notes
    -----
    The paper gives the solution for c = 2 (equation 9), where the factor 2/c is 1. The general form
    follows from the same conditions, and agrees with the paper's equation (11), where c is 2 alpha.
    No search for :math:`\Phi` is needed: as it grows, arms get their first pulls in the order of
    their gaps, the largest first.

    Examples
    --------
    >>> optimal_allocation([0.1, 0.4], 100).round(1)
    array([86., 14.])
    """
    delta, c = _check_arguments(gaps, c)
    budget = check_number("budget", budget, Range(ge=0))
    order = np.argsort(-delta, kind="stable")
    order = order[delta[order] > 0]
    weights = delta[order] ** -2.0
    # Arm k of this order gets pulls if Phi exceeds entry_levels[k]. levels[k] is the Phi at which
    # the first k + 1 arms together use up the budget. The solution is the last levels[k] that is at
    # least entry_levels[k].
    entry_levels = -2.0 / c * np.log(delta[order])
    levels = (budget + np.cumsum(entry_levels * weights)) / np.cumsum(weights)
    # The first arm, with the largest gap, always gets pulls. It is the default, since rounding may
    # let no level qualify.
    last_arm = max(np.flatnonzero(levels >= entry_levels), default=0)
    allocation = np.zeros(len(delta))
    allocation[order] = np.maximum(levels[last_arm] - entry_levels, 0.0) * weights
    return allocation


def optimal_value(gaps: ArrayLike, budget: float, *, c: float = 2.0) -> float:
    r"""Return the optimum :math:`P_c = \sum_i e^{-c x_i \Delta_i^2}` of `optimal_allocation`.

    With c = 2, twice this value bounds the aggregate regret of the algorithm O, which knows the
    gaps. See section 3, equations (5) to (7).

    Examples
    --------
    >>> round(optimal_value([0.1, 0.4], 100), 4)
    0.1904
    """
    return _expected_error_bound(gaps, optimal_allocation(gaps, budget, c=c), c)


def integer_allocation(gaps: ArrayLike, budget: int, *, c: float = 2.0) -> IntArray:
    r"""Return the optimal allocation in whole pulls.

    It solves the problem of `optimal_allocation` with :math:`x_i \in \mathbb{N}`. The next pull of
    an arm lowers the sum by its *gain*, :math:`e^{-c x_i \Delta_i^2} (1 - e^{-c \Delta_i^2})`.
    Gains fall with every pull of the arm, so the optimal allocation takes the T largest gains.
    An arm with gap 0 gets no pulls; of equal gains, the lowest arm's gain comes first (section 3,
    equation (6)).

    Examples
    --------
    >>> integer_allocation([0.1, 0.4], 100)
    array([86, 14])
    """
    delta, c = _check_arguments(gaps, c)
    budget = check_integer("budget", budget, Range(ge=0))
    rate = c * delta[delta > 0] ** 2
    # The logarithm of the gain of each arm's first pull. Logarithms are used, since the gains of
    # late pulls underflow.
    log_first_gains = np.log(-np.expm1(-rate))
    # Each arm first gets all pulls whose logarithm of the gain is at least `level`. This level is
    # chosen so that these pulls are at most the budget, even if every arm's number of pulls is
    # rounded up. If the budget is below the number of arms, no arm gets such pulls. The heap then
    # has to add only the few pulls that are missing.
    order = np.argsort(-log_first_gains, kind="stable")
    sums = np.cumsum(1.0 / rate[order])
    ordered_gains = log_first_gains[order]
    levels = (np.cumsum(ordered_gains / rate[order]) - max(budget - len(rate), 0)) / sums
    level = levels[max(np.flatnonzero(levels <= ordered_gains), default=0)]
    pulls = np.maximum(np.floor((log_first_gains - level) / rate) + 1.0, 0.0)
    pulls *= budget >= len(rate)
    # The heap has pairs (-log(next gain), k), where k is the arm's position among the arms with a
    # gap. So it begins with the largest gain.
    heap = [(rate[k] * pulls[k] - log_first_gains[k], k) for k in range(len(rate))]
    heapq.heapify(heap)
    for _ in range(budget - int(pulls.sum())):
        negative_log, k = heap[0]
        pulls[k] += 1.0
        heapq.heapreplace(heap, (negative_log + rate[k], k))
    allocation = np.zeros(len(delta), np.int64)
    allocation[delta > 0] = pulls
    return allocation


def integer_value(gaps: ArrayLike, budget: int, *, c: float = 2.0) -> float:
    r"""Return the optimum :math:`P^*_c = \sum_i e^{-c x_i \Delta_i^2}` of `integer_allocation`.

    Twice this value, with c = 2, bounds the aggregate regret of the algorithm O, which knows the
    gaps. The value is at least `optimal_value` for the same budget, and at most `optimal_value` for
    a budget of K pulls less. See section 3, equations (5), (6) and (8).

    Examples
    --------
    >>> round(integer_value([0.1, 0.4], 100), 4)
    0.1904
    """
    return _expected_error_bound(gaps, integer_allocation(gaps, budget, c=c), c)


def regret_lower_bound(gaps: ArrayLike, budget: float) -> float:
    r"""Return a lower bound on a policy's regret in its worst instance with these gaps.

    .. math:: \inf_A \sup_I R^A(I; T) \ge \tfrac14 P_{16}(\{\Delta_i\}, T)

    This holds for every policy, for Bernoulli arms and a threshold of 1/2. The gaps are in (0, 1/2]
    here; arms with gaps above 0.478 are left out of the bound (equation (1) and Remark 2).

    Notes
    -----
    Remark 2 of the paper compares LSA with a lower bound of this form, :math:`P_{16}` up to a
    constant (its Theorem 20). The constant and the proof are ours. There are 2^K instances, since
    each arm may be above or below the threshold. Compare two instances that differ only in arm i.
    Add the chance of a wrong label of arm i in one to that in the other. By the inequality of
    Bretagnolle and Huber the sum is at least :math:`\frac12 e^{-x_i d_i}`. Here :math:`x_i` are the
    expected pulls of arm i, and :math:`d_i = 4 \Delta_i \operatorname{artanh}(2 \Delta_i)` is the
    divergence of its two distributions, which is at most :math:`16 \Delta_i^2` for gaps up to
    0.478. Hence the mean regret over all instances is at least :math:`\frac14 \min_x \sum_i
    e^{-x_i d_i}`.

    Examples
    --------
    >>> round(regret_lower_bound([0.05, 0.2, 0.3], 100), 4)
    0.0089
    """
    delta = check_vector("gaps", gaps, Range(gt=0, le=0.5))
    budget = check_number("budget", budget, Range(ge=0))
    close_gaps = delta[delta <= _CLOSE]
    return optimal_value(close_gaps, budget, c=16.0) / 4.0 if len(close_gaps) else 0.0
