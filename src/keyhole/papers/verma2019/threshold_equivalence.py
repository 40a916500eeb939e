"""Allocation equivalence: whether lists of thresholds have the same minimum expected loss."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim
from keyhole.papers.field_types import Checkpoint, PolicyName, ProblemName
from keyhole.play.simulation_plan import Plan
from keyhole.results.estimate import share_estimate
from keyhole.semibandit import count_funded_arms, solve_knapsack
from keyhole.semibandit.setting import allocation_reaches_threshold
from keyhole.validation import Range, check_number, check_vector

_THRESHOLD = Range(gt=0, le=1)


def equivalent_threshold(threshold: float, arms: int, resource: float) -> float:
    r"""Return the candidate threshold of Lemma 1 that is equivalent to a given threshold.

    .. math:: \hat\theta_c = Q / M, \qquad M = \min\{ \lfloor Q / \theta_c \rfloor, K \}

    It is the largest threshold, at most 1, with which the resource Q suffices for as many of the K
    arms as with :math:`\theta_c`, which is in (0, 1] and at most Q.

    References
    ----------
    Verma, Hanawal, Rajkumar and Sankaran (2019), section 3, Lemma 1.

    Examples
    --------
    >>> round(equivalent_threshold(0.55, arms=20, resource=7), 4)  # 12 arms either way
    0.5833
    """
    valid_threshold = check_number("threshold", threshold, _THRESHOLD)
    valid_resource = check_number("resource", resource, Range(gt=0))
    return min(1.0, valid_resource / count_funded_arms(valid_threshold, arms, resource))


def allocation_equivalent(
    mean_losses: ArrayLike, thresholds: ArrayLike, estimates: ArrayLike, resource: float
) -> bool:
    r"""Return whether two lists of thresholds have the same minimum expected loss (Definition 1).

    .. math:: \min_a \sum_i \mu_i 1\{a_i < \theta_i\} = \min_a \sum_i \mu_i 1\{a_i < \hat\theta_i\}

    Arm i gets :math:`a_i` of the resource, and has the mean loss :math:`\mu_i`. If the two losses
    are equal, and no estimate is below its threshold, the allocation that is optimal for the
    estimates is optimal for the thresholds. A common threshold is repeated for each arm.

    Parameters
    ----------
    mean_losses : sequence of float, shape (arms,)
        In [0, 1].
    thresholds, estimates : sequence of float, shape (arms,)
        The two lists, in (0, 1].
    resource : float
        Largest sum of all :math:`a_i`, above 0.

    Returns
    -------
    bool
        Whether the minimum expected losses differ by at most 1e-9.

    Notes
    -----
    By Lemma 3, estimates that are at most :math:`\gamma` (`Problem.gamma`) above the thresholds are
    equivalent to them. The paper states the lemma for all mean losses. But :math:`\gamma` is
    computed from the residual of the best allocation, which depends on the mean losses, and the
    lemma holds for these mean losses. For others it can fail: with thresholds (0.5, 0.5, 0.9), a
    resource of 1 and mean losses (0.2, 0.2, 0.9), :math:`\gamma` is 0.033, but for mean losses
    (0.6, 0.6, 0.5) estimates that are 0.03 too high are not equivalent.

    References
    ----------
    Verma, Hanawal, Rajkumar and Sankaran (2019), section 3, Definition 1, and section 4, Lemma 3.

    Examples
    --------
    >>> allocation_equivalent([0.3, 0.8, 0.6], [0.5, 0.5, 0.5], [0.6, 0.6, 0.6], resource=1.2)
    True
    >>> allocation_equivalent([0.3, 0.8, 0.6], [0.5, 0.5, 0.5], [0.7, 0.7, 0.7], resource=1.2)
    False
    """
    means = check_vector("mean_losses", mean_losses, Range(ge=0, le=1))
    # The minimum loss is the sum of all means less the savings of the best set of arms, so it
    # suffices to compare the savings.
    savings = []
    for name, values in (("thresholds", thresholds), ("estimates", estimates)):
        weights = check_vector(name, values, _THRESHOLD, len(means))
        savings.append(float(means[solve_knapsack(means, weights, resource)].sum()))
    return abs(savings[0] - savings[1]) <= 1e-9


def best_allocation(
    results: statistics.Results, metric: str, problem: ProblemName, policy: PolicyName,
    at_least: Annotated[float, Field(ge=0, le=1)], round: Checkpoint | None = None,
) -> statistics.Finding:  # fmt: skip
    """Judge whether estimated thresholds lead to the best allocation, in a share of replications.

    They do if no estimate is too low and they are equivalent to the thresholds
    (`allocation_equivalent`). The metric is ``estimates[0]``, which stands for the estimates of all
    arms. The claim holds if the 95 % interval of the share lies at or above `at_least`, and
    does not hold if it lies below.
    """
    result = results[problem]
    table = [result.values(policy, f"estimates[{arm}]", round) for arm in range(result.arms)]
    is_best = [_leads_to_best_allocation(result.problem, row) for row in np.transpose(table)]
    share = share_estimate(np.array(is_best, dtype=float))
    where = statistics.format_round(round)
    return statistics.Finding(
        statistics.decide(supported=at_least <= share.low, contradicted=share.high < at_least),
        f"in {share.count:,} of {share.replications:,} replications {where}: {share}"
        f"{statistics.bracket_range(at_least, np.inf)}",
        (statistics.number_of(f"share of replications {where}", share, at_least),),
    )


def check_best_allocation(claim: AnyClaim, plan: Plan) -> None:
    """Refuse a metric other than ``estimates[0]``, and problems of another setting."""
    if claim.metric != "estimates[0]" or plan.problem.setting.name != "semibandit":
        raise ValueError(
            "metric must be 'estimates[0]', on a problem of the setting 'semibandit', "
            f"got {claim.metric!r} on one of {plan.problem.setting.name!r}"
        )


def _leads_to_best_allocation(problem: Any, estimates: FloatArray) -> bool:
    """Return whether no estimate is too low, and all are equivalent to the thresholds."""
    if not all(map(allocation_reaches_threshold, estimates, problem.thresholds)):
        return False
    means = problem.mean_losses
    return allocation_equivalent(means, problem.thresholds, estimates, problem.resource)
