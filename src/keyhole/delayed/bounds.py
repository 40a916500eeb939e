"""Formulas of Pike-Burke et al. (2018) that bound the regret where rewards arrive late.

The theorems bound the regret up to constants. Their formulas could not be read in the text at hand,
and are reproduced from memory: the functions whose names end in ``_order`` return the sum inside
the O(...), with factors of 1. They can compare problems and horizons, but are not comparable with a
regret. The others have constants: those of the phase lengths, and `regret_bound` also those of the
proof. All logarithms are natural. The lower bound is that of the stochastic bandit: see
`keyhole.stochastic.bounds`. Throughout, `means` are the arms' mean rewards, in [0, 1]; `horizon` is
T, the number of rounds, at least 1; `expected_delay`, at least 0, and `bound`, d, the longest
delay, at least the expected one, are in rounds, and `variance` is that of the delays; `policy` is
an `ODAAF`, `ODAAFB`, `ODAAFV` or `NaivePhases` with the true parameters of the delays. Sections,
equations, theorems and lemmas are those of Pike-Burke, Agrawal, Szepesvari and Gruenewaelder
(2018).
"""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.delayed import ODAAF, ODAAFB, ODAAFV, NaivePhases
from keyhole.delayed.policy_base import PhasePolicy
from keyhole.validate import Range, check_integer, check_number, check_vector

_UNIT: Final = Range(ge=0, le=1)
_MOMENT: Final = Range(ge=0)


def odaaf_order(means: ArrayLike, horizon: int, expected_delay: float) -> float:
    r"""Return the order of ODAAF's regret: known expected delay (section 4.1, equation (5)).

    .. math:: \sum_{j : \Delta_j > 0} \frac{\ln(T \Delta_j^2)}{\Delta_j}
        + \ln(1 / \Delta_j) \, \mathbb{E}[\tau]

    Where :math:`T \Delta_j^2` is below e, its logarithm is taken as 1, here and below.

    Examples
    --------
    >>> round(odaaf_order([0.5, 0.6], 250_000, expected_delay=20))
    124
    """
    gaps, logs = _gaps_and_logs(means, horizon)
    delay = check_number("expected_delay", expected_delay, _MOMENT)
    return float((logs / gaps + np.log(1.0 / gaps) * delay).sum())


def odaafb_order(means: ArrayLike, horizon: int, expected_delay: float, bound: float) -> float:
    r"""Return the order of ODAAF-B's regret: delays bounded by d (section 4.2).

    .. math:: \sum_{j : \Delta_j > 0} \frac{\ln(T \Delta_j^2)}{\Delta_j} + \mathbb{E}[\tau]
        + \min\Big\{ d, \, \frac{\ln(T \Delta_j^2)}{\Delta_j}
        + \ln(1 / \Delta_j) \, \mathbb{E}[\tau] \Big\}

    Examples
    --------
    >>> round(odaafb_order([0.5, 0.6], 250_000, expected_delay=20, bound=40))
    138
    """
    gaps, logs = _gaps_and_logs(means, horizon)
    delay = check_number("expected_delay", expected_delay, _MOMENT)
    longest = check_number("bound", bound, Range(ge=delay))
    unbridged = logs / gaps + np.log(1.0 / gaps) * delay
    return float((logs / gaps + delay + np.minimum(longest, unbridged)).sum())


def odaafv_order(means: ArrayLike, horizon: int, expected_delay: float, variance: float) -> float:
    r"""Return the order of ODAAF-V's regret: known variance of the delays (section 4.3).

    .. math:: \sum_{j : \Delta_j > 0} \frac{\ln(T \Delta_j^2)}{\Delta_j} + \mathbb{E}[\tau]
        + \mathbb{V}(\tau)

    Examples
    --------
    >>> round(odaafv_order([0.5, 0.6], 250_000, expected_delay=20, variance=20))
    118
    """
    gaps, logs = _gaps_and_logs(means, horizon)
    delay = check_number("expected_delay", expected_delay, _MOMENT)
    return float((logs / gaps + delay + check_number("variance", variance, _MOMENT)).sum())


def worst_case_order(
    arms: int, horizon: int, expected_delay: float, *, variance: float = 0.0, factor: float = 1.0
) -> float:
    r"""Return the order of the worst-case regret over problems with K arms (section 4).

    .. math:: \sqrt{K T \ln K} + K \, c \, ( \mathbb{E}[\tau] + \mathbb{V}(\tau) )

    For QPM-D see Joulani, Gyorgy and Szepesvari (2013).

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

    Examples
    --------
    >>> round(worst_case_order(2, 250_000, 20))
    629
    """
    count = check_integer("arms", arms, Range(ge=1))
    rounds = check_integer("horizon", horizon, Range(ge=1))
    moments = check_number("expected_delay", expected_delay, _MOMENT)
    moments += check_number("variance", variance, _MOMENT)
    return math.sqrt(count * rounds * math.log(count)) + count * moments * check_number(
        "factor", factor, _MOMENT
    )


