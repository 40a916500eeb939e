"""Formulas of Verma et al. (2019) that bound the regret of dividing a resource among arms.

Theorems 1 and 2 have constants that the paper does not give; each function says which term is left
out. The lower bound is asymptotic. Logarithms are natural unless written otherwise. Throughout,
`arms` is K, at least 1; `resource` is Q, above 0; `horizon` is T, the number of rounds; `delta`,
`epsilon` and `gamma` are those of the policy, and all mean losses of the `problem` must be at least
epsilon. A problem that violates a theorem's conditions is refused.
"""

import math
from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.extras import require_extra
from keyhole.semibandit.knapsack import SLACK
from keyhole.semibandit.problem import Problem
from keyhole.semibandit.setting import candidate_thresholds, count_funded_arms, integer_part
from keyhole.validate import Range, check_integer, check_number

_OPEN_UNIT: Final = Range(gt=0, lt=1)
_MOST_ARMS: Final = 16  # all subsets of arms are enumerated


def lower_bound(problem: Problem, horizon: int) -> float:
    r"""Return the lower bound on the regret with one threshold for all arms (equation (3)).

    .. math:: \sum_{i > K - M} \frac{\mu_i - \mu_{K-M}}{d(\mu_{K-M}, \mu_i)} \, \ln T

    with mean losses in increasing order, M the number of arms that the resource suffices for, and d
    the Kullback-Leibler divergence of Bernoulli distributions. It is that of bandits with multiple
    plays (Anantharam, Varaiya and Walrand 1987): asymptotic, for policies whose regret grows slower
    than any power of T on every problem. It is 0 where the resource suffices for all arms. Arms
    with the mean loss of the last unfunded arm add nothing.

    Examples
    --------
    >>> round(lower_bound(Problem([0.2, 0.5, 0.7], 0.5, resource=1), 1000), 1)
    17.2
    """
    means, left_alone = _sorted_losses(problem)
    log = math.log(check_integer("horizon", horizon, Range(ge=1)))
    if left_alone == 0:
        return 0.0
    last = means[left_alone - 1]
    others = means[left_alone:]
    require_extra("scipy", "the lower bound of a semi-bandit")
    from scipy.special import rel_entr

    # Equal means would divide 0 by a divergence of 0.
    worse = others[others > last]
    divergence = rel_entr(last, worse) + rel_entr(1.0 - last, 1.0 - worse)
    return float(((worse - last) / divergence).sum()) * log


def csbst_search_bound(arms: int, resource: float, delta: float, epsilon: float) -> float:
    r"""Return Lemma 2's bound on the rounds that CSB-ST searches (section 3.2).

    .. math:: T_{\theta_s} \le \frac{\ln(\log_2 |\Theta| / \delta)}
        {\max\{1, \lfloor Q \rfloor\} \ln(1/(1-\epsilon))} \log_2 |\Theta|

    It holds with probability at least 1 - delta, and is 0 where there is a single candidate. W and
    the steps of the search are not rounded up.

    Examples
    --------
    >>> round(csbst_search_bound(arms=20, resource=7, delta=0.1, epsilon=0.1), 2)
    18.79
    """
    chance = check_number("delta", delta, _OPEN_UNIT)
    steps = math.log2(len(candidate_thresholds(arms, resource)))
    if steps == 0.0:
        return 0.0
    return math.log(steps / chance) / (_funded_at_once(resource) * _loss_rate(epsilon)) * steps


