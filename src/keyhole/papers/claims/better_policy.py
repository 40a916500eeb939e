"""Claims (statements of a paper) that a policy is better, or not better, than others.

A policy is a rule that chooses among options; which one is better, simulations show.
"""

import math
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from keyhole.papers.claims import base
from keyhole.papers.claims.base import Comparison, Finding, Results, Rounds
from keyhole.papers.entry_references import Checkpoint, PolicyName, ProblemName

_SHOWN: Final = 3


def ordering(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    others: list[PolicyName], rounds: list[Checkpoint] | None = None,
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0,
) -> Finding:  # fmt: skip
    """Judge whether a policy is significantly better than others, in at least a share of the cases.

    It is compared in every pair of another policy and a checkpoint. The claim holds if it is
    significantly better in at least the share `at_least` of these cases, and does not hold if so
    many are lost that the undecided ones cannot make up that share. A case is lost if the policy is
    significantly worse, or equal in every replication and not 0. All comparisons are adjusted
    together (Holm).
    """
    curves = results[problem].curves
    rounds = rounds or list(curves.checkpoints)
    cells = base.comparisons(
        curves, metric, [(policy, other, t) for t in rounds for other in others]
    )
    better, lost = sum(cell.better for cell in cells), sum(cell.lost for cell in cells)
    # In floating point 0.07 x 100 is 7.000000000000001: rounding must not ask for one case more.
    needed = math.ceil(at_least * len(cells) - 1e-9)
    # Undecided cases may still be won: the claim fails only when too few are left to win.
    status = base.decide(supported=better >= needed, contradicted=len(cells) - lost < needed)
    if len(cells) == 1:
        return Finding(status, str(cells[0]), tuple(base.differences(cells)))
    best = curves.metric(metric).best
    behind = {cell.round for cell in cells if not cell.lead > 0}
    ahead = sum(t not in behind for t in rounds)
    text, shown = _least_favourable(cells)
    detail = (
        f"significantly better in {better} of {len(cells)} pairs of method and T "
        f"({needed} needed), worse or equal in {lost}, open in {len(cells) - better - lost}; "
        f"{best} mean of all at {ahead} of {len(rounds)} T. {text}"
    )
    numbers = (
        base.known_number("significantly better in", better, at_least=needed),
        base.known_number("worse or equal in", lost, at_most=len(cells) - needed),
        base.known_number(f"{best} mean of all at", ahead),
        *base.format_compared(base.differences(cells), base.differences(shown)),
    )
    return Finding(status, detail, numbers)


def not_better(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    others: list[PolicyName], rounds: list[Checkpoint], runs: int,
) -> Finding:  # fmt: skip
    """Judge whether a policy is not significantly better than others, in a given number of runs.

    Each comparison is tested at 5 % without adjustment, which would make the claim easier. With
    fewer runs than the source had, the absence of a difference is no evidence.
    """
    curves = results[problem].curves
    pairs = [(policy, other, t) for t in rounds for other in others]
    cells = base.comparisons(curves, metric, pairs, adjust=False)
    is_better, played = any(cell.better for cell in cells), curves.replications
    detail = f"{'; '.join(map(str, cells))}; {runs_text(played, runs, is_found=is_better)}"
    return Finding(
        base.decide(supported=played >= runs and not is_better, contradicted=is_better),
        detail,
        (*base.differences(cells), base.known_number("runs", played, at_least=runs)),
    )


def not_worse(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    others: list[PolicyName], rounds: Rounds, runs: int,
) -> Finding:  # fmt: skip
    """Judge whether none of some policies is significantly better than a policy, in so many runs.

    The claim does not hold if at some checkpoint one of the others is significantly better (all
    comparisons adjusted together, Holm); it holds if none is, in at least `runs` runs: in fewer,
    the absence of a difference is no evidence.
    """
    curves = results[problem].curves
    pairs = [(other, policy, t) for t in rounds for other in others]
    cells = base.comparisons(curves, metric, pairs)
    better = sum(cell.better for cell in cells)
    ahead = sorted((cell for cell in cells if cell.lead > 0), key=lambda cell: cell.p_value)
    played, side = curves.replications, curves.metric(metric).better
    detail = (
        f"significantly better than {policy} in {better} of {len(cells)} pairs of "
        f"method and T, of {side} mean in {len(ahead)}"
    )
    if ahead:
        detail += "; the clearest: " + "; ".join(map(str, ahead[:_SHOWN]))
    detail += f"; {runs_text(played, runs, is_found=better > 0)}"
    numbers = (
        base.known_number("pairs in which another is significantly better", better, at_most=0),
        base.known_number(f"pairs in which another has the {side} mean", len(ahead)),
        base.known_number("runs", played, at_least=runs),
        *base.format_compared(base.differences(cells), base.differences(ahead[:_SHOWN])),
    )
    status = base.decide(supported=played >= runs and not better, contradicted=better > 0)
    return Finding(status, detail, numbers)


def runs_text(played: int, needed: int, *, is_found: bool) -> str:
    """Return how many runs there are, and whether finding nothing in them means something."""
    text = f"in {played:,} runs"
    if played >= needed or is_found:
        return text
    return f"{text} ({needed:,} are needed before finding nothing means something)"


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
