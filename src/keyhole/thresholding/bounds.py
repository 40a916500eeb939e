r"""Formulas of Tao et al. (2019) that bound the expected number of wrong labels of the policy LSA.

Throughout, `gaps` are the distances of the K arms' means from the threshold, in [0, 1]; `budget` is
the total number of pulls, at least :math:`\max\{40/\alpha + 1, 40\} K`; and `alpha`, by default
1.35, is LSA's parameter, in (0, 8].
"""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.extras import require_extra
from keyhole.validation import Range, check_integer, check_number, check_vector

_GAP: Final = Range(ge=0, le=1)
_POSITIVE: Final = Range(gt=0)
_CHANCE: Final = Range(gt=0, lt=1)
# Theorem 1 requires 0 < alpha <= 8.
_ALPHA: Final = Range(gt=0, le=8)


def _least_pulls_per_arm(alpha: float) -> float:
    """Return the least number of pulls per arm for which Theorem 1 holds."""
    return max(40.0 / alpha + 1.0, 40.0)


def _exploration_terms(level: float, delta: FloatArray, alpha: float) -> FloatArray:
    """Return the terms of the sum in equation (10), one for each arm, at an exploration level x.

    `level` is x, and `delta` are the gaps. A term is e^{2x} up to x = ln(1/Delta), and continues
    linearly from there.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        turning_level = -np.log(delta)
        continuation = (level - turning_level + alpha) / (alpha * delta**2)
    exponential = np.exp(2.0 * np.minimum(level, turning_level))
    return np.where(level <= turning_level, exponential, continuation)


def _check_arguments(
    gaps: ArrayLike, budget: float, alpha: float
) -> tuple[FloatArray, float, float]:
    """Return the checked arguments; the formulas call the gaps Delta."""
    delta = check_vector("gaps", gaps, _GAP)
    alpha = check_number("alpha", alpha, _ALPHA)
    least_budget = _least_pulls_per_arm(alpha) * len(delta)
    return delta, check_number("budget", budget, Range(ge=least_budget)), alpha


def exploration_level(gaps: ArrayLike, budget: float, *, alpha: float = 1.35) -> float:
    r"""Return :math:`\Lambda`, the solution of equation (10).

    Most likely, LSA explores all arms nearly up to this level: see `exploration_failure`.

    Examples
    --------
    >>> round(exploration_level([0.1, 0.4], 1000), 3)
    1.402
    """
    delta, budget, alpha = _check_arguments(gaps, budget, alpha)
    required_sum = budget / _least_pulls_per_arm(alpha)

    def excess(level: float) -> float:
        return float(_exploration_terms(level, delta, alpha).sum()) - required_sum

    # The excess rises with the level. So the level is doubled until the excess is not negative, and
    # the root is searched below it.
    if excess(0.0) >= 0.0:
        return 0.0
    high = 1.0
    while excess(high) < 0.0:
        high *= 2.0
    require_extra("scipy", "this bound")
    from scipy.optimize import brentq  # imported only here, since this takes a third of a second

    return float(brentq(excess, 0.0, high, xtol=1e-13, rtol=1e-14))


def arm_budgets(gaps: ArrayLike, budget: float, *, alpha: float = 1.35) -> FloatArray:
    r"""Return :math:`\lambda_i`, Theorem 1's exploration budget of each arm (equation (11)).

    The exploration budgets sum to budget / max{40/alpha + 1, 40}.

    Examples
    --------
    >>> arm_budgets([0.1, 0.4], 1000).round(2)
    array([16.5,  8.5])
    """
    delta, budget, alpha = _check_arguments(gaps, budget, alpha)
    return _exploration_terms(exploration_level(delta, budget, alpha=alpha), delta, alpha)


def lsa_regret_bound(gaps: ArrayLike, budget: float, *, alpha: float = 1.35) -> float:
    r"""Return Theorem 1's bound on the aggregate regret of LSA, equation (12).

    .. math::
        \Upsilon(\alpha) \sum_i e^{-\lambda_i \Delta_i^2 / 10}, \qquad
        \Upsilon(\alpha) = 9.3 \, \frac{r}{r - 1}
        \exp\left(\frac{2.1 \alpha - \ln \alpha - 0.5}{4 \alpha}\right),
        \quad r = 2^{1 / (8 \alpha)}

    The bound is larger than the number of arms unless the budget is huge. We read r as the root of
    order 8 alpha of the number 2, which agrees with Lemma 19 at b = 1/(4 alpha).

    Examples
    --------
    >>> lsa_regret_bound([0.1, 0.4], 10**6) < lsa_regret_bound([0.1, 0.4], 10**4)
    True
    """
    delta = check_vector("gaps", gaps, _GAP)
    pulls = arm_budgets(delta, budget, alpha=alpha)
    # Upsilon is 9.3 times the factor for k = 1.1 alpha.
    return 9.3 * _union_factor(1.1 * alpha, alpha) * float(np.exp(-pulls * delta**2 / 10.0).sum())


def _union_factor(k: float, alpha: float) -> float:
    """Return r / (r - 1) e^{(k + alpha - ln alpha - 0.5) / (4 alpha)}, with r = 2^{1/(8 alpha)}."""
    root = math.exp2(1.0 / (8.0 * alpha))
    return root / (root - 1.0) * math.exp((k + alpha - math.log(alpha) - 0.5) / (4.0 * alpha))


def exploration_failure(k: float, *, alpha: float = 1.35) -> float:
    r"""Return Lemma 3's bound on the chance that LSA never explores all arms up to a level.

    LSA explores all arms up to a level if in some round within the budget the indices of all arms
    (see `LSA`) exceed the level. The probability that LSA does not explore all arms up to
    :math:`\Lambda - k`, with :math:`\Lambda` the `exploration_level`, is at most

    .. math:: e^{-40 k / \alpha}

    for k at least 0 and below :math:`\Lambda`.

    Examples
    --------
    >>> round(exploration_failure(0.1), 3)
    0.052
    """
    k = check_number("k", k, Range(ge=0))
    alpha = check_number("alpha", alpha, _ALPHA)
    return math.exp(-40.0 * k / alpha)


def explored_regret_bound(
    gaps: ArrayLike, budget: float, k: float, *, alpha: float = 1.35
) -> float:
    r"""Return Lemma 4's bound on the regret of LSA if it explores all arms up to a level.

    Let :math:`\Lambda` be the `exploration_level`, and let the indices of all arms exceed
    :math:`\Lambda - k` in some round. Then the expected number of wrong labels among the arms with
    :math:`\ln \Delta_i^{-1} < \Lambda` is at most

    .. math::
        9 \, \frac{r}{r - 1} \sum_{i : \ln \Delta_i^{-1} < \Lambda}
        \exp\left(-\frac{\lambda_i \Delta_i^2}{10}
        + \frac{k + \alpha - \ln \alpha - 0.5}{4 \alpha}\right), \quad r = 2^{1 / (8 \alpha)}

    Here k is at least :math:`0.1 \alpha`. The root in r is read as in `lsa_regret_bound`.

    Examples
    --------
    >>> explored_regret_bound([0.1, 0.4], 10**6, 0.135) < lsa_regret_bound([0.1, 0.4], 10**6)
    True
    """
    delta, budget, alpha = _check_arguments(gaps, budget, alpha)
    k = check_number("k", k, Range(ge=0.1 * alpha))
    level = exploration_level(delta, budget, alpha=alpha)
    large_gaps = delta[delta > math.exp(-level)]
    pulls = _exploration_terms(level, large_gaps, alpha)
    return 9.0 * _union_factor(k, alpha) * float(np.exp(-pulls * large_gaps**2 / 10.0).sum())


def confidence_sequence(rounds: ArrayLike, horizon: int, *, a: float, b: float) -> FloatArray:
    r"""Return the radii of the Variable Confidence Level Bound (Lemma 19), one for each round t.

    With probability at least 1 - `confidence_failure` (a, b), the mean of the first t of L
    independent variables on [0, 1] lies within :math:`\sqrt{(a + b \ln(L / t)) / t}` of its
    expectation, for all t up to L at once. L is the `horizon`. Both a and b are above 0.

    Examples
    --------
    >>> confidence_sequence([1, 100], 100, a=8.0, b=1.0).round(3)
    array([3.55 , 0.283])
    """
    horizon = check_integer("horizon", horizon, Range(ge=1))
    t = check_vector("rounds", rounds, Range(ge=1, le=horizon))
    a = check_number("a", a, _POSITIVE)
    b = check_number("b", b, _POSITIVE)
    return np.asarray(np.sqrt((a + b * np.log(horizon / t)) / t))


def confidence_failure(a: float, b: float) -> float:
    r"""Return a bound on the probability that `confidence_sequence` fails (Lemma 19).

    The bound is :math:`\frac{2^{b/2 + 2}}{2^{b/2} - 1} e^{-a/2}`. If it exceeds 1, it says nothing.

    Examples
    --------
    >>> round(confidence_failure(12.0, 1.0), 3)
    0.034
    """
    a = check_number("a", a, _POSITIVE)
    b = check_number("b", b, _POSITIVE)
    power = math.exp2(b / 2.0)
    return 4.0 * power / (power - 1.0) * math.exp(-a / 2.0)


def maximal_inequality(rounds: ArrayLike, horizon: int, *, failure: float) -> FloatArray:
    r"""Return the radii of Hoeffding's Maximal Inequality, one for each round t.

    With probability at least 1 - `failure`, the mean of the first t of L independent variables on
    [0, 1] lies within

    .. math:: \frac1t \sqrt{\frac{L}{2} \ln\frac{2}{\delta}}
        = \sqrt{\frac{L}{t} \cdot \frac{\ln(2/\delta)}{2 t}}

    of its expectation, for all t up to L at once. L is the `horizon`, and :math:`\delta` is
    `failure`, in (0, 1). Under the root this bound has the factor L / t, where
    `confidence_sequence` has only the logarithm of L / t. The inequality is equation (2.17) of
    Hoeffding (1963), "Probability inequalities for sums of bounded random variables", applied to
    both sides; Tao et al. (2019) name it in section 4.

    Examples
    --------
    >>> maximal_inequality([1, 100], 100, failure=0.05).round(3)
    array([13.581,  0.136])
    """
    horizon = check_integer("horizon", horizon, Range(ge=1))
    t = check_vector("rounds", rounds, Range(ge=1, le=horizon))
    failure = check_number("failure", failure, _CHANCE)
    return np.asarray(math.sqrt(horizon / 2.0 * math.log(2.0 / failure)) / t)
