"""Bounds on the regret of UCB policies, from sums of their confidence widths.

Abernethy, Amin and Zhu (2016), "Threshold Bandits, With and Without Censored Feedback", NeurIPS;
section 2. V is the width of a policy's confidence bound, and delta its failure probability:
T^-2 / 2. Throughout, `policy` is a `DeviationUCBPolicy` with the width V, and `horizon` is T,
at least 1.
"""

from types import SimpleNamespace
from typing import Annotated, Any, Literal, cast

import numpy as np
from numpy.typing import ArrayLike
from pydantic import Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim
from keyhole.papers.field_types import MetricName, PolicyName, ProblemName
from keyhole.play.simulation_plan import Plan
from keyhole.results.estimate import format_estimate, mean_estimate
from keyhole.stochastic import HoeffdingUCB
from keyhole.stochastic.policy_base import DeviationUCBPolicy, delta
from keyhole.validation import Range, check_integer, check_vector


def potential(policy: DeviationUCBPolicy, pulls: ArrayLike, *, horizon: int) -> FloatArray:
    r"""Return the potential: twice the sum of the widths up to these pulls (equations (2), (7)).

    .. math:: \Phi(N_2, \dots, N_K) = 2 \sum_{i \ge 2} \sum_{N=0}^{N_i - 1} V(N, \delta),
        \qquad V(0, \delta) = 1

    `pulls`, of shape (..., arms), are the pulls of all arms but the best. For the threshold bandit
    (equation (7), with `HoeffdingUCB` for DKWUCB) they are each arm's pulls at the thresholds for
    which the arm is not the best.

    Examples
    --------
    >>> from keyhole.stochastic import HoeffdingUCB
    >>> potential(HoeffdingUCB(), [1, 0], horizon=100)  # one pull, of width V(0)
    array(2.)
    """
    counts = np.asarray(pulls, np.float64)
    if counts.ndim == 0 or counts.size == 0:
        raise ValueError(f"pulls must be one number for each arm, got {pulls!r}")
    flat = check_vector("pulls", counts.ravel(), Range(ge=0)).astype(np.int64)
    # Entry n is the sum of the first n widths.
    width_sums = np.concatenate([[0.0], np.cumsum(_ucb_widths(policy, int(flat.max()), horizon))])
    return np.asarray(2.0 * width_sums[flat].reshape(counts.shape).sum(axis=-1))


def potential_bound(policy: DeviationUCBPolicy, pulls: ArrayLike, *, horizon: int) -> FloatArray:
    r"""Return potential + 2 T delta for each run; its mean is Lemma 1's bound on the regret.

    .. math:: E R_T \le E \Phi(N_2, \dots, N_K) + 2 T \delta

    It holds for any horizon, and is the only bound of the paper without an unknown constant: the
    lemma states O(T delta), but its proof shows 2 T delta. `pulls` are the pulls of each run, as
    for `potential`.

    Examples
    --------
    >>> from keyhole.stochastic import HoeffdingUCB
    >>> potential_bound(HoeffdingUCB(), [[40, 25], [30, 60]], horizon=100).round(1)
    array([ 94. , 111.6])
    """
    return potential(policy, pulls, horizon=horizon) + 2.0 * horizon * delta(horizon)


def regret_bound(policy: DeviationUCBPolicy, gaps: ArrayLike, *, horizon: int) -> float:
    r"""Return Lemma 2's bound: the potential once each arm's width is at most half its gap.

    .. math:: E \Phi(N_2, \dots, N_K) \le
        \Phi(\sharp(\Delta_2, \delta), \dots, \sharp(\Delta_K, \delta)) + O(T^2 \delta)

    :math:`\sharp(\Delta_i, \delta)` is the least number of pulls with V at most half the gap.
    `gaps` are the gaps of all arms but the best, in (0, 1]. The term O(T^2 delta), a constant that
    the paper does not give, is left out.

    Examples
    --------
    >>> from keyhole.stochastic import HoeffdingUCB
    >>> round(regret_bound(HoeffdingUCB(), [0.1, 0.3], horizon=1000), 1)
    798.6
    """
    pulls = [
        policy.sufficient_pulls(gap, horizon=horizon)
        for gap in check_vector("gaps", gaps, Range(gt=0, le=1))
    ]
    return float(potential(policy, pulls, horizon=horizon))


def potential_lemma(
    results: statistics.Results, problem: ProblemName, policy: PolicyName, lemma: Literal[1, 2],
    metrics: Annotated[list[MetricName], Field(min_length=1)],
) -> statistics.Finding:  # fmt: skip
    r"""Judge Lemma 1 or 2 with Hoeffding's width, at the horizon.

    Lemma 1: the mean of the regret less :math:`\Phi + 2 T \delta` is at most 0. Lemma 2: the mean
    of :math:`\Phi` is at most `regret_bound`, in which the lemma's unknown constant is left out.
    `metrics` name the pulls of each arm where it is not the best, and :math:`\Phi` is the potential
    of these pulls: eq. (2) in the classical bandit, eq. (7) in the threshold bandit. The claim
    holds if the 95 % interval of the mean lies below its limit, and does not hold if it lies above.
    """
    result = results[problem]
    ucb_policy = HoeffdingUCB()
    horizon = result.curves.checkpoints[-1]
    pulls = np.stack([result.values(policy, name) for name in metrics], axis=1)
    if lemma == 1:
        bounds = potential_bound(ucb_policy, pulls, horizon=horizon)
        values = result.values(policy, "regret")
        regret, bound, excess = map(mean_estimate, (values, bounds, values - bounds))
        return statistics.Finding(
            statistics.judge_ranges([(excess, -np.inf, 0.0)]),
            f"regret {regret}, bound {bound}; difference {excess}",
            (
                *statistics.numbers_of(["regret", "bound"], [regret, bound]),
                statistics.number_of("difference", excess, at_most=0.0),
            ),
        )
    gaps = np.asarray(cast(Any, result.problem).gaps)
    # The best arm, whose gap is 0, is left out.
    limit = regret_bound(ucb_policy, gaps[gaps > 0], horizon=horizon)
    mean = mean_estimate(potential(ucb_policy, pulls, horizon=horizon))
    return statistics.Finding(
        statistics.judge_ranges([(mean, -np.inf, limit)]),
        f"potential {mean}, bound {format_estimate(limit, limit / 100)}",
        (statistics.number_of("potential", mean, at_most=limit),),
    )


def check_potential_lemma(claim: AnyClaim, plan: Plan) -> None:
    """Refuse Lemma 2 on problems whose arms have several gaps each."""
    if claim.lemma == 2 and np.ndim(cast(Any, plan.problem).gaps) != 1:
        raise ValueError(f"lemma must be 1 on {claim.problem!r}: Lemma 2 is about eq. (2)")


def _ucb_widths(policy: DeviationUCBPolicy, pulls: int, horizon: int) -> FloatArray:
    """Return the widths V(0), ..., V(pulls - 1)."""
    t = check_integer("horizon", horizon, Range(ge=1))
    p = SimpleNamespace(**policy.parameters(), horizon=t)
    kernels = cast(Any, type(policy))
    widths = [kernels.width(p, float(n), kernels.deviation) for n in range(1, pulls)]
    return np.array([1.0, *widths][:pulls])
