"""Claim that the loss (regret) of a UCB policy is bounded by a sum of its confidence widths.

A UCB policy chooses among options by the mean reward of each plus a confidence width, a margin that
is wide after few rewards.
"""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.abernethy2016.ucb_potential import potential, potential_bound, regret_bound
from keyhole.papers.claims.base import Finding, Result
from keyhole.papers.claims.claimed_ranges import is_inside
from keyhole.papers.claims.negative_control import PolicyClaim
from keyhole.papers.claims.verdict_numbers import number_of
from keyhole.papers.entry_references import MetricName
from keyhole.play.plan import Plan
from keyhole.results.estimate import format_estimate, mean_estimate
from keyhole.stochastic.policies import HoeffdingUCB


class PotentialBound(PolicyClaim):
    r"""Lemma 1 or 2 of Abernethy, Amin and Zhu (2016), with Hoeffding's width, at the horizon.

    Lemma 1: the mean of the regret less :math:`\Phi + 2 T \delta` is at most 0. Lemma 2: the mean
    of :math:`\Phi` is at most that of the pulls which the gaps ask for, without the lemma's unknown
    constant. :math:`\Phi` is taken of the pulls of each arm where it is not the best: eq. (2) in
    the classical bandit, eq. (7) in the threshold bandit. The claim holds if the 95 % interval lies
    below, and does not hold if it lies above.
    """

    kind: Literal["potential"]
    lemma: Literal[1, 2]
    # the pulls that count, a metric for each arm
    metrics: Annotated[list[MetricName], Field(min_length=1)]

    @property
    def needs_negative_control(self) -> bool:
        """Always true, as of bounds."""
        return True

    def check(self, plan: Plan) -> None:
        """Refuse Lemma 2 where arms have no gap of their own."""
        if self.lemma == 2 and _gaps(plan.problem).ndim != 1:
            raise ValueError(f"lemma must be 1 on {self.problem!r}: Lemma 2 is of eq. (2)")

    def judge_result(self, result: Result, policy: str) -> Finding:
        """Compare the regret, or the potential, with its bound."""
        horizon, measure = result.curves.checkpoints[-1], HoeffdingUCB()
        wrong = np.stack([result.values(policy, name) for name in self.metrics], axis=1)
        if self.lemma == 1:
            bound = potential_bound(measure, wrong, horizon=horizon)
            values = result.values(policy, "regret")
            regret, limit, excess = (
                mean_estimate(values),
                mean_estimate(bound),
                mean_estimate(values - bound),
            )
            return Finding(
                is_inside([(excess, -np.inf, 0.0)]),
                f"regret {regret}, bound {limit}; difference {excess}",
                (
                    number_of("regret", regret),
                    number_of("bound", limit),
                    number_of("difference", excess, at_most=0.0),
                ),
            )
        gaps = _gaps(result.problem)
        # Without the best arm, whose gap is 0.
        bound_2 = regret_bound(measure, gaps[gaps > 0], horizon=horizon)
        found = mean_estimate(potential(measure, wrong, horizon=horizon))
        return Finding(
            is_inside([(found, -np.inf, bound_2)]),
            f"potential {found}, bound {format_estimate(bound_2, bound_2 / 100)}",
            (number_of("potential", found, at_most=bound_2),),
        )


def _gaps(problem: Any) -> FloatArray:
    return np.asarray(problem.gaps)
