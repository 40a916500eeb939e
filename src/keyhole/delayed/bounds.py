"""How regret grows by Pike-Burke et al. (2018), and what can be said with constants.

The theorems bound the regret up to constants. Their formulas could not be read in the text at hand,
and stand here as they are recalled: those functions whose names end in ``_order`` return the sum
inside the O(...), with factors of 1, and are good for comparing problems and horizons, not for
comparing with a regret. `pulls_bound` and `stretch_bound`
have their constants, those of the phase lengths. All logarithms are natural. The lower bound is
that of the classical bandit: see `keyhole.stochastic.bounds`.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.core.memory import FloatArray, IntArray
from keyhole.core.validate import Range, integer, number, vector
from keyhole.delayed.phases import PhasePolicy

_UNIT: Final = Range(ge=0, le=1)
_MOMENT: Final = Range(ge=0)


def odaaf_order(means: ArrayLike, horizon: int, expected_delay: float) -> float:
    r"""Return the order of ODAAF's regret: the expected delay known.

    .. math:: \sum_{j : \Delta_j > 0} \frac{\ln(T \Delta_j^2)}{\Delta_j}
        + \ln(1 / \Delta_j) \, \mathbb{E}[\tau]

    Parameters
    ----------
    means : sequence of float, shape (arms,)
        The mean rewards, in [0, 1].
    horizon : int
        T, rounds in all, at least 1.
    expected_delay : float
        In rounds, at least 0.

    Returns
    -------
    float
        The order, without the constant of each term, which the paper does not give. Where
        :math:`T \Delta_j^2` is below e, its logarithm is taken as 1.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), section 4.1, equation (5).

    Examples
    --------
    >>> round(odaaf_order([0.5, 0.6], 250_000, expected_delay=20))
    124
    """
    gaps, logs = _gaps_and_logs(means, horizon)
    delay = number("expected_delay", expected_delay, _MOMENT)
    return float((logs / gaps + np.log(1.0 / gaps) * delay).sum())


def odaafb_order(means: ArrayLike, horizon: int, expected_delay: float, bound: float) -> float:
    r"""Return the order of ODAAF-B's regret: delays bounded by d.

    .. math:: \sum_{j : \Delta_j > 0} \frac{\ln(T \Delta_j^2)}{\Delta_j} + \mathbb{E}[\tau]
        + \min\Big\{ d, \, \frac{\ln(T \Delta_j^2)}{\Delta_j}
        + \ln(1 / \Delta_j) \, \mathbb{E}[\tau] \Big\}

    Parameters
    ----------
    means, horizon, expected_delay
        See `odaaf_order`.
    bound : float
        d, the longest delay, at least the expected one.

    Returns
    -------
    float
        The order, without the constant of each term; see `odaaf_order`.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), section 4.2, on bounded delays.

    Examples
    --------
    >>> round(odaafb_order([0.5, 0.6], 250_000, expected_delay=20, bound=40))
    138
    """
    gaps, logs = _gaps_and_logs(means, horizon)
    delay = number("expected_delay", expected_delay, _MOMENT)
    longest = number("bound", bound, Range(ge=delay))
    unbridged = logs / gaps + np.log(1.0 / gaps) * delay
    return float((logs / gaps + delay + np.minimum(longest, unbridged)).sum())


def odaafv_order(means: ArrayLike, horizon: int, expected_delay: float, variance: float) -> float:
    r"""Return the order of ODAAF-V's regret: the variance of the delays known.

    .. math:: \sum_{j : \Delta_j > 0} \frac{\ln(T \Delta_j^2)}{\Delta_j} + \mathbb{E}[\tau]
        + \mathbb{V}(\tau)

    Parameters
    ----------
    means, horizon, expected_delay
        See `odaaf_order`.
    variance : float
        Of the delays, at least 0.

    Returns
    -------
    float
        The order, without the constant of each term; see `odaaf_order`.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), section 4.3, on bounded variance.

    Examples
    --------
    >>> round(odaafv_order([0.5, 0.6], 250_000, expected_delay=20, variance=20))
    118
    """
    gaps, logs = _gaps_and_logs(means, horizon)
    delay = number("expected_delay", expected_delay, _MOMENT)
    return float((logs / gaps + delay + number("variance", variance, _MOMENT)).sum())


def worst_case_order(
    arms: int, horizon: int, expected_delay: float, *, variance: float = 0.0, factor: float = 1.0
) -> float:
    r"""Return the order of the regret on the worst problem of so many arms.

    .. math:: \sqrt{K T \ln K} + K \, c \, ( \mathbb{E}[\tau] + \mathbb{V}(\tau) )

    Parameters
    ----------
    arms : int
        K, at least 1.
    horizon : int
        T, at least 1.
    expected_delay : float
        In rounds, at least 0.
    variance : float, default 0
        For ODAAF-V that of the delays; for the others 0.
    factor : float, default 1
        c: for ODAAF, and for phases sized for the worst case with d as the expected delay, ln T;
        for ODAAF-B, if :math:`d \le \sqrt{T \ln K / K} + \mathbb{E}[\tau]`, for ODAAF-V and for
        QPM-D 1.

    Returns
    -------
    float
        The order, without the constant of each term.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), section 4; for QPM-D, Joulani, Gyorgy
    and Szepesvari (2013).

    Examples
    --------
    >>> round(worst_case_order(2, 250_000, 20))
    629
    """
    count, rounds = integer("arms", arms, Range(ge=1)), integer("horizon", horizon, Range(ge=1))
    moments = number("expected_delay", expected_delay, _MOMENT)
    moments += number("variance", variance, _MOMENT)
    return math.sqrt(count * rounds * math.log(count)) + count * moments * number(
        "factor", factor, _MOMENT
    )


def pulls_bound(policy: PhasePolicy, means: ArrayLike, horizon: int) -> IntArray:
    r"""Return how often each arm is pulled at most outside bridges, if no estimate fails.

    An arm with the gap :math:`\Delta_j` is given up by the end of phase
    :math:`m_j = \min\{ m : 2^{-m} < \Delta_j / 2 \}`, after :math:`n_{m_j}` pulls; the phase
    lengths have their constants. An estimate fails if it is off by more than half the tolerance;
    the lemmas bound the chance of that by a constant over :math:`T 4^{-m}` in phase m.

    Parameters
    ----------
    policy : ODAAF, ODAAFB, ODAAFV or NaivePhases
        The policy, told the truth about the delays.
    means : sequence of float, shape (arms,)
        The mean rewards, in [0, 1].
    horizon : int
        T, rounds in all, at least 1.

    Returns
    -------
    ndarray of int64, shape (arms,)
        At most the horizon; the horizon for the best arms.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), section 4, Lemmas 4.1 and 4.2, and
    the sketch of proof of Theorem 4.1; phase lengths from appendices B to E.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> pulls_bound(ODAAF(expected_delay=20), [0.5, 0.6], 250_000)
    array([ 79511, 250000])
    """
    values = vector("means", means, _UNIT)
    rounds = integer("horizon", horizon, Range(ge=1))
    bounds = np.full(len(values), rounds, np.int64)
    for arm, gap in enumerate(values.max() - values):
        if gap > 0:
            phases = math.floor(1.0 - math.log2(gap)) + 1
            bounds[arm] = min(rounds, policy.phase_lengths(rounds, phases)[-1])
    return bounds


def stretch_bound(policy: PhasePolicy, means: ArrayLike, horizon: int) -> float:
    r"""Return the regret at most, outside bridges, if no estimate fails.

    .. math:: \sum_{j : \Delta_j > 0} \Delta_j \, n_{m_j}

    Parameters
    ----------
    policy, means, horizon
        See `pulls_bound`.

    Returns
    -------
    float
        The bound. For ODAAF and NaivePhases, which have no bridges, that of all of the regret.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), section 4, Lemmas 4.1 and 4.2, and
    the sketch of proof of Theorem 4.1; phase lengths from appendices B to E.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> round(stretch_bound(ODAAF(expected_delay=20), [0.5, 0.6], 250_000))
    7951
    """
    values = vector("means", means, _UNIT)
    return float(((values.max() - values) * pulls_bound(policy, means, horizon)).sum())


def _gaps_and_logs(means: ArrayLike, horizon: int) -> tuple[FloatArray, FloatArray]:
    """Return the gaps above 0, and ln(T gap^2) for each, at least 1."""
    values = vector("means", means, _UNIT)
    gaps = values.max() - values
    gaps = gaps[gaps > 0]
    rounds = integer("horizon", horizon, Range(ge=1))
    return gaps, np.maximum(1.0, np.log(rounds * gaps**2))