def pulls_bound(policy: PhasePolicy, means: ArrayLike, horizon: int) -> IntArray:
    r"""Return the most pulls of each arm outside bridges if no estimate fails.

    An arm with the gap :math:`\Delta_j` is given up by the end of phase :math:`m_j = \min\{ m :
    2^{-m} < \Delta_j / 2 \}`, after :math:`n_{m_j}` pulls; the phase lengths have their constants.
    An estimate fails if it is off by more than half the tolerance; the lemmas bound the chance of
    that by a constant over :math:`T 4^{-m}` in phase m. The result, of shape (arms,), is at most
    the horizon, and equal to it for the best arms. From section 4, Lemmas 4.1 and 4.2, and the
    sketch of proof of Theorem 4.1; phase lengths from appendices B to E.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> pulls_bound(ODAAF(expected_delay=20), [0.5, 0.6], 250_000)
    array([ 79511, 250000])
    """
    values = check_vector("means", means, _UNIT)
    rounds = check_integer("horizon", horizon, Range(ge=1))
    bounds = np.full(len(values), rounds, np.int64)
    for arm, gap in enumerate(values.max() - values):
        if gap > 0:
            bounds[arm] = min(rounds, policy.phase_lengths(rounds, _last_phase(gap))[-1])
    return bounds


def regret_outside_bridges(policy: PhasePolicy, means: ArrayLike, horizon: int) -> float:
    r"""Return a bound on the regret outside bridges if no estimate fails: see `pulls_bound`.

    .. math:: \sum_{j : \Delta_j > 0} \Delta_j \, n_{m_j}

    For ODAAF and NaivePhases, which have no bridges, it is the whole regret.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> round(regret_outside_bridges(ODAAF(expected_delay=20), [0.5, 0.6], 250_000))
    7951
    """
    values = check_vector("means", means, _UNIT)
    return float(((values.max() - values) * pulls_bound(policy, means, horizon)).sum())


def failure_bound(policy: PhasePolicy, horizon: int, phase: int) -> float:
    r"""Return a bound on the chance that an estimate of a phase is off by over half the tolerance.

    .. math:: \min\Big\{ 1, \, \frac{c}{T \tilde\Delta_m^2} \Big\}, \qquad
        \tilde\Delta_m = 2^{-m}

    In phase m, from 1, with c = 3 for ODAAF, 12 for ODAAF-B, 2 for NaivePhases; and 12 for ODAAF-V,
    whose lemma could not be read. From Lemmas 4.1 and 4.2, from memory; for NaivePhases
    from Hoeffding's inequality (Appendix B, Lemma 4).

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> failure_bound(ODAAF(expected_delay=20), 250_000, phase=4)
    0.003072
    """
    rounds = check_integer("horizon", horizon, Range(ge=1))
    m = check_integer("phase", phase, Range(ge=1))
    return min(1.0, _failures(policy) * 4.0**m / rounds)


def regret_bound(policy: PhasePolicy, means: ArrayLike, horizon: int) -> float:
    r"""Return a bound on the expected regret, with constants.

    .. math:: \sum_{j : \Delta_j > 0} \Delta_j \, (n_{m_j} + b \, n_{m_j - 1})
        + \frac{96 \, c}{\Delta_j}

    The first part is `regret_outside_bridges` and, with b = 1 for the policies that have them, the
    bridges. The second is for estimates that fail, with the c of `failure_bound`: either an arm is
    kept since its estimate or the best arm's fails in phase :math:`m_j`, which costs :math:`2 c
    \Delta_j / \tilde\Delta_{m_j}^2 \le 32 \, c / \Delta_j`; or the best arm is given up in one of
    the phases until then, after which a round costs :math:`4 \tilde\Delta_m` at most: together
    :math:`\sum_{m \le m_j} 8 \, c / \tilde\Delta_m \le 64 \, c / \Delta_j`.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), Theorems 4.1 to 4.3 and, in Appendix
    B, 5, which have orders only; the constants follow from the phase lengths and from the proof of
    Theorem 3.1 of Auer and Ortner (2010), "UCB revisited", as section 4 says.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> round(regret_bound(ODAAF(expected_delay=20), [0.5, 0.6], 250_000))
    10831
    """
    failures = _failures(policy)
    bound = regret_outside_bridges(policy, means, horizon)
    values = check_vector("means", means, _UNIT)
    for gap in (values.max() - values).tolist():
        if gap > 0:
            bound += 96.0 * failures / gap
            if policy.has_bridge():
                bound += gap * min(horizon, policy.phase_lengths(horizon, _last_phase(gap))[-2])
    return bound


def _failures(policy: PhasePolicy) -> float:
    """Return c of `failure_bound`."""
    constants = {ODAAF: 3.0, ODAAFB: 12.0, ODAAFV: 12.0, NaivePhases: 2.0}
    for policy_class, constant in constants.items():
        if isinstance(policy, policy_class):
            return constant
    raise TypeError(f"policy must be ODAAF, ODAAFB, ODAAFV or NaivePhases, got {policy!r}")


def _last_phase(gap: float) -> int:
    """Return the phase by which an arm of this gap is given up if no estimate fails; at least 2."""
    # The first m with 2^-m < gap / 2, strictly: at equality the arm may stay.
    return math.floor(1.0 - math.log2(gap)) + 1


def _gaps_and_logs(means: ArrayLike, horizon: int) -> tuple[FloatArray, FloatArray]:
    """Return the gaps above 0, and ln(T gap^2) for each, at least 1."""
    values = check_vector("means", means, _UNIT)
    gaps = values.max() - values
    gaps = gaps[gaps > 0]
    return gaps, np.maximum(1.0, np.log(check_integer("horizon", horizon, Range(ge=1)) * gaps**2))
