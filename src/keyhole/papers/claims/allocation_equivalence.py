"""Claim (statement of a paper) that a policy's estimates lead to the best division of a resource.

Each place (arm) needs an amount of the resource that the policy estimates. The claim is judged by
the share of replications whose estimates lead to the best division; small errors may not change it.
"""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Finding, Result, decide, format_round
from keyhole.papers.claims.claimed_ranges import format_range
from keyhole.papers.claims.negative_control import PolicyClaim
from keyhole.papers.claims.verdict_numbers import number_of
from keyhole.papers.entry_references import Checkpoint
from keyhole.papers.verma2019.threshold_equivalence import allocation_equivalent
from keyhole.play.plan import Plan
from keyhole.results.estimate import share_estimate
from keyhole.semibandit.setting import is_sufficient


class AllocationEquivalence(PolicyClaim):
    """In a proportion of replications, the estimated thresholds lead to the best allocation.

    They do if no estimate is too low and they are allocation equivalent to the thresholds (Verma
    et al. 2019, Definition 1). The metric is ``estimates``, of all arms. The claim is judged as an
    `EstimateClaim` of a proportion.
    """

    kind: Literal["allocation-equivalence"]
    round: Checkpoint | None = None  # at which checkpoint; by default the last
    at_least: Annotated[float, Field(ge=0, le=1)]  # the share, from 0 to 1

    def check(self, plan: Plan) -> None:
        """Refuse another metric, and problems of another setting."""
        if self.metric != "estimates[0]" or plan.problem.setting.name != "semibandit":
            raise ValueError(
                "metric must be 'estimates[0]', on a problem of the setting 'semibandit', "
                f"got {self.metric!r} on one of {plan.problem.setting.name!r}"
            )

    def judge_result(self, result: Result, policy: str) -> Finding:
        """Count the replications whose estimates lead to the best allocation."""
        arms = range(result.arms)
        table = [result.values(policy, f"estimates[{arm}]", self.round) for arm in arms]
        good = [
            _leads_to_best_allocation(result.problem, np.array(row))
            for row in zip(*table, strict=True)
        ]
        share = share_estimate(np.array(good))
        status = decide(
            supported=self.at_least <= share.low, contradicted=share.high < self.at_least
        )
        detail = (
            f"in {share.count:,} of {share.replications:,} replications "
            f"{format_round(self.round)}: {share}{format_range(self.at_least, np.inf)}"
        )
        number = number_of(
            f"share of replications {format_round(self.round)}", share, self.at_least
        )
        return Finding(status, detail, (number,))


def _leads_to_best_allocation(problem: Any, estimates: FloatArray) -> float:
    """Return 1 if the best allocation by the estimates is the best one, else 0."""
    means, thresholds = problem.mean_losses, problem.thresholds
    if not all(map(is_sufficient, estimates, thresholds)):
        return 0.0
    return float(allocation_equivalent(means, thresholds, estimates, problem.resource))
