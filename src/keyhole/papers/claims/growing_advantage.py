"""Claim (statement of a paper) that a policy's advantage grows from problem to problem.

A policy is a rule that chooses among options; an advantage is how much more it earns than others.
"""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from keyhole.papers.claims.base import Claim, Finding, Result, format_round, order_by_lead
from keyhole.papers.claims.claimed_ranges import is_inside
from keyhole.papers.claims.ratio_estimates import log_quotient
from keyhole.papers.claims.verdict_numbers import factor_of
from keyhole.papers.entry_references import Checkpoint, PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, mean_estimate

_Some = Annotated[list[PolicyName], Field(min_length=1)]


class GrowingAdvantage(Claim):
    r"""The ratio of the others' means to a policy's rises significantly from problem to problem.

    Where higher is better, it is the ratio of the policy's mean to theirs.

    The interval of each step, of :math:`\ln(\bar a_2 / \bar b_2) - \ln(\bar a_1 / \bar b_1)` with
    means :math:`\bar a` of another policy and :math:`\bar b` of this one, comes from the delta
    method on replications that are paired over policies and problems. The claim holds if every
    interval is above 0, and does not hold if some step is significantly below (adjusted by Holm).
    Where a mean may be 0, the claim is undecided.
    """

    kind: Literal["advantage"]
    policy: PolicyName
    others: _Some
    # the keys of the problems, in rising order
    x: Annotated[list[ProblemName], Field(min_length=2)]
    round: Checkpoint | None = None  # at which checkpoint; by default the last of each problem

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """The problems."""
        return tuple(self.x)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the ratios on neighbouring problems, for each other policy."""
        titles = [results[key].title for key in self.x]
        steps, words = list[Estimate](), list[str]()
        numbers, factors = list[Number](), list[Number]()
        for other in self.others:
            logs = []
            for key in self.x:
                pair = order_by_lead(results[key], self.metric, other, self.policy)
                values = [results[key].values(one, self.metric, self.round) for one in pair]
                if any(mean_estimate(one).low <= 0.0 for one in values):
                    return Finding("undecided", f"a mean on {results[key].title} may be 0")
                logs.append(log_quotient(*values))
            ratio = " / ".join(pair)
            found = [
                (title, factor_of(f"{ratio} on {title}", mean_estimate(one)))
                for title, one in zip(titles, logs, strict=True)
            ]
            words.append(f"{ratio} {', '.join(f'{one} on {title}' for title, one in found)}")
            numbers += [one for _, one in found]
            for (early, late), (a, b) in zip(pairwise(titles), pairwise(logs), strict=True):
                # The ratio of two ratios is a difference of logarithms, which replications pair.
                steps.append(mean_estimate(b - a))
                name = f"{ratio} from {early} to {late}, times"
                factors.append(factor_of(name, steps[-1], at_least=1.0))
        times = ", ".join(map(str, factors))
        return Finding(
            is_inside([(step, 0.0, math.inf) for step in steps]),
            f"{format_round(self.round)}: {'; '.join(words)}; from one to the next times {times}",
            (*numbers, *factors),
        )
