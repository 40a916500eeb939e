"""Claims that a policy's lead over others grows from problem to problem."""

import math
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Literal

from pydantic import Field

from keyhole.papers.claims.base import Claim, Finding, Result, behind, when
from keyhole.papers.claims.estimate import inside, log_quotient
from keyhole.results.estimate import Estimate, mean_of

_Some = Annotated[list[str], Field(min_length=1)]


class Advantage(Claim):
    r"""The others' means, divided by that of a policy, significantly rise from problem to problem.

    Where higher is better, it is the policy's mean that is divided by theirs.

    The interval of each step, of :math:`\ln(\bar a_2 / \bar b_2) - \ln(\bar a_1 / \bar b_1)` with
    means :math:`\bar a` of another policy and :math:`\bar b` of this one, comes from the delta
    method on replications that are paired over policies and problems. The claim holds if every
    interval is above 0, and does not hold if some step is significantly below (adjusted by Holm).
    Where a mean may be 0, the claim is undecided.
    """

    kind: Literal["advantage"]
    policy: str
    others: _Some
    x: Annotated[list[str], Field(min_length=2)]  # the keys of the problems, in rising order
    round: int | None = None  # at which checkpoint; by default the last of each problem

    @property
    def concerns(self) -> tuple[str, ...]:
        """The problems."""
        return tuple(self.x)

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the quotients of neighbours, for each of the others."""
        steps, words = [], []
        for other in self.others:
            logs = []
            for key in self.x:
                pair = behind(results[key], self.metric, other, self.policy)
                values = [results[key].values(one, self.metric, self.round) for one in pair]
                if any(mean_of(one).low <= 0.0 for one in values):
                    return "undecided", f"a mean on {results[key].title} may be 0"
                logs.append(log_quotient(*values))
            steps += [mean_of(late - early) for early, late in pairwise(logs)]
            found = ", ".join(
                f"{math.exp(one.mean()):.3g} on {results[key].title}"
                for key, one in zip(self.x, logs, strict=True)
            )
            words.append(f"{' / '.join(pair)} {found}")
        times = ", ".join(f"{_times(step)}" for step in steps)
        status = inside([(step, 0.0, math.inf) for step in steps])
        return status, f"{when(self.round)}: {'; '.join(words)}; from one to the next times {times}"


def _times(step: Estimate) -> str:
    low, high = math.exp(step.low), math.exp(min(step.high, 700.0))
    return f"{math.exp(step.value):.3g} [{low:.3g}, {high:.3g}]"