def csbst_bound(problem: Problem, horizon: int, epsilon: float) -> float:
    r"""Return Theorem 1's bound on the regret of CSB-ST with delta = 1 / T (section 3.2).

    .. math:: W_T \log_2 |\Theta| \, \nabla_m
        + \sum_{i > K - M} \frac{(\mu_i - \mu_{K-M}) \ln T}{d(\mu_{K-M}, \mu_i)}
        + O\big((\ln T)^{2/3}\big)

    with :math:`W_T = \ln(T \log_2 |\Theta|) / (\max\{1, \lfloor Q \rfloor\} \ln(1/(1-\epsilon)))`
    and :math:`\nabla_m` the largest regret of an allocation. The last term is left out: the paper
    does not give its constant. Conditions: one threshold for all arms, T above :math:`W_T
    \log_2 |\Theta|`, and a unique optimal set of arms.

    Examples
    --------
    >>> round(csbst_bound(Problem([0.2, 0.5, 0.7], 0.5, resource=1), 1000, epsilon=0.2), 1)
    80.0
    """
    rounds = check_integer("horizon", horizon, Range(ge=2))
    leading = lower_bound(problem, rounds)
    search = csbst_search_bound(problem.arms, problem.resource, 1.0 / rounds, epsilon)
    _check_conditions("Theorem 1", problem, rounds, search, epsilon)
    means, left_alone = _sorted_losses(problem)
    if 0 < left_alone < problem.arms and means[left_alone - 1] == means[left_alone]:
        raise ValueError(
            f"problem must have a unique optimal set of arms for Theorem 1, got {left_alone} "
            f"unfunded arms, of which the last and the next have a mean loss of "
            f"{means[left_alone]:g}"
        )
    return search * problem.worst_regret + leading


def csbdt_search_bound(
    arms: int, resource: float, delta: float, epsilon: float, gamma: float
) -> float:
    r"""Return Lemma 4's bound on the rounds that CSB-DT searches (section 4.1).

    .. math:: T_{\theta_d} \le \frac{K \ln(K \log_2(\lceil 1 + 1/\gamma \rceil) / \delta)}
        {\max\{1, \lfloor Q \rfloor\} \ln(1/(1-\epsilon))} \log_2(\lceil 1 + 1/\gamma \rceil)

    It holds with probability at least 1 - delta. W is not rounded up.

    Examples
    --------
    >>> round(csbdt_search_bound(arms=5, resource=2, delta=0.1, epsilon=0.1, gamma=1e-3))
    1469
    """
    chance = check_number("delta", delta, _OPEN_UNIT)
    count = check_integer("arms", arms, Range(ge=1))
    steps = math.log2(math.ceil(1.0 + 1.0 / check_number("gamma", gamma, _OPEN_UNIT)))
    trial = math.log(count * steps / chance) / _loss_rate(epsilon)
    return count * trial * steps / _funded_at_once(resource)


