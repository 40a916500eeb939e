"""Claim (statement of a paper) that no other policy is better than a policy.

A policy is a rule that chooses among options; which one is better, simulations show.
"""

from typing import Literal

from keyhole.papers.claims.base import Finding, ProblemClaim, Result, Rounds, decide
from keyhole.papers.claims.paired_comparisons import comparisons
from keyhole.papers.claims.verdict_numbers import differences, format_compared, known_number
from keyhole.papers.entry_references import PolicyName

_SHOWN = 3


class NotWorse(ProblemClaim):
    """None of some policies is significantly better than a policy, in a given number of runs.

    The claim does not hold if at some checkpoint one of the others is significantly better (all
    comparisons adjusted together, Holm); it holds if none is, in at least `runs` runs: in fewer,
    the absence of a difference is no evidence.
    """

    kind: Literal["not-worse"]
    policy: PolicyName
    others: list[PolicyName]
    rounds: Rounds  # at which checkpoints
    runs: int  # how many runs it takes

    def judge_result(self, result: Result) -> Finding:
        """Search for a policy that is significantly better."""
        pairs = [(other, self.policy, t) for t in self.rounds for other in self.others]
        cells = comparisons(result.curves, self.metric, pairs)
        beaten = [cell for cell in cells if cell.better]
        ahead = sorted((c for c in cells if c.lead > 0), key=lambda cell: cell.p_value)
        runs, better = result.curves.replications, result.curves.metric(self.metric).better
        detail = (
            f"significantly better than {self.policy} in {len(beaten)} of {len(cells)} pairs of "
            f"method and T, of {better} mean in {len(ahead)}"
        )
        if ahead:
            detail += "; the clearest: " + "; ".join(map(str, ahead[:_SHOWN]))
        detail += f"; in {runs:,} runs"
        if runs < self.runs and not beaten:
            detail += f" ({self.runs:,} are needed before finding nothing means something)"
        supported = runs >= self.runs and not beaten
        numbers = (
            known_number("pairs in which another is significantly better", len(beaten), at_most=0),
            known_number(f"pairs in which another has the {better} mean", len(ahead)),
            known_number("runs", runs, at_least=self.runs),
            *format_compared(differences(cells), differences(ahead[:_SHOWN])),
        )
        return Finding(decide(supported=supported, contradicted=bool(beaten)), detail, numbers)
