"""Judgements of claims that a policy is better, or not better, than others."""

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from keyhole.papers.claims import statistics
from keyhole.papers.claims.statistics import MOST_SHOWN, Comparison, Finding, Results, Rounds
from keyhole.papers.field_types import Checkpoint, PolicyName, ProblemName
from keyhole.papers.verdicts import Number


def judge_ordering(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    others: list[PolicyName], rounds: list[Checkpoint] | None = None,
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0,
) -> Finding:  # fmt: skip
    """Judge whether a policy is significantly better than others, in at least a share of the cases.

    A case is the comparison with one other policy at one checkpoint. The claim holds if the policy
    is significantly better in at least the share `at_least` of the cases. It does not hold if the
    policy has lost so many cases that it cannot reach this share. A case is lost if the policy is
    significantly worse. It is also lost if both policies have the same value in every replication,
    unless all these values are 0. All comparisons are adjusted together (Holm).
    """
    curves = results[problem].curves
    rounds = rounds or list(curves.checkpoints)
    cases = statistics.compare_pairs(
        curves, metric, [(policy, rival, t) for t in rounds for rival in others]
    )
    wins = sum(case.is_better for case in cases)
    losses = sum(case.is_worse or case.is_tied for case in cases)
    needed = statistics.least_count(at_least, len(cases))
    status = statistics.decide(supported=wins >= needed, contradicted=len(cases) - losses < needed)
    if len(cases) == 1:
        return Finding(status, str(cases[0]), (cases[0].number(claims_better=True),))
    least_favourable = sorted(cases, key=lambda case: case.evidence)[:MOST_SHOWN]
    detail = (
        f"significantly better in {wins} of {len(cases)} pairs of rival and T "
        f"({needed} needed), worse or equal in {losses}, open in {len(cases) - wins - losses}. "
        f"The least favourable: {'; '.join(map(str, least_favourable))}"
    )
    numbers = (
        statistics.exact_number("significantly better in", wins, at_least=needed),
        statistics.exact_number("worse or equal in", losses, at_most=len(cases) - needed),
        *_list_numbers(cases, least_favourable, claims_better=True),
    )
    return Finding(status, detail, numbers)


def judge_not_better(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    others: list[PolicyName], rounds: list[Checkpoint], runs: int,
) -> Finding:  # fmt: skip
    """Judge whether a policy is not significantly better than others, in a given number of runs.

    Each comparison is tested at 5 %, without an adjustment for their number: it would make fewer
    differences significant, so that the claim would hold more easily. `runs` is the source's number
    of runs: in fewer runs the absence of a difference is no evidence.
    """
    curves = results[problem].curves
    pairs = [(policy, rival, t) for t in rounds for rival in others]
    cases = statistics.compare_pairs(curves, metric, pairs, adjust=False)
    return _judge_none_better(cases, curves.replications, runs)


def not_worse(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    others: list[PolicyName], rounds: Rounds, runs: int,
) -> Finding:  # fmt: skip
    """Judge whether no other policy is significantly better than this one, in at least `runs` runs.

    The claim does not hold if another policy is significantly better at some checkpoint (all
    comparisons are adjusted together, Holm). It holds if none is significantly better, and at least
    `runs` runs were played: in fewer runs the absence of a difference is no evidence.
    """
    curves = results[problem].curves
    # The other policy comes first: it is the one that might be better.
    pairs = [(rival, policy, t) for t in rounds for rival in others]
    return _judge_none_better(
        statistics.compare_pairs(curves, metric, pairs), curves.replications, runs
    )


def _judge_none_better(cases: Sequence[Comparison], replications: int, runs: int) -> Finding:
    """Judge the claim that in no case the first policy is significantly better.

    The claim holds only if the number of `replications` is at least `runs`.
    """
    wins = sum(case.is_better for case in cases)
    most_favourable = sorted(cases, key=lambda case: -case.evidence)[:MOST_SHOWN]
    detail = (
        f"significantly better in {wins} of {len(cases)} pairs of rival and T, "
        f"the most favourable: {'; '.join(map(str, most_favourable))}; in {replications:,} runs"
    )
    if replications < runs and not wins:
        detail += f" (at least {runs:,} are needed to show that no policy is better)"
    numbers = (
        *_list_numbers(cases, most_favourable, claims_better=False),
        statistics.exact_number("runs", replications, at_least=runs),
    )
    status = statistics.decide(supported=replications >= runs and not wins, contradicted=wins > 0)
    return Finding(status, detail, numbers)


def _list_numbers(
    cases: Sequence[Comparison], shown: Sequence[Comparison], *, claims_better: bool
) -> tuple[Number, ...]:
    """Return the numbers of all cases; of more than 50 cases only those that the text shows."""
    numbers = [case.number(claims_better=claims_better) for case in cases]
    shown_numbers = [case.number(claims_better=claims_better) for case in shown]
    return statistics.trim_numbers(numbers, shown_numbers)
