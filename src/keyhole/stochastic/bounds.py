"""Formulas that bound the regret in the stochastic bandit, the classical one.

Arms whose means differ by at most 1e-12 count as equal. An upper bound holds for the policy that
its function names and for the given horizon; the docstring says if only the leading term is known,
or if a bound is asymptotic. Throughout, `means` are the arms' mean rewards, in [0, 1], and
`horizon` is T, at least 1.
"""

import math

from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.stochastic.setting import suboptimality_gaps
from keyhole.validation import Range, check_integer, check_vector


def bernoulli_kl(p: float, q: float) -> float:
    r"""Return the Kullback-Leibler divergence of two Bernoulli distributions.

    .. math:: \mathrm{kl}(p, q) = p \ln \frac{p}{q} + (1 - p) \ln \frac{1 - p}{1 - q}

    p and q are in [0, 1], and the divergence is in nats. It is infinite if q is 0 or 1 and p is not
    equal to q.

    Examples
    --------
    >>> round(bernoulli_kl(0.5, 0.75), 4), bernoulli_kl(0.5, 1.0)
    (0.1438, inf)
    """
    total = 0.0
    for a, b in ((p, q), (1.0 - p, 1.0 - q)):
        if a > 0.0:
            if b == 0.0:
                return math.inf
            # If a and b are nearly equal, the logarithm of b / a would lose nearly all digits.
            total -= a * math.log1p((b - a) / a)
    return max(total, 0.0)


def lai_robbins_constant(means: ArrayLike) -> float:
    r"""Return the asymptotic lower bound on the regret, divided by ln T.

    .. math:: \liminf_{T \to \infty} \frac{R_T}{\ln T} \ge
        \sum_{i : \Delta_i > 0} \frac{\Delta_i}{\mathrm{kl}(\mu_i, \mu^*)}

    This holds for every policy that is consistent on all Bernoulli bandits. It says nothing about a
    finite T. The bound is 0 if some mean is 1.

    References
    ----------
    Lai and Robbins (1985), "Asymptotically Efficient Adaptive Allocation Rules", Advances in
    Applied Mathematics 6; Theorem 2.

    Examples
    --------
    >>> round(lai_robbins_constant([0.5, 0.75]), 3)
    1.738
    """
    mu, gaps = _check_means(means)
    return float(
        sum(gap / bernoulli_kl(m, mu.max()) for m, gap in zip(mu, gaps, strict=True) if gap > 0)
    )


def hoeffding_ucb_bound(means: ArrayLike, horizon: int) -> float:
    r"""Return the leading term of the bound on the regret of `HoeffdingUCB`.

    .. math:: 8 \sum_{i : \Delta_i > 0} \frac{\ln T}{\Delta_i}

    The theorem adds a constant that it does not specify.

    References
    ----------
    Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback",
    NeurIPS; Theorem 1.

    Examples
    --------
    >>> round(hoeffding_ucb_bound([0.5, 0.75], horizon=1000), 1)
    221.0
    """
    _, gaps = _check_means(means)
    return 8.0 * log_horizon(horizon) * float((1.0 / gaps[gaps > 0]).sum())


def ucb1_bound(means: ArrayLike, horizon: int) -> float:
    r"""Return a bound on the regret of `UCB1`, for any horizon.

    .. math:: 8 \sum_{i : \Delta_i > 0} \frac{\ln T}{\Delta_i}
        + \Big( 1 + \frac{\pi^2}{3} \Big) \sum_i \Delta_i

    References
    ----------
    Auer, Cesa-Bianchi and Fischer (2002), "Finite-time Analysis of the Multiarmed Bandit Problem",
    Machine Learning 47; Theorem 1.

    Examples
    --------
    >>> round(ucb1_bound([0.5, 0.75], horizon=1000), 1)
    222.1
    """
    _, gaps = _check_means(means)
    return hoeffding_ucb_bound(means, horizon) + (1.0 + math.pi**2 / 3.0) * float(gaps.sum())


def moss_bound(arms: int, horizon: int) -> float:
    r"""Return a bound on the regret of `MOSS` for any means: :math:`49 \sqrt{K T}`.

    References
    ----------
    Audibert and Bubeck (2009), "Minimax Policies for Adversarial and Stochastic Bandits", COLT;
    Theorem 5.

    Examples
    --------
    >>> moss_bound(arms=4, horizon=100)
    980.0
    """
    arms = check_integer("arms", arms, Range(ge=1))
    return 49.0 * math.sqrt(arms * check_integer("horizon", horizon, Range(ge=1)))


def _check_means(means: ArrayLike) -> tuple[FloatArray, FloatArray]:
    """Return the checked means, and their suboptimality gaps."""
    mu = check_vector("means", means, Range(ge=0, le=1))
    return mu, suboptimality_gaps(mu)


def log_horizon(horizon: int, lowest: int = 1) -> float:
    """Return the logarithm of a horizon; refuse a horizon below `lowest`."""
    return math.log(check_integer("horizon", horizon, Range(ge=lowest)))
