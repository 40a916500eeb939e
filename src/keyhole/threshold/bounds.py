"""Formulas of Abernethy et al. (2016) that bound the regret of policies for the threshold bandit.

Theorems 2, 4 and 5 are upper bounds up to a constant O(1) that the paper does not give; the
functions return the term that grows with the horizon. Theorem 3 is an asymptotic lower bound. All
logarithms are natural; arms whose chances differ by at most 1e-12 count as equal. Theorem 1, about
the stochastic bandit, is in `keyhole.stochastic.bounds`; Lemmas 1 and 2, eqs. (2) and (7), are in
`keyhole.papers.abernethy2016.ucb_potential`. Throughout, `problem` is a problem or its survival
functions, of shape (arms, levels). `horizon` is T, the number of rounds: at least 1 for
`dkwucb_bound`, at least the number of levels for `adversarial_lower_bound`, and at least arms times
levels for the other two. `pulls` and `support` are the sample sizes of estimates: :math:`N_i`, and
:math:`N_i(j)`. A bound on a probability, or a width, says nothing if it exceeds 1.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.stochastic.bounds import bernoulli_kl, log_horizon
from keyhole.threshold.problem import Problem
from keyhole.validation import Range, SequenceLike, check_number, check_vector

_GAP: Final = Range(ge=0, le=1)
_OPEN_UNIT: Final = Range(gt=0, lt=1)


def _as_problem(problem: Problem | SequenceLike) -> Problem:
    if isinstance(problem, Problem):
        return problem
    return Problem(problem, feedback="uncensored")


def _sum_of_inverses(gaps: FloatArray) -> float:
    """Return the sum of 1 / gap over the gaps above 0."""
    return float((1.0 / gaps[gaps > 0]).sum())


def _least_gaps(gaps: FloatArray) -> FloatArray:
    """Return each arm's smallest gap above 0, or 0 for an arm that is the best at every level."""
    smallest = np.where(gaps > 0, gaps, np.inf).min(axis=1)
    return np.where(np.isfinite(smallest), smallest, 0.0)


def dkwucb_bound(problem: Problem | SequenceLike, horizon: int) -> float:
    r"""Return Theorem 2's bound on the regret of DKWUCB, without its O(1).

    .. math:: 8 \sum_i \frac{\ln T}{\min_{j : \Delta_i(j) > 0} \Delta_i(j)}

    Section 4, with delta = T^-2 / 2.

    Notes
    -----
    In the paper the minimum is over all levels, and so it is 0 for every arm that is the best at
    some level. It is read as the minimum over the levels at which the arm is not the best. Arms
    that are the best at every level add nothing.

    Examples
    --------
    >>> round(dkwucb_bound([[0.9, 0.2], [0.8, 0.6]], 1000), 1)  # gaps 0.4 and 0.1
    690.8
    """
    return 8.0 * _sum_of_inverses(_least_gaps(_as_problem(problem).gaps)) * log_horizon(horizon)


def adversarial_lower_bound(problem: Problem | SequenceLike, horizon: int) -> float:
    r"""Return Theorem 3's lower bound on the regret, for thresholds that rise in stages.

    .. math:: \sum_{j=1}^m \sum_{i : \Delta_i(j) > 0} \frac{\Delta_i(j) \ln(T / m)}
        {\mathrm{KL}\big(F_i(j), F_{i^*(j)}(j)\big)}

    with KL(p, q) the divergence of Bernoulli distributions with the chances p and q. It is the
    asymptotic bound of Lai and Robbins (1985) for m independent bandits, one after the other.
    Section 5.1 has the theorem. If the best arm's chance is 1 and another arm's is below 1, the
    other arm adds nothing at this level, since one failure tells them apart.

    The theorem does not hold: the number is no lower bound for this setting (see the page on
    Theorem 3), since the bandits of the levels are not independent. A survival function decreases,
    so an upper bound at a low level holds at all higher levels. If an arm's chance at level 1 is
    below the best chance at every level, samples at level 1 suffice for all levels. With c = 3, the
    regret of `MonotoneKLUCB` can then be asymptotically smaller than this number, by a factor of up
    to m. A smaller regret at a single horizon proves nothing, as the bound is asymptotic.

    Notes
    -----
    The paper prints a sum over levels and arms of ln(T / m) over the divergence, without the gap.
    It is read with the gap, as in Lai and Robbins; without the gap the sum would count pulls.

    Examples
    --------
    >>> round(adversarial_lower_bound([[0.9, 0.2], [0.8, 0.6]], 1000), 1)
    21.4
    """
    problem = _as_problem(problem)
    survival = problem.survival
    log = log_horizon(horizon, survival.shape[1]) - math.log(survival.shape[1])
    best = survival.max(axis=0)
    gaps = problem.gaps
    terms = [gaps[i, j] / bernoulli_kl(survival[i, j], best[j]) for i, j in np.argwhere(gaps > 0)]
    return float(sum(terms)) * log


