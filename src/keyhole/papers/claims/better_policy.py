"""Claims (statements of a paper) that a policy is better, or not better, than others.

A policy is a rule that chooses among options; which one is better, simulations show.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import Field

from keyhole.papers.claims.base import Finding, ProblemClaim, Result, decide
from keyhole.papers.claims.paired_comparisons import Comparison, comparisons
from keyhole.papers.claims.verdict_numbers import differences, format_compared, known_number
from keyhole.papers.entry_references import Checkpoint, PolicyName

_SHOWN: Final = 3

_UNITS: Final = {"pairs": "pairs of method and T", "rounds": "T, against all others at once"}


class PolicyOrdering(ProblemClaim):
    """A policy is significantly better than others, in at least a share of the cases.

    It is compared in every pair of another policy and a checkpoint, or at every checkpoint with all
    others at once. The claim holds if it is significantly better in at least the share `at_least`
    of these cases, and does not hold if so many are lost that the undecided ones cannot make up
    that share. A case is lost if the policy is significantly worse, or equal in every replication
    and not 0. All comparisons are adjusted together (Holm).
    """

    kind: Literal["ordering"]
    policy: PolicyName
    others: list[PolicyName]
    rounds: list[Checkpoint] | None = None
    over: Literal["pairs", "rounds"] = "pairs"
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0

    def judge_result(self, result: Result) -> Finding:
        """Count the cases in which the policy is better, and those that are lost."""
        rounds = self.rounds or result.curves.checkpoints
        pairs = [(self.policy, other, t) for t in rounds for other in self.others]
        cells = comparisons(result.curves, self.metric, pairs)
        if self.over == "pairs":
            units = [[cell] for cell in cells]
        else:
            units = [[cell for cell in cells if cell.round == t] for t in rounds]
        better = sum(all(cell.better for cell in unit) for unit in units)
        lost = sum(any(cell.lost for cell in unit) for unit in units)
        # In floating point 0.07 x 100 is 7.000000000000001: rounding must not ask for one case
        # more.
        needed = math.ceil(self.at_least * len(units) - 1e-9)
        # Undecided cases may still be won: the claim fails only when too few are left to win.
        status = decide(supported=better >= needed, contradicted=len(units) - lost < needed)
        if len(cells) == 1:
            return Finding(status, str(cells[0]), tuple(differences(cells)))
        best = result.curves.metric(self.metric).best
        ahead = sum(all(c.lead > 0 for c in cells if c.round == t) for t in rounds)
        words, shown = _least_favourable(cells)
        detail = (
            f"significantly better in {better} of {len(units)} {_UNITS[self.over]} "
            f"({needed} needed), worse or equal in {lost}, open in {len(units) - better - lost}; "
            f"{best} mean of all at {ahead} of {len(rounds)} T. {words}"
        )
        numbers = (
            known_number("significantly better in", better, at_least=needed),
            known_number("worse or equal in", lost, at_most=len(units) - needed),
            known_number(f"{best} mean of all at", ahead),
            *format_compared(differences(cells), differences(shown)),
        )
        return Finding(status, detail, numbers)


class NotBetter(ProblemClaim):
    """A policy is not significantly better than others, in a given number of runs.

    Each comparison is tested at 5 % without adjustment, which would make the claim easier. With
    fewer runs than the source had, the absence of a difference is no evidence.
    """

    kind: Literal["not-better"]
    policy: PolicyName
    others: list[PolicyName]
    rounds: list[Checkpoint]
    runs: int

    def judge_result(self, result: Result) -> Finding:
        """Search for a significant difference."""
        pairs = [(self.policy, other, t) for t in self.rounds for other in self.others]
        cells = comparisons(result.curves, self.metric, pairs, adjust=False)
        found = any(cell.better for cell in cells)
        runs = result.curves.replications
        detail = "; ".join(map(str, cells)) + f"; in {runs:,} runs"
        if runs < self.runs and not found:
            detail += f" ({self.runs:,} are needed before finding nothing means something)"
        return Finding(
            decide(supported=runs >= self.runs and not found, contradicted=found),
            detail,
            (*differences(cells), known_number("runs", runs, at_least=self.runs)),
        )


def _least_favourable(cells: Sequence[Comparison]) -> tuple[str, Sequence[Comparison]]:
    """Return, with their text, the least favourable comparisons, or else the least clear one."""
    against = sorted((cell for cell in cells if not cell.better), key=_sort_key)
    if not against:
        least = max(cells, key=lambda cell: cell.p_value)
        return f"The least clear: {least}", [least]
    more = f" and {len(against) - _SHOWN} more" if len(against) > _SHOWN else ""
    shown = against[:_SHOWN]
    return "Not better: " + "; ".join(map(str, shown)) + more, shown


def _sort_key(cell: Comparison) -> tuple[bool, bool, float]:
    """Return the sort key of a comparison: lost ones first, then the least favourable ones."""
    unfavourable = cell.lead < 0
    return not cell.lost, not unfavourable, cell.p_value if unfavourable else -cell.p_value
