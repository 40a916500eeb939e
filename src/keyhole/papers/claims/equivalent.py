"""Claims that estimates of thresholds are as good as the thresholds."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from keyhole.contract.state_memory import FloatArray
from keyhole.papers.claims.base import Finding, Result, decide, when
from keyhole.papers.claims.negative_control import OfOne
from keyhole.papers.claims.numbers import number_of
from keyhole.papers.claims.ranges import format_range
from keyhole.papers.entry_validation import Checkpoint
from keyhole.play.plan import Plan
from keyhole.results.estimate import share_estimate
from keyhole.semibandit import allocation_equivalent
from keyhole.semibandit.setting import is_sufficient


class Equivalent(OfOne):
    """In a share of replications the estimates lead to an allocation that is the best one.

    They do if no estimate is too low and they are allocation equivalent to the thresholds (Verma
    et al. 2019, Definition 1). The metric is ``estimates``, of all arms; status as of `Counts`.
    """

    kind: Literal["equivalent"]
    round: Checkpoint | None = None  # at which checkpoint; by default the last
    at_least: Annotated[float, Field(ge=0, le=1)]  # the share, from 0 to 1

    def check(self, plan: Plan) -> None:
        """Refuse another metric, and problems of another room."""
        if self.metric != "estimates[0]" or plan.problem.setting.name != "semibandit":
            raise ValueError(
                "metric must be 'estimates[0]', on a problem of the setting 'semibandit', "
                f"got {self.metric!r} on one of {plan.problem.setting.name!r}"
            )

    def judge_one(self, result: Result, policy: str) -> Finding:
        """Count the replications in which the estimates serve."""
        arms = range(result.arms)
        table = [result.values(policy, f"estimates[{arm}]", self.round) for arm in arms]
        good = [_serve(result.problem, np.array(row)) for row in zip(*table, strict=True)]
        share = share_estimate(np.array(good))
        status = decide(
            supported=self.at_least <= share.low, contradicted=share.high < self.at_least
        )
        detail = (
            f"in {share.count:,} of {share.replications:,} replications {when(self.round)}: "
            f"{share}{format_range(self.at_least, np.inf)}"
        )
        number = number_of(f"share of replications {when(self.round)}", share, self.at_least)
        return Finding(status, detail, (number,))


def _serve(problem: Any, estimates: FloatArray) -> float:
    """Return 1 if the best allocation by the estimates is the best one, else 0."""
    means, thresholds = problem.mean_losses, problem.thresholds
    if not all(map(is_sufficient, estimates, thresholds)):
        return 0.0
    return float(allocation_equivalent(means, thresholds, estimates, problem.resource))