def optim_bound(problem: Problem | SequenceLike, horizon: int) -> float:
    r"""Return Theorem 4's bound on the regret of OPTIM, for thresholds that fall in stages.

    .. math:: 32 \sum_i \frac{\ln T}{\min_{j : \Delta_i(j) > 0} \Delta_i(j)}

    Section 5.1, with delta = T^-2 / 2. The O(1) is left out, and the minimum is read as in
    `dkwucb_bound`.

    Examples
    --------
    >>> round(optim_bound([[0.9, 0.2], [0.8, 0.6]], 1000), 1)
    2763.1
    """
    gaps = _as_problem(problem).gaps
    return 32.0 * _sum_of_inverses(_least_gaps(gaps)) * log_horizon(horizon, gaps.size)


def kmucb_bound(problem: Problem | SequenceLike, horizon: int) -> float:
    r"""Return Theorem 5's bound on the regret of KMUCB, for thresholds in permutations.

    .. math:: \sum_i \frac{128 \, \ln m \, \ln T \; \max_j \Delta_i(j)}
        {\min_{i', j : \Delta_{i'}(j) > 0} \Delta_{i'}(j)^2}

    Section 5.2; the O(1) is left out. There must be at least two levels. The bound is 0 if all arms
    are equally good at all levels.

    Notes
    -----
    The theorem is read as follows. The factors are grouped as above. The minimum is over the arms
    and levels where the arm is not the best, since otherwise it would be 0. A single level is
    refused, since ln m would be 0, and so would the bound.

    The theorem assumes a unique best arm at every level. At a level with several best arms KMUCB
    stays for ever. Such problems are refused, too, unless all arms are equal at all levels.

    Examples
    --------
    >>> round(kmucb_bound([[0.9, 0.2], [0.8, 0.6]], 1000))
    30644
    """
    problem = _as_problem(problem)
    gaps = problem.gaps
    arms, levels = gaps.shape
    if levels < 2:
        raise ValueError("levels must be at least 2 for Theorem 5, whose factor ln m is 0; got 1")
    log = log_horizon(horizon, arms * levels)
    if not gaps.any():
        return 0.0
    if len(problem.ties):
        raise ValueError(
            f"survival must have one best arm at every level for Theorem 5, "
            f"got several at level {problem.ties[0]}"
        )
    worst = gaps.max(axis=1).sum()
    return float(128.0 * math.log(levels) * log * worst / gaps[gaps > 0].min() ** 2)


def sample_failure(pulls: ArrayLike, error: float) -> FloatArray:
    r"""Return Lemma 3's bound on the chance that an arm's estimate is off by `error` at some level.

    .. math:: P\Big(\sup_{j \in M} |\hat F_i(j) - F_i(j)| \ge \epsilon\Big)
        \le 2 \, e^{-2 \epsilon^2 N_i}

    M is the set of the levels. This is the inequality of Dvoretzky, Kiefer and Wolfowitz, which
    holds for all levels at once if every sample is seen. Section 4; the constant 2 is that of
    Massart (1990), "The Tight Constant in the Dvoretzky-Kiefer-Wolfowitz Inequality", Annals of
    Probability 18.

    Examples
    --------
    >>> sample_failure([25, 50], 0.3).round(4)
    array([0.0222, 0.0002])
    """
    # The exponent of Lemma 3 is four times the exponent of Lemma 4.
    return estimate_failure(4.0 * check_vector("pulls", pulls, Range(ge=0)), error)


def sample_width(pulls: ArrayLike, delta: float) -> FloatArray:
    r"""Return the width of Lemma 3: an error reaches it at some level with chance at most delta.

    .. math:: \sqrt{\frac{\ln(2 / \delta)}{2 N_i}}

    This is Lemma 3, solved for the error. `pulls` are above 0, and `delta` is in (0, 1).

    Examples
    --------
    >>> sample_width([25, 100], 0.05).round(3)
    array([0.272, 0.136])
    """
    return estimate_width(4.0 * check_vector("pulls", pulls, Range(gt=0)), delta)


def estimate_failure(support: ArrayLike, error: float) -> FloatArray:
    r"""Return Lemma 4's bound on the chance that an estimate is off by at least `error`.

    .. math:: P\big(|\hat F_i(j) - F_i(j)| \ge \epsilon\big) \le 2 \, e^{-\epsilon^2 N_i(j) / 2}

    Section 5. For a number of pulls N that is fixed in advance, Hoeffding's inequality has the
    exponent :math:`-2 \epsilon^2 N`, which is four times as large.

    Examples
    --------
    >>> estimate_failure([100, 200], 0.3).round(4)
    array([0.0222, 0.0002])
    """
    pulls = check_vector("support", support, Range(ge=0))
    return np.asarray(2.0 * np.exp(-(check_number("error", error, Range(ge=0)) ** 2) * pulls / 2.0))


def estimate_width(support: ArrayLike, delta: float) -> FloatArray:
    r"""Return the width of Lemma 4: an error reaches it with a chance of at most delta.

    .. math:: \sqrt{\frac{2 \ln(2 / \delta)}{N_i(j)}}

    `support` is above 0, and `delta` is in (0, 1).

    Examples
    --------
    >>> estimate_width([100, 400], 0.05).round(3)
    array([0.272, 0.136])
    """
    pulls = check_vector("support", support, Range(gt=0))
    return np.asarray(
        np.sqrt(2.0 * math.log(2.0 / check_number("delta", delta, _OPEN_UNIT)) / pulls)
    )
