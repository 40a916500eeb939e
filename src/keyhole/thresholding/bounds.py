"""The bounds of Tao, Blanco, Peng and Zhou (2019), to plot against and to test with."""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from keyhole.core.memory import FloatArray
from keyhole.core.validate import Range, integer, number, vector

_GAP: Final = Range(ge=0, le=1)
_POSITIVE: Final = Range(gt=0)
# Theorem 1 asks for 0 < alpha <= 8 and for a budget of this many pulls an arm.
_ALPHA: Final = Range(gt=0, le=8)


def _pulls_per_arm(alpha: float) -> float:
    return max(40.0 / alpha + 1.0, 40.0)


def optimal_allocation(gaps: ArrayLike, budget: float, *, c: float = 2.0) -> FloatArray:
    r"""Return how many pulls each arm would get if the gaps were known.

    The solution of :math:`\min \sum_i e^{-c x_i \Delta_i^2}` over :math:`x \ge 0` with
    :math:`\sum_i x_i = T`:

    .. math:: x_i = \max\left\{ \frac{\Phi - \frac2c \ln \Delta_i^{-1}}{\Delta_i^2}, 0 \right\}

    with :math:`\Phi` such that the budget is spent.

    Parameters
    ----------
    gaps : sequence of float, shape (arms,)
        Distances of the means from the threshold, in [0, 1], one of them above 0.
    budget : float
        Pulls in all, at least 0.
    c : float, default 2
        The exponent's factor, above 0; 2 is Hoeffding's inequality.

    Returns
    -------
    ndarray of float64, shape (arms,)
        Pulls, not rounded. An arm with gap 0 gets none.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Notes
    -----
    The paper gives the solution for c = 2 (equation 9), where the factor 2/c is 1; the general
    form follows from the same conditions and agrees with its equation (11), where c is
    2 alpha. Found exactly: arms enter in the order of their gaps, the largest first.

    References
    ----------
    Tao et al. (2019), section 3, equations (6) to (9).

    Examples
    --------
    >>> optimal_allocation([0.1, 0.4], 100).round(1)
    array([86., 14.])
    """
    delta = vector("gaps", gaps, _GAP)
    budget = number("budget", budget, Range(ge=0))
    c = number("c", c, _POSITIVE)
    if not delta.any():
        raise ValueError("gaps must have an entry above 0, got none")
    order = np.argsort(-delta, kind="stable")
    order = order[delta[order] > 0]
    weight = delta[order] ** -2.0
    entry = -2.0 / c * np.log(delta[order])
    levels = (budget + np.cumsum(entry * weight)) / np.cumsum(weight)
    # The arm with the largest gap always gets pulls, though rounding may say otherwise.
    inside = max(np.flatnonzero(levels >= entry), default=0)
    allocation = np.zeros(len(delta))
    allocation[order] = np.maximum(levels[inside] - entry, 0.0) * weight
    return allocation


def optimal_value(gaps: ArrayLike, budget: float, *, c: float = 2.0) -> float:
    r"""Return the optimum :math:`P_c = \sum_i e^{-c x_i \Delta_i^2}` of `optimal_allocation`.

    With c = 2, twice this value bounds the aggregate regret of the algorithm O, which knows the
    gaps.

    Parameters
    ----------
    gaps, budget, c
        See `optimal_allocation`.

    Returns
    -------
    float
        The optimum, at most the number of arms.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Tao et al. (2019), section 3, equations (5) to (7).

    Examples
    --------
    >>> round(optimal_value([0.1, 0.4], 100), 4)
    0.1904
    """
    delta = vector("gaps", gaps, _GAP)
    allocation = optimal_allocation(delta, budget, c=c)
    return float(np.exp(-c * allocation * delta**2).sum())