def csbdt_bound(
    problem: Problem, horizon: int, epsilon: float, *, eta: float, alpha_1: float
) -> float:
    r"""Return Theorem 2's bound on the regret of CSB-DT with delta = 1 / T (section 4.1).

    .. math:: \frac{K W_T \log_2(\lceil 1 + 1/\gamma \rceil)}{\max\{1, \lfloor Q \rfloor\}} \nabla_m
        + \sum_i \max_{a : i \in S_a} \frac{8 |S_a| \ln T}{\nabla_a - 2 (k^{*2} + 2) \eta}
        + \Big( \frac{K (K-Q)^2}{\eta^2} + \frac{8 \alpha_1}{\eta^2}
        \Big(\frac{4}{\eta^2} + 1\Big)^{k^*} \ln \frac{k^*}{\eta^2} + 3 K \Big) \nabla_m

    with :math:`S_a` the arms that allocation a does not fund, :math:`\nabla_a` its regret,
    :math:`k^*` their number under the best one, and :math:`W_T = \ln(K T \log_2(\lceil 1 + 1/\gamma
    \rceil)) / \ln(1/(1-\epsilon))`. Conditions: T above :math:`W_T \log_2(\lceil 1 + 1/\gamma
    \rceil)`, a residual of the problem above 0, and at most 16 arms, since all subsets of arms are
    enumerated.

    Parameters
    ----------
    eta : float
        :math:`\eta`, above 0, such that every allocation that is not optimal has a regret above
        :math:`2 (k^{*2} + 2) \eta`.
    alpha_1 : float
        The constant :math:`\alpha_1`, at least 0, which does not depend on the problem. The paper
        does not give it.

    Notes
    -----
    The paper states the condition on :math:`\eta` for all allocations; only those that are not
    optimal can meet it, so it and the maximum are restricted to these. In the supplement, Theorem 5
    has :math:`K (K - N)^2` with an undefined N; here it is Q, as in Theorem 2. Since :math:`\eta`
    is below a fraction of the smallest gap and enters with a power of :math:`2 k^* + 2`, the bound
    exceeds the largest possible regret over any practical horizon: for the paper's Instance 2 with
    Q = 2.02 and without :math:`\alpha_1` it is above :math:`10^7`.

    Examples
    --------
    >>> problem = Problem([0.9, 0.6, 0.3], [0.7, 0.6, 0.3], resource=1.1)
    >>> csbdt_bound(problem, 1000, epsilon=0.3, eta=0.02, alpha_1=1.0) > 1e6
    True
    """
    rounds = check_integer("horizon", horizon, Range(ge=2))
    if problem.gamma <= 0.0:
        raise ValueError("problem must have a residual above 0 for Theorem 2, got 0")
    if problem.arms > _MOST_ARMS:
        raise ValueError(f"problem must have at most {_MOST_ARMS} arms, got {problem.arms}")
    width = check_number("eta", eta, Range(gt=0))
    constant = check_number("alpha_1", alpha_1, Range(ge=0))
    left_alone, regrets = _regrets_of_funded_sets(problem)
    fewest = int(problem.arms - problem.optimal.sum())
    worse = regrets > SLACK
    margins = regrets[worse] - 2.0 * (fewest**2 + 2.0) * width
    if len(margins) and margins.min() <= 0.0:
        limit = regrets[worse].min() / (2.0 * (fewest**2 + 2.0))
        raise ValueError(f"eta must be below {limit:.3g} for this problem, got {width:g}")
    search = csbdt_search_bound(
        problem.arms, problem.resource, 1.0 / rounds, epsilon, problem.gamma
    )
    at_a_time = max(1.0, integer_part(problem.resource))
    _check_conditions("Theorem 2", problem, rounds, search * at_a_time / problem.arms, epsilon)
    terms = 8.0 * left_alone[worse].sum(axis=1) * math.log(rounds) / margins
    sums = sum(terms[left_alone[worse][:, arm]].max(initial=0.0) for arm in range(problem.arms))
    spread = 0.0
    if fewest:
        spread = 8.0 * constant / width**2 * (4.0 / width**2 + 1.0) ** fewest
        spread *= math.log(fewest / width**2)
    common_terms = problem.arms * (problem.arms - problem.resource) ** 2 / width**2 + spread
    return float((search + common_terms + 3.0 * problem.arms) * problem.worst_regret + sums)


def _check_conditions(
    theorem: str, problem: Problem, rounds: int, needed: float, epsilon: float
) -> None:
    """Refuse a violation of a theorem's conditions: epsilon too large, or horizon too short."""
    smallest_loss = float(problem.mean_losses.min())
    if smallest_loss < epsilon:
        raise ValueError(
            f"epsilon must be at most the smallest mean loss, {smallest_loss:g}, for {theorem}, "
            f"got {epsilon:g}"
        )
    if rounds <= needed:
        raise ValueError(f"horizon must be above {needed:.4g} for {theorem}, got {rounds}")


def _sorted_losses(problem: Problem) -> tuple[FloatArray, int]:
    """Return mean losses in increasing order, and the number of unfunded arms."""
    if not problem.common:
        raise ValueError(f"problem must have one threshold for all arms, got {problem}")
    threshold = float(problem.thresholds[0])
    if threshold > problem.resource:
        return np.sort(problem.mean_losses), 0
    funded = count_funded_arms(threshold, problem.arms, problem.resource)
    return np.sort(problem.mean_losses), problem.arms - funded


def _regrets_of_funded_sets(problem: Problem) -> tuple[NDArray[np.bool_], FloatArray]:
    """Return, for every feasible set of funded arms, the unfunded arms and the regret."""
    # A row for each set: the bits of its number are the arms.
    sets = np.arange(2**problem.arms)[:, None] >> np.arange(problem.arms) & 1
    sets = sets[sets @ problem.thresholds <= problem.resource + SLACK]
    left_alone = sets == 0
    return left_alone, left_alone @ problem.mean_losses - problem.least_loss


def _funded_at_once(resource: float) -> float:
    return max(1.0, integer_part(check_number("resource", resource, Range(gt=0))))


def _loss_rate(epsilon: float) -> float:
    return -math.log1p(-check_number("epsilon", epsilon, _OPEN_UNIT))
