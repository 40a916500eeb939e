"""Claim (statement of a paper) that choosing among some policies matters less than among others.

A policy is a rule that chooses among options; if all of a group do equally well, choice matters
little.
"""

import math
from dataclasses import replace
from typing import Literal

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Finding, ProblemClaim, Result, decide
from keyhole.papers.claims.verdict_numbers import factor_of
from keyhole.papers.entry_references import PolicyName
from keyhole.results.estimate import mean_estimate


class PolicySpread(ProblemClaim):
    """The choice among some policies matters less than the choice among others.

    The spread of a group is ln(largest mean / smallest mean) at the horizon. The interval of the
    difference of two spreads comes from the delta method, which takes the policies with the
    largest and the smallest mean as given.
    """

    kind: Literal["spread"]
    narrow: list[PolicyName]
    wide: list[PolicyName]

    def judge_result(self, result: Result) -> Finding:
        """Return the ratio of the factors, with its interval."""
        spreads = list[tuple[float, FloatArray]]()  # each with what replications add to it
        for group in (self.wide, self.narrow):
            values = {p: result.curves.values(p, self.metric)[-1] for p in group}
            means = {p: float(v.mean()) for p, v in values.items()}
            top, bottom = max(means, key=means.__getitem__), min(means, key=means.__getitem__)
            if means[bottom] == 0.0:
                return Finding("undecided", f"{bottom} was never wrong at the horizon")
            # The influence of each replication on ln(largest / smallest): the delta method. That
            # noise may have chosen the two policies is ignored.
            influence = values[top] / means[top] - values[bottom] / means[bottom]
            spreads.append((math.log(means[top] / means[bottom]), influence))
        (wide, widening), (narrow, narrowing) = spreads
        gap = replace(mean_estimate(widening - narrowing), value=wide - narrow)
        ratio = factor_of("ratio of the two", gap, at_least=1.0)
        widest, narrowest = (
            factor_of(
                f"largest mean / smallest mean among {', '.join(group)}",
                replace(mean_estimate(influence), value=spread),
            )
            for group, (spread, influence) in zip((self.wide, self.narrow), spreads, strict=True)
        )
        return Finding(
            decide(supported=gap.low > 0, contradicted=gap.high < 0),
            f"largest mean / smallest mean at the horizon: {narrowest} among "
            f"{', '.join(self.narrow)}; {widest} among {', '.join(self.wide)}; "
            f"ratio of the two {ratio}",
            (narrowest, widest, ratio),
        )
