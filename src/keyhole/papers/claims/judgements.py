"""Judgements of claims that compare several problems or policies at once."""

import math
from itertools import combinations, pairwise, permutations
from typing import Annotated

import numpy as np
from pydantic import Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim
from keyhole.papers.claims.statistics import Cells, Finding, Policies, Results
from keyhole.papers.field_types import Checkpoint, MetricName, PolicyName, ProblemName, TableModel
from keyhole.papers.verdicts import Number
from keyhole.play.simulation_plan import Plan
from keyhole.results.estimate import PairedDifference, mean_estimate, paired_difference
from keyhole.results.holm_adjustment import LEVEL

_Factor = Annotated[float, Field(gt=0)]
_TwoOrMore = Annotated[list[PolicyName], Field(min_length=2)]


class ProblemRound(TableModel):
    """A problem at a checkpoint."""

    problem: ProblemName
    round: Checkpoint

    def format_name(self, results: Results) -> str:
        """Return the title of the problem, and the round, for the text of a verdict."""
        return f"{results[self.problem].title} at T = {self.round:,}"


def judge_trend(
    results: Results, metric: str, cells: Cells,
    factors: _Factor | list[_Factor] = 1.0, round: Checkpoint | None = None,
) -> Finding:  # fmt: skip
    """Judge whether a metric rises significantly from each of some cells to the next.

    In each step, the later cell must exceed a factor times the earlier one; `factors` is one factor
    for all steps, or a list of one for each. The claim holds if the later cell exceeds this product
    significantly in every step. It does not hold if, in some step, the later cell is significantly
    below the product, or both are equal in every replication, and not always 0. The steps are
    adjusted together (Holm).
    """
    values = [cell.values(results, metric, round) for cell in cells]
    steps = len(cells) - 1
    factors = statistics.as_list(factors, steps)
    # A gap below 0 is a rise.
    gaps = [
        paired_difference(f * a, b) for f, (a, b) in zip(factors, pairwise(values), strict=True)
    ]
    signs = statistics.significant_signs([(-gap.difference, gap.p_value) for gap in gaps])
    # Equal in every replication, and not 0: more replications would not separate the two cells.
    is_equal = [gap.equal and b.any() for gap, b in zip(gaps, values[1:], strict=True)]
    names = statistics.cell_names(cells, results)
    means = statistics.mean_numbers(names, values)
    numbers = [
        statistics.number_of(
            f"{'' if factor == 1.0 else f'{factor:g} x '}{before} minus {after}", gap, at_most=0.0
        )
        for factor, gap, (before, after) in zip(factors, gaps, pairwise(names), strict=True)
    ]
    # The first steps in order from the clearest fall to the clearest rise.
    least_rising = sorted(
        range(steps), key=lambda i: math.copysign(1.0 - gaps[i].p_value, -gaps[i].difference)
    )[: statistics.MOST_SHOWN]
    rises = signs.count(1)
    return Finding(
        statistics.decide(supported=rises == steps, contradicted=-1 in signs or any(is_equal)),
        f"{statistics.format_round(round)}: {statistics.format_numbers(means)}; "
        f"{rises} of {steps} steps significant; "
        f"the least clear: {'; '.join(f'{numbers[i].name}: {gaps[i]}' for i in least_rising)}",
        (*means, *statistics.trim_numbers(numbers, [numbers[i] for i in least_rising])),
    )


