"""Judgements of claims that a policy is better, or not better, than others."""

import math
from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field

from keyhole.papers.claims import statistics
from keyhole.papers.claims.statistics import Comparison, Finding, Results, Rounds
from keyhole.papers.entry_names import Checkpoint, PolicyName, ProblemName

_MOST_SHOWN: Final = 3


def ordering(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    others: list[PolicyName], rounds: list[Checkpoint] | None = None,
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0,
) -> Finding:  # fmt: skip
    """Judge whether a policy is significantly better than others, in at least a share of the cases.

    A case is one of the others at one checkpoint. The claim holds if the policy is significantly
    better in at least the share `at_least` of the cases, and does not hold if so many are lost that
    the undecided ones cannot make up that share. A case is lost if the policy is significantly
    worse, or if both have the same values in every replication, which are not all 0. All
    comparisons are adjusted together (Holm).
    """
    curves = results[problem].curves
    rounds = rounds or list(curves.checkpoints)
    cases = statistics.comparisons(
        curves, metric, [(policy, rival, t) for t in rounds for rival in others]
    )
    wins = sum(case.better for case in cases)
    losses = sum(case.lost for case in cases)
    # In floating point 0.07 x 100 is 7.000000000000001: rounding must not ask for one case more.
    needed = math.ceil(at_least * len(cases) - 1e-9)
    # Undecided cases may still be won: the claim fails only when too few are left to win.
    status = statistics.decide(supported=wins >= needed, contradicted=len(cases) - losses < needed)
    if len(cases) == 1:
        return Finding(status, str(cases[0]), tuple(statistics.differences(cases)))
    best_word = curves.metric(metric).best
    rounds_behind = {case.round for case in cases if not case.lead > 0}
    rounds_ahead = sum(t not in rounds_behind for t in rounds)
    text, examples = _least_favourable(cases)
    detail = (
        f"significantly better in {wins} of {len(cases)} pairs of method and T "
        f"({needed} needed), worse or equal in {losses}, open in {len(cases) - wins - losses}; "
        f"{best_word} mean of all at {rounds_ahead} of {len(rounds)} T. {text}"
    )
    numbers = (
        statistics.known_number("significantly better in", wins, at_least=needed),
        statistics.known_number("worse or equal in", losses, at_most=len(cases) - needed),
        statistics.known_number(f"{best_word} mean of all at", rounds_ahead),
        *statistics.limit_numbers(statistics.differences(cases), statistics.differences(examples)),
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
    pairs = [(policy, rival, t) for t in rounds for rival in others]
    cases = statistics.comparisons(curves, metric, pairs, adjust=False)
    is_better = any(case.better for case in cases)
    played = curves.replications
    detail = f"{'; '.join(map(str, cases))}; {runs_text(played, runs, is_found=is_better)}"
    status = statistics.decide(supported=played >= runs and not is_better, contradicted=is_better)
    run_count = statistics.known_number("runs", played, at_least=runs)
    return Finding(status, detail, (*statistics.differences(cases), run_count))


def not_worse(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    others: list[PolicyName], rounds: Rounds, runs: int,
) -> Finding:  # fmt: skip
    """Judge whether no other policy is significantly better than this one, in at least `runs` runs.

    The claim does not hold if at some checkpoint one of the others is significantly better (all
    comparisons adjusted together, Holm); it holds if none is, in at least `runs` runs: in fewer,
    the absence of a difference is no evidence.
    """
    curves = results[problem].curves
    pairs = [(rival, policy, t) for t in rounds for rival in others]
    cases = statistics.comparisons(curves, metric, pairs)
    rival_wins = sum(case.better for case in cases)
    rival_leads = sorted((case for case in cases if case.lead > 0), key=lambda case: case.p_value)
    played = curves.replications
    better_word = curves.metric(metric).better
    detail = (
        f"significantly better than {policy} in {rival_wins} of {len(cases)} pairs of "
        f"method and T, of {better_word} mean in {len(rival_leads)}"
    )
    if rival_leads:
        detail += "; the clearest: " + "; ".join(map(str, rival_leads[:_MOST_SHOWN]))
    detail += f"; {runs_text(played, runs, is_found=rival_wins > 0)}"
    numbers = (
        statistics.known_number(
            "pairs in which another is significantly better", rival_wins, at_most=0
        ),
        statistics.known_number(
            f"pairs in which another has the {better_word} mean", len(rival_leads)
        ),
        statistics.known_number("runs", played, at_least=runs),
        *statistics.limit_numbers(
            statistics.differences(cases), statistics.differences(rival_leads[:_MOST_SHOWN])
        ),
    )
    status = statistics.decide(
        supported=played >= runs and not rival_wins, contradicted=rival_wins > 0
    )
    return Finding(status, detail, numbers)


def runs_text(played: int, needed: int, *, is_found: bool) -> str:
    """Return how many runs there are, and whether finding nothing in them means something."""
    text = f"in {played:,} runs"
    if played >= needed or is_found:
        return text
    return f"{text} ({needed:,} are needed before finding nothing means something)"


def _least_favourable(cases: Sequence[Comparison]) -> tuple[str, Sequence[Comparison]]:
    """Return, with their text, the least favourable comparisons, or else the least clear one."""
    unwon_cases = sorted((case for case in cases if not case.better), key=_sort_key)
    if not unwon_cases:
        least_clear = max(cases, key=lambda case: case.p_value)
        return f"The least clear: {least_clear}", [least_clear]
    examples = unwon_cases[:_MOST_SHOWN]
    text = "Not better: " + "; ".join(map(str, examples))
    if len(unwon_cases) > _MOST_SHOWN:
        text += f" and {len(unwon_cases) - _MOST_SHOWN} more"
    return text, examples


def _sort_key(case: Comparison) -> tuple[bool, bool, float]:
    """Return the sort key of a comparison: lost ones, then those behind, then those ahead.

    Behind, the clearest come first; ahead, the least clear.
    """
    if case.lead < 0:
        return not case.lost, False, case.p_value
    return not case.lost, True, -case.p_value
