"""Formulas of Pike-Burke et al. (2018) that bound the regret where rewards arrive late.

The theorems give orders of growth only. The formulas of the paper are illegible in our copy of it,
and are quoted from memory. The constants here follow from the phase lengths, those of
`regret_bound` also from a proof that it names. The lower bound is that of the stochastic bandit:
see `keyhole.stochastic.bounds`. Throughout, `means` are the arms' mean rewards, in [0, 1];
`horizon` is T, the number of rounds, at least 1; `policy` is an `ODAAF`, `ODAAFB`, `ODAAFV` or
`NaivePhases` with the true parameters of the delays. Sections, equations, theorems and lemmas are
those of Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.delayed import ODAAF, ODAAFB, ODAAFV, NaivePhases
from keyhole.delayed.policy_base import PhasePolicy
from keyhole.validation import Range, check_integer, check_vector


def pulls_bound(policy: PhasePolicy, means: ArrayLike, horizon: int) -> IntArray:
    r"""Return a bound on the pulls of each arm outside bridges if no estimate fails.

    A *bridge* is a series of pulls between two phases, and rewards that arrive in it are ignored:
    see `PhasePolicy`. An estimate fails if it is off by more than half the tolerance of its phase;
    `failure_bound` bounds the chance of this. If no estimate fails, an arm with the gap
    :math:`\Delta_j` is given up by the end of phase :math:`m_j = \min\{ m : 2^{-m} < \Delta_j / 2
    \}`, after at most :math:`n_{m_j}` pulls: see `PhasePolicy.phase_lengths`. The result has the
    shape (arms,). It is at most the horizon; for the best arms it is the horizon.

    Sources: section 4, Lemmas 4.1 and 4.2, and the sketch of proof of Theorem 4.1; for the phase
    lengths, appendices B to E.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> pulls_bound(ODAAF(expected_delay=20), [0.5, 0.6], 250_000)
    array([ 79511, 250000])
    """
    gaps = _gaps(means)
    horizon = check_integer("horizon", horizon, Range(ge=1))
    bounds = np.full(len(gaps), horizon, np.int64)
    for arm, gap in enumerate(gaps):
        if gap > 0:
            bounds[arm] = min(horizon, policy.phase_lengths(horizon, _removal_phase(gap))[-1])
    return bounds


def regret_outside_bridges(policy: PhasePolicy, means: ArrayLike, horizon: int) -> float:
    r"""Return a bound on the regret outside bridges if no estimate fails: see `pulls_bound`.

    .. math:: \sum_{j : \Delta_j > 0} \Delta_j \, n_{m_j}

    For ODAAF and NaivePhases, which have no bridges, this bounds the whole regret.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> round(regret_outside_bridges(ODAAF(expected_delay=20), [0.5, 0.6], 250_000))
    7951
    """
    return float((_gaps(means) * pulls_bound(policy, means, horizon)).sum())


def failure_bound(policy: PhasePolicy, horizon: int, phase: int) -> float:
    r"""Return a bound on the chance that an estimate of a phase fails: see `pulls_bound`.

    .. math:: \min\Big\{ 1, \, \frac{c}{T \tilde\Delta_m^2} \Big\}, \qquad
        \tilde\Delta_m = 2^{-m}

    `phase` is m, at least 1. The constant c is 3 for ODAAF, 12 for ODAAF-B and 2 for NaivePhases.
    For ODAAF-V, whose lemma is illegible in our copy, it is taken as 12. The constants of ODAAF and
    ODAAF-B are those of Lemmas 4.1 and 4.2, from memory; the constant of NaivePhases follows from
    Hoeffding's inequality (Appendix B, Lemma 4).

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> failure_bound(ODAAF(expected_delay=20), 250_000, phase=4)
    0.003072
    """
    horizon = check_integer("horizon", horizon, Range(ge=1))
    m = check_integer("phase", phase, Range(ge=1))
    return min(1.0, _failure_constant(policy) * 4.0**m / horizon)


def regret_bound(policy: PhasePolicy, means: ArrayLike, horizon: int) -> float:
    r"""Return a bound on the expected regret, with constants.

    .. math:: \sum_{j : \Delta_j > 0} \Big( \Delta_j \, (n_{m_j} + b \, n_{m_j - 1})
        + \frac{96 \, c}{\Delta_j} \Big)

    The first term is `regret_outside_bridges`. The term with b is the regret in bridges; b is 1 for
    policies with bridges and 0 for others. The last term is for estimates that fail, with the c of
    `failure_bound`. A failure can cost regret in two ways. First, an arm may be kept because its
    estimate or the best arm's fails in phase :math:`m_j`. In expectation this costs at most
    :math:`2 c \Delta_j / \tilde\Delta_{m_j}^2 \le 32 \, c / \Delta_j`. Second, the best arm may be
    given up in a phase :math:`m \le m_j`, after which each round costs at most
    :math:`4 \tilde\Delta_m`. In expectation, over all these phases, this costs at most
    :math:`\sum_{m \le m_j} 8 \, c / \tilde\Delta_m \le 64 \, c / \Delta_j`.

    References
    ----------
    Pike-Burke, Agrawal, Szepesvari and Gruenewaelder (2018), Theorems 4.1 to 4.3, and Theorem 5 of
    Appendix B, which give orders of growth only. The constants follow from the phase lengths and
    from the proof of Theorem 3.1 of Auer and Ortner (2010), "UCB revisited", which section 4
    follows.

    Examples
    --------
    >>> from keyhole.delayed import ODAAF
    >>> round(regret_bound(ODAAF(expected_delay=20), [0.5, 0.6], 250_000))
    10831
    """
    constant = _failure_constant(policy)
    bound = regret_outside_bridges(policy, means, horizon)
    for gap in _gaps(means).tolist():
        if gap > 0:
            bound += 96.0 * constant / gap
            if policy.has_bridge():
                bound += gap * min(horizon, policy.phase_lengths(horizon, _removal_phase(gap))[-2])
    return bound


def _failure_constant(policy: PhasePolicy) -> float:
    """Return c of `failure_bound`."""
    constants = {ODAAF: 3.0, ODAAFB: 12.0, ODAAFV: 12.0, NaivePhases: 2.0}
    for policy_class, constant in constants.items():
        if isinstance(policy, policy_class):
            return constant
    raise TypeError(f"policy must be ODAAF, ODAAFB, ODAAFV or NaivePhases, got {policy!r}")


def _removal_phase(gap: float) -> int:
    """Return m_j of `pulls_bound`: the first m with 2^-m < gap / 2."""
    # At equality the arm may stay, so the inequality is strict.
    return math.floor(1.0 - math.log2(gap)) + 1


def _gaps(means: ArrayLike) -> FloatArray:
    values = check_vector("means", means, Range(ge=0, le=1))
    return np.asarray(values.max() - values)
