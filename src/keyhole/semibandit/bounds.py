"""Formulas of Verma et al. (2019) that bound the regret of dividing a resource among arms.

Logarithms are natural unless written otherwise. Parameters: `arms` is K, at least 1; `resource` is
Q, above 0; `horizon` is T, the number of rounds; `delta`, `epsilon` and `gamma` are those of the
policy. The bounds with `epsilon` hold if all mean losses are at least `epsilon`.
"""

import math
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.extras import require_extra
from keyhole.semibandit.problem import Problem
from keyhole.semibandit.setting import candidate_thresholds, count_funded_arms, integer_part
from keyhole.validation import Range, check_integer, check_number

_OPEN_UNIT: Final = Range(gt=0, lt=1)


def lower_bound(problem: Problem, horizon: int) -> float:
    r"""Return the lower bound on the regret with one threshold for all arms (equation (3)).

    .. math:: \sum_{i > K - M} \frac{\mu_i - \mu_{K-M}}{d(\mu_{K-M}, \mu_i)} \, \ln T

    with mean losses in increasing order, M the number of arms that the resource suffices for, and d
    the Kullback-Leibler divergence of Bernoulli distributions. It is the bound of bandits with
    multiple plays (Anantharam, Varaiya and Walrand 1987). It is asymptotic, and holds for policies
    whose regret on every problem grows slower than any power of T. The bound is 0 if the resource
    suffices for all arms or for none. Arms with the mean loss :math:`\mu_{K-M}` add nothing.

    Examples
    --------
    >>> round(lower_bound(Problem([0.2, 0.5, 0.7], 0.5, resource=1), 1000), 1)
    17.2
    """
    means, unfunded = _sorted_losses(problem)
    log = math.log(check_integer("horizon", horizon, Range(ge=1)))
    if unfunded == 0:
        return 0.0
    last_unfunded = means[unfunded - 1]
    require_extra("scipy", "the lower bound of a semi-bandit")
    from scipy.special import rel_entr

    # Equal means would divide 0 by a divergence of 0.
    funded = means[unfunded:]
    larger = funded[funded > last_unfunded]
    divergence = rel_entr(last_unfunded, larger) + rel_entr(1.0 - last_unfunded, 1.0 - larger)
    return float(((larger - last_unfunded) / divergence).sum()) * log


def csbst_search_bound(arms: int, resource: float, delta: float, epsilon: float) -> float:
    r"""Return Lemma 2's bound on the rounds that CSB-ST searches (section 3.2).

    .. math:: T_{\theta_s} \le \frac{\ln(\log_2 |\Theta| / \delta)}
        {\max\{1, \lfloor Q \rfloor\} \ln(1/(1-\epsilon))} \log_2 |\Theta|

    The bound holds with probability at least 1 - delta, and is 0 if there is a single candidate.
    The rounds of a candidate, and the steps of the search, are not rounded up.

    Examples
    --------
    >>> round(csbst_search_bound(arms=20, resource=7, delta=0.1, epsilon=0.1), 2)
    18.79
    """
    chance = check_number("delta", delta, _OPEN_UNIT)
    steps = math.log2(len(candidate_thresholds(arms, resource)))
    if steps == 0.0:
        return 0.0
    return math.log(steps / chance) / (_floored_resource(resource) * _log_term(epsilon)) * steps


def csbst_bound(problem: Problem, horizon: int, epsilon: float) -> float:
    r"""Return Theorem 1's bound on the regret of CSB-ST with delta = 1 / T (section 3.2).

    .. math:: W_T \log_2 |\Theta| \, \nabla_m
        + \sum_{i > K - M} \frac{(\mu_i - \mu_{K-M}) \ln T}{d(\mu_{K-M}, \mu_i)}
        + O\big((\ln T)^{2/3}\big)

    with :math:`W_T = \ln(T \log_2 |\Theta|) / (\max\{1, \lfloor Q \rfloor\} \ln(1/(1-\epsilon)))`
    and :math:`\nabla_m` the largest regret of an allocation. The last term is left out: the paper
    does not give its constant. The bound holds for one threshold for all arms, T above :math:`W_T
    \log_2 |\Theta|`, and a unique optimal set of arms.

    Examples
    --------
    >>> round(csbst_bound(Problem([0.2, 0.5, 0.7], 0.5, resource=1), 1000, epsilon=0.2), 1)
    80.0
    """
    rounds = check_integer("horizon", horizon, Range(ge=2))
    leading = lower_bound(problem, rounds)
    search_rounds = csbst_search_bound(problem.arms, problem.resource, 1.0 / rounds, epsilon)
    smallest_loss = float(problem.mean_losses.min())
    if smallest_loss < epsilon:
        raise ValueError(
            f"epsilon must be at most the smallest mean loss, {smallest_loss:g}, for Theorem 1, "
            f"got {epsilon:g}"
        )
    if rounds <= search_rounds:
        raise ValueError(f"horizon must be above {search_rounds:.4g} for Theorem 1, got {rounds}")
    means, unfunded = _sorted_losses(problem)
    if 0 < unfunded < problem.arms and means[unfunded - 1] == means[unfunded]:
        raise ValueError(
            f"problem must have a unique optimal set of arms for Theorem 1, but a funded and an "
            f"unfunded arm have the same mean loss, {means[unfunded]:g}"
        )
    return search_rounds * problem.worst_regret + leading


def csbdt_search_bound(
    arms: int, resource: float, delta: float, epsilon: float, gamma: float
) -> float:
    r"""Return Lemma 4's bound on the rounds that CSB-DT searches (section 4.1).

    .. math:: T_{\theta_d} \le \frac{K \ln(K \log_2(\lceil 1 + 1/\gamma \rceil) / \delta)}
        {\max\{1, \lfloor Q \rfloor\} \ln(1/(1-\epsilon))} \log_2(\lceil 1 + 1/\gamma \rceil)

    The bound holds with probability at least 1 - delta. The rounds of a trial are not rounded up.

    Examples
    --------
    >>> round(csbdt_search_bound(arms=5, resource=2, delta=0.1, epsilon=0.1, gamma=1e-3))
    1469
    """
    chance = check_number("delta", delta, _OPEN_UNIT)
    count = check_integer("arms", arms, Range(ge=1))
    steps = math.log2(math.ceil(1.0 + 1.0 / check_number("gamma", gamma, _OPEN_UNIT)))
    rounds_per_trial = math.log(count * steps / chance) / _log_term(epsilon)
    return count * rounds_per_trial * steps / _floored_resource(resource)


def _sorted_losses(problem: Problem) -> tuple[FloatArray, int]:
    """Return mean losses in increasing order, and how many arms the best allocation leaves out.

    If the threshold exceeds the resource, no arm can be funded, and the number is 0, not K.
    """
    if not problem.common:
        raise ValueError(f"problem must have one threshold for all arms, got {problem}")
    threshold = float(problem.thresholds[0])
    if threshold > problem.resource:
        return np.sort(problem.mean_losses), 0
    funded = count_funded_arms(threshold, problem.arms, problem.resource)
    return np.sort(problem.mean_losses), problem.arms - funded


def _floored_resource(resource: float) -> float:
    """Return max{1, floor(Q)}."""
    return max(1.0, integer_part(check_number("resource", resource, Range(gt=0))))


def _log_term(epsilon: float) -> float:
    """Return ln(1 / (1 - epsilon))."""
    return -math.log1p(-check_number("epsilon", epsilon, _OPEN_UNIT))
