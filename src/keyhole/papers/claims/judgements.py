"""Judgements of claims that compare several problems or policies at once."""

import math
from dataclasses import replace
from itertools import combinations, pairwise, permutations
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims import statistics
from keyhole.papers.claims.claim import AnyClaim
from keyhole.papers.claims.statistics import Cells, Finding, Policies, Results
from keyhole.papers.entry_names import Checkpoint, MetricName, PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.simulation_plan import Plan
from keyhole.results.estimate import PairedDifference, compare, mean_estimate

_Factor = Annotated[float, Field(gt=0)]
_Two = Annotated[list[PolicyName], Field(min_length=2)]
_MOST_SHOWN: Final = 3


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
    is_clear = statistics.holm([gap.p_value for gap in gaps]) < statistics.LEVEL
    rises = [bool(c) and gap.difference < 0 for c, gap in zip(is_clear, gaps, strict=True)]
    falls = [
        # Equal in every replication, and not 0: more replications would not separate them.
        (gap.equal and b.any()) or (bool(c) and gap.difference > 0)
        for c, gap, b in zip(is_clear, gaps, values[1:], strict=True)
    ]
    names = statistics.cell_names(cells, results)
    _, text, means = statistics.format_means(names, values)
    numbers = [
        statistics.number_of(
            f"{'' if factor == 1.0 else f'{factor:g} x '}{before} minus {after}", gap
        )
        for factor, gap, (before, after) in zip(factors, gaps, pairwise(names), strict=True)
    ]
    listed_steps = [i for i in range(steps) if not rises[i]]
    ending = ". Not so: "
    if not listed_steps:
        listed_steps = [max(range(steps), key=lambda i: gaps[i].p_value)]
        ending = ", the least clear: "
    return Finding(
        statistics.decide(supported=all(rises), contradicted=any(falls)),
        f"{statistics.format_round(round)}: {text}; {sum(rises)} of {steps} steps significant"
        + ending
        + "; ".join(f"{numbers[i].name}: {gaps[i]}" for i in listed_steps),
        (*means, *statistics.limit_numbers(numbers, [numbers[i] for i in listed_steps])),
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
    means, text, numbers = statistics.format_means(names, values)
    detail = f"{statistics.format_round(round)}: {text}"
    smallest = min(mean.value for mean in means)
    if smallest < 0:
        detail += "; relative tolerances need means that are not below 0"
        return Finding("undecided", detail, numbers)
    if smallest > 0:
        ratio = max(mean.value for mean in means) / smallest
        detail += f"; largest / smallest {ratio:.3f}"
        numbers += (Number("largest / smallest", ratio),)
    excess = [compare(a, (1.0 + tolerance) * b) for a, b in permutations(values, 2)]
    numbers_of_gaps = [
        statistics.number_of(f"{a} minus {1.0 + tolerance:g} x {b}", gap)
        for (a, b), gap in zip(permutations(names, 2), excess, strict=True)
    ]
    is_clear = statistics.holm([gap.p_value for gap in excess]) < statistics.LEVEL
    beyond = [bool(c) and gap.difference > 0 for c, gap in zip(is_clear, excess, strict=True)]
    # Two one-sided tests for each pair must all succeed to hold, which needs no adjustment; one
    # success contradicts the claim, which does (Holm).
    status = statistics.decide(supported=all(map(_is_below, excess)), contradicted=any(beyond))
    return Finding(status, detail, numbers + statistics.limit_numbers(numbers_of_gaps, []))


def _is_below(gap: PairedDifference) -> bool:
    """Return whether a difference is below zero, by a one-sided test at 5 %."""
    return gap.high <= 0.0 or (gap.difference < 0.0 and gap.p_value / 2.0 < statistics.LEVEL)


def identical_results(
    results: Results, metric: str, cells: Cells,
    metrics: Annotated[list[MetricName], Field(min_length=1)] | None = None,
) -> Finding:  # fmt: skip
    """Judge whether all values of some cells are equal to the last bit.

    The claim does not hold if there is one difference, in any replication at any checkpoint.
    `metrics` are those to compare; by default the claim's.
    """
    first, *names = statistics.cell_names(cells, results)
    counts = {}
    for key in metrics or [metric]:
        ours, *theirs = (results[cell.problem].curves.values(cell.policy, key) for cell in cells)
        for name, values in zip(names, theirs, strict=True):
            if ours.shape != values.shape:
                return Finding("undecided", f"{first} and {name} have other checkpoints")
            differing = int((ours != values).any(axis=0).sum())
            text = f"{key} of {name} differs from {first}'s"
            counts[f"{text} in {differing:,} of {ours.shape[1]:,} replications"] = (
                statistics.known_number(f"replications in which {text}", differing, at_most=0)
            )
    unequal = {text: count for text, count in counts.items() if count.value}
    numbers = statistics.limit_numbers([*counts.values()], [*unequal.values()][:_MOST_SHOWN])
    if unequal:
        return Finding("does not hold", "; ".join([*unequal][:_MOST_SHOWN]), numbers)
    replications = results[cells[0].problem].curves.replications
    return Finding("holds", f"so in all of {replications:,} replications", numbers)


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
    for group in (wide, narrow):
        values = {label: results[problem].values(label, metric) for label in group}
        means = {label: float(array.mean()) for label, array in values.items()}
        top = max(means, key=means.__getitem__)
        bottom = min(means, key=means.__getitem__)
        if means[bottom] == 0.0:
            return Finding("undecided", f"{bottom} was never wrong at the horizon")
        # The influence of each replication on ln(largest / smallest): the delta method. That
        # noise may have chosen the two policies is ignored.
        influence = values[top] / means[top] - values[bottom] / means[bottom]
        spread = math.log(means[top] / means[bottom])
        spreads.append((spread, influence))
        name = f"largest mean / smallest mean among {', '.join(group)}"
        factors.append(statistics.factor_of(name, replace(mean_estimate(influence), value=spread)))
    (wide_spread, widening), (narrow_spread, narrowing) = spreads
    gap = replace(mean_estimate(widening - narrowing), value=wide_spread - narrow_spread)
    widest, narrowest = factors
    ratio = statistics.factor_of("ratio of the two", gap, at_least=1.0)
    return Finding(
        statistics.decide(supported=gap.low > 0, contradicted=gap.high < 0),
        f"largest mean / smallest mean at the horizon: {narrowest} among {', '.join(narrow)}; "
        f"{widest} among {', '.join(wide)}; ratio of the two {ratio}",
        (narrowest, widest, ratio),
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
    unadjusted = [
        cell
        for end in ends
        for cell in statistics.comparisons(
            results[end.problem].curves, metric, [(*pair, end.round) for pair in pairs]
        )
    ]
    # Both places together: the claim is about all these comparisons at once.
    cells = statistics.adjust_together(unadjusted)
    halves = cells[: len(pairs)], cells[len(pairs) :]
    cell_pairs = list(zip(*halves, strict=True))
    reversals = [(a, b) for a, b in cell_pairs if (a.better and b.worse) or (a.worse and b.better)]
    wins = [cell.policy for cell in cells if cell.better]
    wins += [cell.other for cell in cells if cell.worse]
    # A policy that beats each of the others in both places wins twice as often as it has rivals.
    is_same_best = any(wins.count(policy) == 2 * (len(policies) - 1) for policy in policies)
    first, second = (results[end.problem].best_of(policies, metric, end.round) for end in ends)
    best_pair = next(
        (pair for pair in cell_pairs if {pair[0].policy, pair[0].other} == {first, second}), ()
    )
    supported = best_pair in reversals
    best = results[here.problem].curves.metric(metric).best
    if here.problem == there.problem:
        titles = ["", ""]
        where = "early and late"
        highlights = statistics.differences(best_pair)
        detail = f"{best} at T = {here.round:,} is {first}, at T = {there.round:,} {second}"
    else:
        titles = [results[end.problem].title for end in ends]
        where = "here and there"
        highlights = []
        detail = f"{best}: {here.format_name(results)}: {first}; "
        detail += f"{there.format_name(results)}: {second}"
    detail += f"; {len(reversals)} of {len(pairs)} pairs significantly change order"
    if best_pair:
        detail += f", these two {'among them' if supported else 'not'}"
    if best_pair and here.problem == there.problem:
        detail += f": {best_pair[0]}, {best_pair[1]}"
    gaps = [gap for end in zip(halves, titles, strict=True) for gap in statistics.differences(*end)]
    numbers = (
        statistics.known_number("pairs that significantly change order", len(reversals)),
        statistics.known_number(f"of them the best {where}", supported, at_least=1),
        *statistics.limit_numbers(gaps, highlights),
    )
    status = statistics.decide(supported=supported, contradicted=is_same_best)
    return Finding(status, detail, numbers)


def wider_lead(
    results: Results, metric: str, policy: PolicyName, others: Policies, here: ProblemRound,
    there: ProblemRound, at_least: Annotated[float, Field(gt=0, le=1)] = 1.0,
) -> Finding:  # fmt: skip
    r"""Judge whether other policies are further behind a policy `here` than `there`.

    The distance is :math:`\ln(\bar y_{other} / \bar y_{policy})`, with the opposite sign where
    higher is better; the interval of the difference of two distances comes from the delta method
    on paired replications. The claim holds if the distance is significantly larger `here` for at
    least the share `at_least` of the others, and does not hold if it is significantly smaller for
    so many that the undecided ones cannot make up that share (all adjusted together, Holm).
    """
    gaps = []
    texts = []
    numbers = list[Number]()
    for rival in others:
        distances = list[FloatArray]()
        for end in (here, there):
            result = results[end.problem]
            pair = statistics.order_for_ratio(result, metric, rival, policy)
            a, b = (result.values(label, metric, end.round) for label in pair)
            above, below = float(a.mean()), float(b.mean())
            if min(above, below) <= 0.0:
                return Finding("undecided", f"{rival} or {policy} was never wrong")
            # Linearised around the means: the mean of (a / above - b / below) is 0, its error that
            # of the logarithm.
            distances.append(math.log(above / below) + (a / above - b / below))
        gaps.append(mean_estimate(distances[0] - distances[1]))
        numbers += [
            statistics.factor_of(f"{rival} in {end.format_name(results)}", mean_estimate(distance))
            for end, distance in zip((here, there), distances, strict=True)
        ]
        texts.append(f"{rival} {numbers[-2]} and {numbers[-1]}")
    p_values = [gap.p_value(0.0, 0.0) for gap in gaps]
    is_clear = statistics.holm(p_values) < statistics.LEVEL
    larger_count = sum(bool(c) and gap.value > 0 for c, gap in zip(is_clear, gaps, strict=True))
    smaller_count = sum(bool(c) and gap.value < 0 for c, gap in zip(is_clear, gaps, strict=True))
    # Rounding must not ask for one case more: 0.07 x 100 is 7.000000000000001.
    needed = math.ceil(at_least * len(gaps) - 1e-9)
    ratio = f"mean over that of {policy}"
    if results[here.problem].curves.metric(metric).better == "higher":
        ratio = f"mean of {policy} over theirs"
    detail = (
        f"{ratio} in {here.format_name(results)} and in {there.format_name(results)}: "
        f"{'; '.join(texts)}; significantly larger for {larger_count} of {len(gaps)} "
        f"({needed} needed), smaller for {smaller_count}"
    )
    for rival, gap, p_value in zip(others, gaps, p_values, strict=True):
        factor = statistics.factor_of(f"{rival}, here over there", gap, at_least=1.0)
        numbers.append(replace(factor, p_value=p_value))
    numbers.append(
        statistics.known_number("significantly larger for", larger_count, at_least=needed)
    )
    numbers.append(
        statistics.known_number(
            "significantly smaller for", smaller_count, at_most=len(gaps) - needed
        )
    )
    # Distances that are not clearly smaller may still turn out to be larger.
    status = statistics.decide(
        supported=larger_count >= needed, contradicted=len(gaps) - smaller_count < needed
    )
    return Finding(status, detail, tuple(numbers))


def growing_lead(
    results: Results, metric: str, policy: PolicyName, others: Policies,
    x: Annotated[list[ProblemName], Field(min_length=2)], round: Checkpoint | None = None,
) -> Finding:  # fmt: skip
    r"""Judge whether the ratio of others' means to a policy's rises from problem to problem.

    Where higher is better, it is the ratio of the policy's mean to theirs. `x` are the problems,
    in rising order.

    The interval of each step, of :math:`\ln(\bar a_2 / \bar b_2) - \ln(\bar a_1 / \bar b_1)` with
    means :math:`\bar a` of another policy and :math:`\bar b` of this one, comes from the delta
    method on replications that are paired over policies and problems. The claim holds if every
    interval is above 0, and does not hold if some step is significantly below (adjusted by Holm).
    Where a mean may be 0, the claim is undecided.
    """
    titles = [results[key].title for key in x]
    steps = []
    texts = []
    numbers = []
    factors = []
    for rival in others:
        logs = list[FloatArray]()
        for key in x:
            pair = statistics.order_for_ratio(results[key], metric, rival, policy)
            values = [results[key].values(label, metric, round) for label in pair]
            if any(mean_estimate(array).low <= 0.0 for array in values):
                return Finding("undecided", f"a mean on {results[key].title} may be 0")
            logs.append(statistics.log_quotient(*values))
        ratio = " / ".join(pair)
        levels = [
            statistics.factor_of(f"{ratio} on {title}", mean_estimate(log))
            for title, log in zip(titles, logs, strict=True)
        ]
        listed = [f"{level} on {title}" for level, title in zip(levels, titles, strict=True)]
        texts.append(f"{ratio} {', '.join(listed)}")
        numbers += levels
        for (early, late), (a, b) in zip(pairwise(titles), pairwise(logs), strict=True):
            # The ratio of two ratios is a difference of logarithms, which replications pair.
            steps.append(mean_estimate(b - a))
            name = f"{ratio} from {early} to {late}, times"
            factors.append(statistics.factor_of(name, steps[-1], at_least=1.0))
    times = ", ".join(map(str, factors))
    return Finding(
        statistics.judge_ranges([(step, 0.0, math.inf) for step in steps]),
        f"{statistics.format_round(round)}: {'; '.join(texts)}; from one to the next times {times}",
        (*numbers, *factors),
    )