def check_trend(claim: AnyClaim, plan: Plan) -> None:
    """Refuse a list of factors without one for each step."""
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

    The claim is that no mean exceeds (1 + tolerance) times another. It holds if this is significant
    at 5 % for every two cells in both orders. These are two one-sided tests for each pair, which
    need no adjustment, since all must succeed. It does not hold if some mean significantly exceeds
    (1 + tolerance) times another (two-sided, all adjusted together: Holm). A difference that is not
    significant is no evidence of equality: few replications leave the claim undecided.
    """
    values = [cell.values(results, metric, round) for cell in cells]
    names = statistics.cell_names(cells, results)
    means = statistics.mean_numbers(names, values)
    detail = f"{statistics.format_round(round)}: {statistics.format_numbers(means)}"
    if min(mean.value for mean in means) < 0:
        detail += "; a relative tolerance needs means of at least 0"
        return Finding("undecided", detail, means)
    gaps = [paired_difference(a, (1.0 + tolerance) * b) for a, b in permutations(values, 2)]
    numbers = [
        statistics.number_of(f"{a} minus {1.0 + tolerance:g} x {b}", gap, at_most=0.0)
        for (a, b), gap in zip(permutations(names, 2), gaps, strict=True)
    ]
    signs = statistics.significant_signs([(gap.difference, gap.p_value) for gap in gaps])
    status = statistics.decide(supported=all(map(_is_negative, gaps)), contradicted=1 in signs)
    return Finding(status, detail, means + statistics.trim_numbers(numbers, []))


def _is_negative(gap: PairedDifference) -> bool:
    """Return whether a difference is significantly below 0, by a one-sided test at 5 %."""
    return gap.high <= 0.0 or (gap.difference < 0.0 and gap.p_value / 2.0 < LEVEL)


def identical_results(
    results: Results, metric: str, cells: Cells,
    metrics: Annotated[list[MetricName], Field(min_length=1)] | None = None,
) -> Finding:  # fmt: skip
    """Judge whether all values of some cells are equal to the last bit.

    The claim does not hold if a value differs in any replication at any checkpoint. `metrics` are
    the metrics that are compared, by default only the claim's.
    """
    first, *names = statistics.cell_names(cells, results)
    exceptions = []
    for key in metrics or [metric]:
        reference, *compared = (
            results[cell.problem].curves.values(cell.policy, key) for cell in cells
        )
        for name, values in zip(names, compared, strict=True):
            if reference.shape != values.shape:
                return Finding("undecided", f"{first} and {name} have different checkpoints")
            count = int((reference != values).any(axis=0).sum())
            text = f"replications in which {key} of {name} differs from {first}'s"
            exceptions.append(statistics.exact_number(text, count, at_most=0))
    replications = results[cells[0].problem].curves.replications
    return statistics.judge_exception_counts(exceptions, replications)


def policy_spread(
    results: Results, metric: str, problem: ProblemName, narrow: Policies, wide: Policies
) -> Finding:
    """Judge whether the choice among the policies `narrow` matters less than that among `wide`.

    The spread of a group is ln(largest mean / smallest mean) at the horizon. The claim holds if the
    interval of the spread of `wide` less the spread of `narrow` lies above 0, and does not hold if
    it lies below. The interval comes from the delta method. It takes as known which policies have
    the largest and the smallest mean.
    """
    spreads = []
    factors = []
    for group in (narrow, wide):
        ascending = sorted((results[problem].values(label, metric) for label in group), key=np.mean)
        if ascending[0].mean() == 0.0:
            return Finding("undecided", f"a mean of {', '.join(group)} is 0 at the horizon")
        spreads.append(statistics.log_quotient(ascending[-1], ascending[0]))
        name = f"largest mean / smallest mean among {', '.join(group)}"
        factors.append(statistics.number_from_log(name, mean_estimate(spreads[-1])))
    gap = mean_estimate(spreads[1] - spreads[0])
    factors.append(statistics.number_from_log("ratio of the two", gap, at_least=1.0))
    return Finding(
        statistics.decide(supported=gap.low > 0, contradicted=gap.high < 0),
        statistics.format_numbers(factors),
        tuple(factors),
    )


def different_best(
    results: Results, metric: str, policies: _TwoOrMore, here: ProblemRound, there: ProblemRound
) -> Finding:
    """Judge whether the best of `policies` differs between two problems, or two rounds of one.

    It holds if the policies with the best mean `here` and `there` differ, and each is significantly
    better than the other where it is best. It does not hold if one policy is significantly better
    than all others both `here` and `there`. All comparisons are adjusted together (Holm).
    """
    problem_rounds = (here, there)
    cases = []
    for problem_round in problem_rounds:
        pairs = [(*pair, problem_round.round) for pair in combinations(policies, 2)]
        cases += statistics.compare_pairs(results[problem_round.problem].curves, metric, pairs)
    cases = statistics.adjust_p_values(cases)
    wins = set()  # each a `ProblemRound`, the better policy, and the worse one
    differences = []
    # `here` and `there` have equally many pairs.
    case_problem_rounds = [problem_round for problem_round in problem_rounds for _ in pairs]
    for problem_round, case in zip(case_problem_rounds, cases, strict=True):
        if case.is_better:
            wins.add((problem_round, case.policy, case.rival))
        if case.is_worse:
            wins.add((problem_round, case.rival, case.policy))
        name = case.name(results[problem_round.problem].title)
        differences.append(statistics.number_of(name, case.gap))
    best_here = results[here.problem].best_of(policies, metric, here.round)
    best_there = results[there.problem].best_of(policies, metric, there.round)
    needed_wins = {(here, best_here, best_there), (there, best_there, best_here)}
    # Some policy wins against all others both here and there.
    is_same_best = any(
        all(rival == best or (p, best, rival) in wins for p in problem_rounds for rival in policies)
        for best in policies
    )
    best_word = results[here.problem].curves.metric(metric).best
    name = "places where the best policy significantly beats the best policy of the other place"
    win_count = len(needed_wins & wins)
    return Finding(
        statistics.decide(supported=needed_wins <= wins, contradicted=is_same_best),
        f"{best_word}: {here.format_name(results)}: {best_here}; {there.format_name(results)}: "
        f"{best_there}; {name}: {win_count} of 2",
        (
            statistics.exact_number(name, win_count, at_least=2),
            *statistics.trim_numbers(differences, []),
        ),
    )


def growing_lead(
    results: Results, metric: str, policy: PolicyName, others: Policies,
    x: Annotated[list[ProblemName], Field(min_length=2)], round: Checkpoint | None = None,
    at_least: Annotated[float, Field(gt=0, le=1)] = 1.0,
) -> Finding:  # fmt: skip
    r"""Judge whether ratios of others' means to a policy's mean rise from problem to problem.

    If higher is better, they are ratios of the policy's mean to others' means. `x` are the problems
    in the order in which the ratios should rise. A step is the change of one of these ratios from
    one problem to the next:
    :math:`\ln(\bar a_2 / \bar b_2) - \ln(\bar a_1 / \bar b_1)`, with the means :math:`\bar a` in
    the numerator and :math:`\bar b` in the denominator of the ratio.

    The interval of a step comes from the delta method on replications, which are paired over
    policies and problems. The claim holds if at least the share `at_least` of the steps rise
    significantly. It does not hold if so many steps fall significantly that the others are fewer
    than this share (all adjusted together, Holm). It is undecided if the 95 % interval of a mean
    reaches down to 0.
    """
    steps = []
    factors = []
    ratios = list[Number]()
    for rival in others:
        logs = list[FloatArray]()
        for key in x:
            labels = [policy, rival]  # numerator and denominator of a ratio that should rise
            if results[key].curves.metric(metric).better == "lower":
                labels.reverse()
            values = [results[key].values(label, metric, round) for label in labels]
            if any(mean_estimate(array).low <= 0.0 for array in values):
                return Finding("undecided", f"a mean on {results[key].title} may be 0")
            logs.append(statistics.log_quotient(*values))
            name = f"{' / '.join(labels)} on {results[key].title} {statistics.format_round(round)}"
            ratios.append(statistics.number_from_log(name, mean_estimate(logs[-1])))
        for (early, late), (before, after) in zip(pairwise(x), pairwise(logs), strict=True):
            # The log of the ratio of two ratios is a difference, taken replication by replication.
            steps.append(mean_estimate(after - before))
            name = f"{' / '.join(labels)} from {results[early].title} to {results[late].title}"
            factors.append(statistics.number_from_log(f"{name}, times", steps[-1], at_least=1.0))
    signs = statistics.significant_signs([(step.value, step.p_value(0.0, 0.0)) for step in steps])
    rises = signs.count(1)
    falls = signs.count(-1)
    needed = statistics.least_count(at_least, len(steps))
    # More replications may turn steps that do not clearly fall into rises.
    status = statistics.decide(supported=rises >= needed, contradicted=len(steps) - falls < needed)
    detail = statistics.format_numbers([*ratios, *factors])
    return Finding(
        status,
        f"{detail}; {rises} of {len(steps)} rise significantly ({needed} needed), {falls} fall",
        (
            *ratios,
            *factors,
            statistics.exact_number("significant rises", rises, at_least=needed),
            statistics.exact_number("significant falls", falls, at_most=len(steps) - needed),
        ),
    )