def _explored(level: float, delta: FloatArray, alpha: float) -> FloatArray:
    """Return each arm's share in equation (10): e^{2x}, or its continuation past ln(1/Delta)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = -np.log(delta)
        beyond = (level - turn + alpha) / (alpha * delta**2)
    return np.where(level <= turn, np.exp(2.0 * np.minimum(level, turn)), beyond)


def _checked(gaps: ArrayLike, budget: float, alpha: float) -> tuple[FloatArray, float, float]:
    delta = vector("gaps", gaps, _GAP)
    alpha = number("alpha", alpha, _ALPHA)
    least = _pulls_per_arm(alpha) * len(delta)
    return delta, number("budget", budget, Range(ge=least)), alpha


def exploration_level(gaps: ArrayLike, budget: float, *, alpha: float = 1.35) -> float:
    r"""Return :math:`\Lambda`, the level to which LSA explores every arm.

    Parameters
    ----------
    gaps : sequence of float, shape (arms,)
        Distances of the means from the threshold, in [0, 1].
    budget : float
        Pulls in all, at least :math:`\max\{40/\alpha + 1, 40\} K`.
    alpha : float, default 1.35
        LSA's parameter, in (0, 8].

    Returns
    -------
    float
        The solution of equation (10), at least 0.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Tao et al. (2019), section 4, equation (10).

    Examples
    --------
    >>> round(exploration_level([0.1, 0.4], 1000), 3)
    1.402
    """
    delta, budget, alpha = _checked(gaps, budget, alpha)
    share = budget / _pulls_per_arm(alpha)

    def excess(level: float) -> float:
        return float(_explored(level, delta, alpha).sum()) - share

    if excess(0.0) >= 0.0:
        return 0.0
    high = 1.0
    while excess(high) < 0.0:
        high *= 2.0
    return float(brentq(excess, 0.0, high, xtol=1e-13, rtol=1e-14))


def exploration_budget(gaps: ArrayLike, budget: float, *, alpha: float = 1.35) -> FloatArray:
    r"""Return :math:`\lambda_i`, the pulls that Theorem 1 counts on for each arm.

    Parameters
    ----------
    gaps, budget, alpha
        See `exploration_level`.

    Returns
    -------
    ndarray of float64, shape (arms,)
        They sum to budget / max{40/alpha + 1, 40}.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Tao et al. (2019), section 4, equation (11).

    Examples
    --------
    >>> exploration_budget([0.1, 0.4], 1000).round(2)
    array([16.5,  8.5])
    """
    delta, budget, alpha = _checked(gaps, budget, alpha)
    return _explored(exploration_level(delta, budget, alpha=alpha), delta, alpha)


def lsa_regret_bound(gaps: ArrayLike, budget: float, *, alpha: float = 1.35) -> float:
    r"""Return Theorem 1's bound on the aggregate regret of LSA.

    .. math::
        \Upsilon(\alpha) \sum_i e^{-\lambda_i \Delta_i^2 / 10}, \qquad
        \Upsilon(\alpha) = 9.3 \, \frac{r}{r - 1}
        \exp\left(\frac{2.1 \alpha - \ln \alpha - 0.5}{4 \alpha}\right),
        \quad r = 2^{1 / (8 \alpha)}

    Parameters
    ----------
    gaps, budget, alpha
        See `exploration_level`.

    Returns
    -------
    float
        The bound; larger than the number of arms unless the budget is huge.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Tao et al. (2019), Theorem 1, equation (12). The root's index is read as 8 alpha, which agrees
    with Lemma 19 at b = 1/(4 alpha).

    Examples
    --------
    >>> lsa_regret_bound([0.1, 0.4], 10**6) < lsa_regret_bound([0.1, 0.4], 10**4)
    True
    """
    delta = vector("gaps", gaps, _GAP)
    pulls = exploration_budget(delta, budget, alpha=alpha)
    root = 2.0 ** (1.0 / (8.0 * alpha))
    factor = 9.3 * root / (root - 1.0)
    factor *= math.exp((2.1 * alpha - math.log(alpha) - 0.5) / (4.0 * alpha))
    return float(factor * np.exp(-pulls * delta**2 / 10.0).sum())


def confidence_sequence(rounds: ArrayLike, horizon: int, *, a: float, b: float) -> FloatArray:
    r"""Return the radii of the Variable Confidence Level Bound.

    With probability at least 1 - `confidence_failure` (a, b), the mean of the first t of L
    independent variables on [0, 1] lies within :math:`\sqrt{(a + b \ln(L / t)) / t}` of its
    expectation, for all t up to L at once.

    Parameters
    ----------
    rounds : sequence of int
        The t at which radii are wanted, from 1 to `horizon`.
    horizon : int
        L, at least 1.
    a, b : float
        Above 0.

    Returns
    -------
    ndarray of float64
        A radius for each t.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Tao et al. (2019), Lemma 19.

    Examples
    --------
    >>> confidence_sequence([1, 100], 100, a=8.0, b=1.0).round(3)
    array([3.55 , 0.283])
    """
    horizon = integer("horizon", horizon, Range(ge=1))
    t = vector("rounds", rounds, Range(ge=1, le=horizon))
    a, b = number("a", a, _POSITIVE), number("b", b, _POSITIVE)
    return np.asarray(np.sqrt((a + b * np.log(horizon / t)) / t))


def confidence_failure(a: float, b: float) -> float:
    r"""Return the probability with which `confidence_sequence` may fail.

    Parameters
    ----------
    a, b : float
        Above 0.

    Returns
    -------
    float
        :math:`\frac{2^{b/2 + 2}}{2^{b/2} - 1} e^{-a/2}`; says nothing where it exceeds 1.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Tao et al. (2019), Lemma 19.

    Examples
    --------
    >>> round(confidence_failure(12.0, 1.0), 3)
    0.034
    """
    a, b = number("a", a, _POSITIVE), number("b", b, _POSITIVE)
    power = math.exp2(b / 2.0)
    return 4.0 * power / (power - 1.0) * math.exp(-a / 2.0)
