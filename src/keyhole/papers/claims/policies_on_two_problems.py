"""Claims (statements of a paper) that compare what policies do on one problem and on another.

A policy is a rule that chooses among options; a problem gives the options and their chances.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims.base import Claim, Finding, Result, decide, order_by_lead
from keyhole.papers.claims.paired_comparisons import LEVEL, comparisons, holm
from keyhole.papers.claims.verdict_numbers import (
    differences,
    factor_of,
    format_compared,
    known_number,
)
from keyhole.papers.entry_references import Checkpoint, PolicyName, ProblemName
from keyhole.results.estimate import mean_estimate

_Two = Annotated[list[PolicyName], Field(min_length=2)]


class ProblemRound(BaseModel):
    """A problem, at a checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    problem: ProblemName
    round: Checkpoint

    def format_name(self, results: Mapping[str, Result]) -> str:
        """Return its name in the text of a verdict."""
        return f"{results[self.problem].title} at T = {self.round:,}"


class TwoProblemClaim(Claim):
    """Base of claims about two problems, each at a checkpoint."""

    here: ProblemRound
    there: ProblemRound

    @property
    def problem_keys(self) -> tuple[str, ...]:
        """Both problems."""
        return tuple(dict.fromkeys((self.here.problem, self.there.problem)))

    @abstractmethod
    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Return the status and the numbers behind it."""


class DifferentBest(TwoProblemClaim):
    """The best of some policies on one problem is not the best on the other.

    It holds if the policies with the best mean `here` and `there` differ, and each is significantly
    better than the other where it is best; it does not hold if one policy is significantly better
    than all others in both places. All comparisons are adjusted together (Holm).
    """

    kind: Literal["other-best"]
    policies: _Two

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare all pairs of policies on both problems."""
        pairs = [(a, b) for i, a in enumerate(self.policies) for b in self.policies[i + 1 :]]
        places = (self.here, self.there)
        cells = [
            cell
            for place in places
            for cell in comparisons(
                results[place.problem].curves,
                self.metric,
                [(a, b, place.round) for a, b in pairs],
                adjust=False,
            )
        ]
        # Both problems together: the claim is about all these comparisons at once.
        clear = holm([cell.p_value for cell in cells]) < LEVEL
        # A difference that is not significant has the sign 0, and wins nothing.
        signs = [
            math.copysign(1, cell.lead) * bool(c) for cell, c in zip(cells, clear, strict=True)
        ]
        both = list(zip(signs[: len(pairs)], signs[len(pairs) :], strict=True))
        turned = [pair for pair, (one, two) in zip(pairs, both, strict=True) if one * two < 0]
        wins = [
            (cell.policy if sign > 0 else cell.other)
            for cell, sign in zip(cells, signs, strict=True)
            if sign
        ]
        # A policy that clearly beats all others on both problems is the best on both.
        same = any(wins.count(policy) == 2 * (len(self.policies) - 1) for policy in self.policies)
        first, second = (self._best(results, place) for place in places)
        supported = (first, second) in turned or (second, first) in turned
        best = results[self.here.problem].curves.metric(self.metric).best
        detail = (
            f"{best}: {self.here.format_name(results)}: {first}; "
            f"{self.there.format_name(results)}: {second}; "
            f"{len(turned)} of {len(pairs)} pairs significantly change order"
        )
        if first != second:
            detail += f", these two {'among them' if supported else 'not'}"
        gaps = [
            gap
            for place, own in zip(places, (cells[: len(pairs)], cells[len(pairs) :]), strict=True)
            for gap in differences(own, results[place.problem].title)
        ]
        numbers = (
            known_number("pairs that significantly change order", len(turned)),
            known_number("of them the best here and there", supported, at_least=1),
        )
        status = decide(supported=supported, contradicted=same)
        return Finding(status, detail, (*numbers, *format_compared(gaps, [])))

    def _best(self, results: Mapping[str, Result], place: ProblemRound) -> str:
        return results[place.problem].best_of(self.policies, self.metric, place.round)


class Interaction(TwoProblemClaim):
    r"""Other policies are further behind a policy `here` than `there`.

    The distance is :math:`\ln(\bar y_{other} / \bar y_{policy})`, with the opposite sign where
    higher is better; the interval of the difference of two distances comes from the delta method
    on paired replications. The claim holds if the distance is significantly larger `here` for at
    least the share `at_least` of the others, and does not hold if it is significantly smaller for
    so many that the undecided ones cannot make up that share (all adjusted together, Holm).
    """

    kind: Literal["interaction"]
    policy: PolicyName
    others: Annotated[list[PolicyName], Field(min_length=1)]
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0

    def judge(self, results: Mapping[str, Result]) -> Finding:
        """Compare the distances of each other policy."""
        found = []
        for other in self.others:
            here, there = (self._distance(results, place, other) for place in self._places())
            if here is None or there is None:
                return Finding("undecided", f"{other} or {self.policy} was never wrong")
            found.append((here, there))
        gaps = [mean_estimate(here - there) for here, there in found]
        clear = holm([gap.p_value(0.0, 0.0) for gap in gaps]) < LEVEL
        larger = sum(bool(c) and gap.value > 0 for c, gap in zip(clear, gaps, strict=True))
        smaller = sum(bool(c) and gap.value < 0 for c, gap in zip(clear, gaps, strict=True))
        # Rounding must not ask for one case more: 0.07 x 100 is 7.000000000000001.
        needed = math.ceil(self.at_least * len(gaps) - 1e-9)
        # Distances that are not clearly smaller may still turn out to be larger.
        status = decide(supported=larger >= needed, contradicted=len(gaps) - smaller < needed)
        factors = [
            [
                factor_of(f"{other} in {place.format_name(results)}", mean_estimate(distance))
                for place, distance in zip(self._places(), both, strict=True)
            ]
            for other, both in zip(self.others, found, strict=True)
        ]
        named = "; ".join(
            f"{other} {here} and {there}"
            for other, (here, there) in zip(self.others, factors, strict=True)
        )
        higher = results[self.here.problem].curves.metric(self.metric).better == "higher"
        what = (
            f"mean of {self.policy} over theirs" if higher else f"mean over that of {self.policy}"
        )
        detail = (
            f"{what} in {self.here.format_name(results)} and in "
            f"{self.there.format_name(results)}: {named}; significantly larger for {larger} of "
            f"{len(gaps)} ({needed} needed), smaller for {smaller}"
        )
        numbers = (
            *(factor for both in factors for factor in both),
            *(
                replace(
                    factor_of(f"{other}, here over there", gap, at_least=1.0),
                    p_value=gap.p_value(0.0, 0.0),
                )
                for other, gap in zip(self.others, gaps, strict=True)
            ),
            known_number("significantly larger for", larger, at_least=needed),
            known_number("significantly smaller for", smaller, at_most=len(gaps) - needed),
        )
        return Finding(status, detail, numbers)

    def _places(self) -> Sequence[ProblemRound]:
        return self.here, self.there

    def _distance(
        self, results: Mapping[str, Result], place: ProblemRound, other: str
    ) -> FloatArray | None:
        """Return values whose mean and standard error are those of the distance."""
        result = results[place.problem]
        pair = order_by_lead(result, self.metric, other, self.policy)
        a, b = (result.values(p, self.metric, place.round) for p in pair)
        above, below = float(a.mean()), float(b.mean())
        if above <= 0.0 or below <= 0.0:
            return None
        # Linearised around the means: the mean of (a / above - b / below) is 0, its error that of
        # the log.
        return math.log(above / below) + (a / above - b / below)
