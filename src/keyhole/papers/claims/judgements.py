"""Judgements of claims that compare several problems or policies at once."""

import math
from itertools import combinations, pairwise, permutations
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim
from keyhole.papers.claims.statistics import Cells, Finding, Policies, Results
from keyhole.papers.field_types import Checkpoint, MetricName, PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.simulation_plan import Plan
from keyhole.results.estimate import PairedDifference, compare, mean_estimate
from keyhole.results.holm_adjustment import LEVEL, holm

_Factor = Annotated[float, Field(gt=0)]
_Two = Annotated[list[PolicyName], Field(min_length=2)]


class ProblemRound(BaseModel):
    """A problem, at a checkpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    problem: ProblemName
    round: Checkpoint

    def format_name(self, results: Results) -> str:
        """Return its name in the text of a verdict."""
        return f"{results[self.problem].title} at T = {self.round:,}"


def trend(
    results: Results, metric: str, cells: Cells,
    factors: _Factor | list[_Factor] = 1.0, round: Checkpoint | None = None,
) -> Finding:  # fmt: skip
    """Judge whether a metric rises significantly from each of some cells to the next.

    With a factor, of every step or of each, it must rise to more than so many times: factor x lower
    < higher. The claim holds if every step is significant, and does not hold if some step is
    significantly in the other direction, or 0 in every replication. The steps are adjusted together
    (Holm).
    """
    values = [cell.values(results, metric, round) for cell in cells]
    steps = len(cells) - 1
    factors = statistics.one_for_each(factors, steps)
    gaps = [
        compare(factor * a, b) for factor, (a, b) in zip(factors, pairwise(values), strict=True)
    ]
    is_clear = holm([gap.p_value for gap in gaps]) < LEVEL
    rises = [bool(c) and gap.difference < 0 for c, gap in zip(is_clear, gaps, strict=True)]
    falls = [
        # Equal in every replication, and not 0: more replications would not separate them.
        (gap.equal and b.any()) or (bool(c) and gap.difference > 0)
        for c, gap, b in zip(is_clear, gaps, values[1:], strict=True)
    ]
    names = statistics.cell_names(cells, results)
    means = statistics.mean_numbers(names, values)
    numbers = [
        statistics.number_of(
            f"{'' if factor == 1.0 else f'{factor:g} x '}{before} minus {after}", gap, at_most=0.0
        )
        for factor, gap, (before, after) in zip(factors, gaps, pairwise(names), strict=True)
    ]
    # From the steps that fall most clearly to those that rise most clearly.
    order = sorted(
        range(steps), key=lambda i: math.copysign(1.0 - gaps[i].p_value, -gaps[i].difference)
    )[: statistics.MOST_SHOWN]
    return Finding(
        statistics.decide(supported=all(rises), contradicted=any(falls)),
        f"{statistics.format_round(round)}: {statistics.format_numbers(means)}; "
        f"{sum(rises)} of {steps} steps significant; "
        f"the least clear: {'; '.join(f'{numbers[i].name}: {gaps[i]}' for i in order)}",
        (*means, *statistics.limit_numbers(numbers, [numbers[i] for i in order])),
    )


def check_trend(claim: AnyClaim, plan: Plan) -> None:
    """Refuse factors that are not one for each step."""
    if isinstance(claim.factors, list) and len(claim.factors) != len(claim.cells) - 1:
        raise ValueError(
            f"factors must be one fewer than cells, got {len(claim.factors)} factors "
            f"for {len(claim.cells)} cells"
        )


def equivalence(
    results: Results, metric: str, cells: Cells, tolerance: Annotated[float, Field(gt=0)],
    round: Checkpoint | None = None,
) -> Finding:  # fmt: skip
    """Judge whether a metric is equivalent in some cells, within a tolerance.

    The larger of any two means is at most (1 + tolerance) times the smaller. The claim holds if
    this is significant, at 5 %, of every two cells in both orders (two one-sided tests each:
    since all must succeed, they need no adjustment). It does not hold if some mean significantly
    exceeds so many times another (two-sided, all adjusted together: Holm). A difference that is
    not significant is no evidence of equality: few replications leave the claim undecided.
    """
    values = [cell.values(results, metric, round) for cell in cells]
    names = statistics.cell_names(cells, results)
    means = statistics.mean_numbers(names, values)
    detail = f"{statistics.format_round(round)}: {statistics.format_numbers(means)}"
    if min(mean.value for mean in means) < 0:
        detail += "; relative tolerances need means that are not below 0"
        return Finding("undecided", detail, means)
    excess = [compare(a, (1.0 + tolerance) * b) for a, b in permutations(values, 2)]
    gaps = [
        statistics.number_of(f"{a} minus {1.0 + tolerance:g} x {b}", gap, at_most=0.0)
        for (a, b), gap in zip(permutations(names, 2), excess, strict=True)
    ]
    is_clear = holm([gap.p_value for gap in excess]) < LEVEL
    beyond = [bool(c) and gap.difference > 0 for c, gap in zip(is_clear, excess, strict=True)]
    # Two one-sided tests for each pair must all succeed to hold, which needs no adjustment; one
    # success contradicts the claim, which does (Holm).
    status = statistics.decide(supported=all(map(_is_below, excess)), contradicted=any(beyond))
    return Finding(status, detail, means + statistics.limit_numbers(gaps, []))


def _is_below(gap: PairedDifference) -> bool:
    """Return whether a difference is below zero, by a one-sided test at 5 %."""
    return gap.high <= 0.0 or (gap.difference < 0.0 and gap.p_value / 2.0 < LEVEL)


def identical_results(
    results: Results, metric: str, cells: Cells,
    metrics: Annotated[list[MetricName], Field(min_length=1)] | None = None,
) -> Finding:  # fmt: skip
    """Judge whether all values of some cells are equal to the last bit.

    The claim does not hold if there is one difference, in any replication at any checkpoint.
    `metrics` are those to compare; by default the claim's.
    """
    first, *names = statistics.cell_names(cells, results)
    exceptions = []
    for key in metrics or [metric]:
        reference, *compared = (
            results[cell.problem].curves.values(cell.policy, key) for cell in cells
        )
        for name, values in zip(names, compared, strict=True):
            if reference.shape != values.shape:
                return Finding("undecided", f"{first} and {name} have other checkpoints")
            count = int((reference != values).any(axis=0).sum())
            text = f"replications in which {key} of {name} differs from {first}'s"
            exceptions.append(statistics.known_number(text, count, at_most=0))
    replications = results[cells[0].problem].curves.replications
    return statistics.judge_exceptions(exceptions, replications)


def policy_spread(
    results: Results, metric: str, problem: ProblemName, narrow: Policies, wide: Policies
) -> Finding:
    """Judge whether the choice among some policies matters less than the choice among others.

    The spread of a group is ln(largest mean / smallest mean) at the horizon. The interval of the
    difference of two spreads comes from the delta method, which takes the policies with the
    largest and the smallest mean as given.
    """
    spreads = []
    factors = []
    for group in (narrow, wide):
        ordered = sorted((results[problem].values(label, metric) for label in group), key=np.mean)
        if ordered[0].mean() == 0.0:
            return Finding("undecided", f"one of {', '.join(group)} was never wrong at the horizon")
        spreads.append(statistics.log_quotient(ordered[-1], ordered[0]))
        name = f"largest mean / smallest mean among {', '.join(group)}"
        factors.append(statistics.factor_of(name, mean_estimate(spreads[-1])))
    gap = mean_estimate(spreads[1] - spreads[0])
    factors.append(statistics.factor_of("ratio of the two", gap, at_least=1.0))
    return Finding(
        statistics.decide(supported=gap.low > 0, contradicted=gap.high < 0),
        statistics.format_numbers(factors),
        tuple(factors),
    )


def different_best(
    results: Results, metric: str, policies: _Two, here: ProblemRound, there: ProblemRound
) -> Finding:
    """Judge whether the best of some policies on one problem, or early, is not the best on another.

    It holds if the policies with the best mean `here` and `there` differ, and each is significantly
    better than the other where it is best; it does not hold if one policy is significantly better
    than all others in both places. All comparisons are adjusted together (Holm).
    """
    pairs = list(combinations(policies, 2))
    ends = (here, there)
    # Both places together: the claim is about all these comparisons at once.
    cases = statistics.adjust_together(
        [
            case
            for end in ends
            for case in statistics.comparisons(
                results[end.problem].curves, metric, [(*pair, end.round) for pair in pairs]
            )
        ]
    )
    wins = set()
    differences = []
    for end, case in zip([here] * len(pairs) + [there] * len(pairs), cases, strict=True):
        if case.better:
            wins.add((end, case.policy, case.other))
        if case.worse:
            wins.add((end, case.other, case.policy))
        title = results[end.problem].title
        differences.append(statistics.number_of(case.name(title), case.gap))
    first, second = (results[end.problem].best_of(policies, metric, end.round) for end in ends)
    changes = {(here, first, second), (there, second, first)}
    is_same_best = any(
        all(rival == policy or (end, policy, rival) in wins for end in ends for rival in policies)
        for policy in policies
    )
    best_word = results[here.problem].curves.metric(metric).best
    name = "places where the best is significantly better than the best of the other place"
    win_count = len(changes & wins)
    return Finding(
        statistics.decide(supported=changes <= wins, contradicted=is_same_best),
        f"{best_word}: {here.format_name(results)}: {first}; {there.format_name(results)}: "
        f"{second}; {name}: {win_count} of 2",
        (
            statistics.known_number(name, win_count, at_least=2),
            *statistics.limit_numbers(differences, []),
        ),
    )


def growing_lead(
    results: Results, metric: str, policy: PolicyName, others: Policies,
    x: Annotated[list[ProblemName], Field(min_length=2)], round: Checkpoint | None = None,
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0,
) -> Finding:  # fmt: skip
    r"""Judge whether the ratio of others' means to a policy's rises from problem to problem.

    Where higher is better, it is the ratio of the policy's mean to theirs. `x` are the problems,
    in rising order; a step is one of the others from one problem to the next.

    The interval of each step, of :math:`\ln(\bar a_2 / \bar b_2) - \ln(\bar a_1 / \bar b_1)` with
    means :math:`\bar a` of another policy and :math:`\bar b` of this one, comes from the delta
    method on replications that are paired over policies and problems. The claim holds if at least
    the share `at_least` of the steps rise significantly, and does not hold if so many fall
    significantly that the undecided ones cannot make up that share (all adjusted together, Holm).
    Where a mean may be 0, the claim is undecided.
    """
    time = statistics.format_round(round)
    steps = []
    factors = []
    ratios = list[Number]()
    for rival in others:
        logs = list[FloatArray]()
        for key in x:
            labels = statistics.order_for_ratio(results[key], metric, rival, policy)
            values = [results[key].values(label, metric, round) for label in labels]
            if any(mean_estimate(array).low <= 0.0 for array in values):
                return Finding("undecided", f"a mean on {results[key].title} may be 0")
            logs.append(statistics.log_quotient(*values))
            name = f"{' / '.join(labels)} on {results[key].title} {time}"
            ratios.append(statistics.factor_of(name, mean_estimate(logs[-1])))
        for (early, late), (before, after) in zip(pairwise(x), pairwise(logs), strict=True):
            # The ratio of two ratios is a difference of logarithms, which replications pair.
            steps.append(mean_estimate(after - before))
            name = f"{' / '.join(labels)} from {results[early].title} to {results[late].title}"
            factors.append(statistics.factor_of(f"{name}, times", steps[-1], at_least=1.0))
    is_clear = holm([step.p_value(0.0, 0.0) for step in steps]) < LEVEL
    rises = sum(bool(c) and step.value > 0 for c, step in zip(is_clear, steps, strict=True))
    falls = sum(bool(c) and step.value < 0 for c, step in zip(is_clear, steps, strict=True))
    needed = statistics.share_count(at_least, len(steps))
    # Steps that do not clearly fall may still turn out to rise.
    status = statistics.decide(supported=rises >= needed, contradicted=len(steps) - falls < needed)
    detail = statistics.format_numbers([*ratios, *factors])
    return Finding(
        status,
        f"{detail}; {rises} of {len(steps)} rise significantly ({needed} needed), {falls} fall",
        (
            *ratios,
            *factors,
            statistics.known_number("significant rises", rises, at_least=needed),
            statistics.known_number("significant falls", falls, at_most=len(steps) - needed),
        ),
    )
