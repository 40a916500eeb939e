"""Judgements of claims that an estimate, such as a mean or a ratio, lies in a range."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Annotated, Final, NamedTuple

from pydantic import AfterValidator

from keyhole.contract.state_arrays import FloatArray
from keyhole.papers.claims import statistics
from keyhole.papers.claims.bounds import BoundName, bound_from_results, check_bound
from keyhole.papers.claims.claim import AnyClaim, require_negative_control
from keyhole.papers.claims.statistics import Cell, End, Finding, Ranges, Results, Rounds
from keyhole.papers.field_types import Checkpoint, PolicyName, ProblemName
from keyhole.papers.verdicts import Number
from keyhole.play.simulation_plan import Plan
from keyhole.results.estimate import Estimate, mean_estimate, share_estimate
from keyhole.validation import Range, check_number


def _end_validator(allowed: Range) -> AfterValidator:
    """Return a validator of the end of a range, which refuses numbers that are not allowed."""

    def validate_end(end: End) -> End:
        # The name is empty, since messages of Pydantic begin with the path of the field.
        for number in statistics.as_list(end):
            if number is not None:
                check_number("", number, allowed)
        return end

    return AfterValidator(validate_end)


_Share = Annotated[End, _end_validator(Range(ge=0, le=1))]
_Factor = Annotated[End, _end_validator(Range(gt=0))]


class _RangeTest(NamedTuple):
    """An estimate with its claimed range (or the logarithms of both), its text and its numbers."""

    estimate: Estimate
    low: float
    high: float
    text: str
    numbers: Sequence[Number]


def _judge_estimates(head: str, tests: Sequence[_RangeTest]) -> Finding:
    """Judge whether estimates, one for each round, lie in their claimed ranges.

    The claim holds if the 95 % interval lies in the range at every round. With one round, it does
    not hold if the interval lies outside the range; with several rounds, it does not hold if an
    estimate is significantly outside (adjusted by Holm). `head` begins the text.
    """
    status = statistics.judge_ranges([test[:3] for test in tests])
    numbers = tuple(number for test in tests for number in test.numbers)
    return Finding(status, head + "; ".join(test.text for test in tests), numbers)


def _range_test(name: str, estimate: Estimate, low: float, high: float, text: str) -> _RangeTest:
    """Return the test of an estimate on its own scale; the range is added to `text`."""
    text += statistics.bracket_range(low, high)
    return _RangeTest(estimate, low, high, text, [statistics.number_of(name, estimate, low, high)])


def _judge_by_round(
    name: str, ranges: Ranges, estimate_at: Callable[[int | None], Estimate | None],
    *, head: str, undefined: str = "",
) -> Finding:  # fmt: skip
    """Judge the estimates at the rounds of `ranges`; `head` begins the text.

    If `estimate_at` returns None for a round, the claim is undecided, for the reason `undefined`.
    """
    tests = []
    for t, floor, ceiling in ranges:
        when = statistics.format_round(t)
        estimate = estimate_at(t)
        if estimate is None:
            return Finding("undecided", f"{undefined} {when}")
        tests.append(_range_test(f"{name} {when}", estimate, floor, ceiling, f"{when}: {estimate}"))
    return _judge_estimates(f"{head} ", tests)


def judge_mean(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    rounds: Rounds | None = None, low: End = None, high: End = None,
) -> Finding:  # fmt: skip
    """Judge the mean of the metric of a `policy` on a `problem`."""
    ranges = statistics.rounds_with_ranges(rounds, low, high)
    estimate_at = partial(results[problem].estimate, policy, metric)
    title = results[problem].curves.metric(metric).title
    return _judge_by_round("mean", ranges, estimate_at, head=title)


def check_mean(claim: AnyClaim, plan: Plan) -> None:
    """Require a negative control where the range is open on one side."""
    if None in (claim.low, claim.high):
        require_negative_control(claim)


def judge_proportion(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName,
    rounds: Rounds | None = None, low: _Share = None, high: _Share = None,
    metric_low: float | None = None, metric_high: float | None = None,
) -> Finding:  # fmt: skip
    """Judge the share of replications whose metric lies between `metric_low` and `metric_high`.

    The interval is exact (Clopper and Pearson, 1934). Even if all n replications are in this range,
    the lower end of the interval is only 0.025 to the power 1/n.
    """
    result = results[problem]
    tests = []
    at_least, at_most = statistics.make_open_ends_infinite(metric_low, metric_high)
    for t, floor, ceiling in statistics.rounds_with_ranges(rounds, low, high):
        values = result.values(policy, metric, t)
        when = statistics.format_round(t)
        share = share_estimate(((at_least <= values) & (values <= at_most)).astype(float))
        text = f"{share.count:,} of {share.replications:,} replications {when}: {share}"
        tests.append(_range_test(f"share of replications {when}", share, floor, ceiling, text))
    return _judge_estimates(f"{result.curves.metric(metric).title} within the range in ", tests)


def check_proportion(claim: AnyClaim, plan: Plan) -> None:
    """Require a negative control where the range of the metric is open on one side."""
    if None in (claim.metric_low, claim.metric_high):
        require_negative_control(claim)


def judge_growth(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName, early: Checkpoint,
    late: Checkpoint, ratio_to: PolicyName | None = None, low: _Factor = None, high: _Factor = None,
) -> Finding:  # fmt: skip
    """Judge the factor by which a mean, or its ratio to `ratio_to`'s, grows from `early` to `late`.

    The factor is the value at `late` divided by the value at `early`; the value is the mean, or its
    ratio to the mean of `ratio_to`. The interval of the factor comes from the delta method. The
    claim is undecided if the 95 % interval of the mean at `early` contains 0. If `ratio_to` is
    given, it is undecided if the interval of any of the four means reaches down to 0.
    """
    result = results[problem]
    ((_, floor, ceiling),) = statistics.rounds_with_ranges(None, low, high)
    round_texts = [statistics.format_round(t) for t in (late, early)]
    if ratio_to is None:
        quotient = statistics.ratio_of(*(result.values(policy, metric, t) for t in (late, early)))
        if quotient is None:
            return Finding("undecided", f"the mean may be 0 {round_texts[1]}")
        name = f"mean {round_texts[0]} / mean {round_texts[1]}"
        test = _range_test(name, quotient, floor, ceiling, f"{name}: {quotient}")
        return _judge_estimates("", [test])
    # Two ratios of means are compared on the scale of logarithms.
    name = f"{policy} / {ratio_to}"
    logs = []
    numbers = []
    for t, when in zip((late, early), round_texts, strict=True):
        pair = [result.values(label, metric, t) for label in (policy, ratio_to)]
        # A logarithm needs a mean that is clearly above 0.
        if any(mean_estimate(array).low <= 0.0 for array in pair):
            return Finding("undecided", f"a mean may be 0 {when}")
        logs.append(statistics.log_quotient(*pair))
        numbers.append(statistics.number_from_log(f"{name} {when}", mean_estimate(logs[-1])))
    # The logarithm of the quotient of two ratios is a difference, which is paired by replication.
    step = mean_estimate(logs[0] - logs[1])
    factor = statistics.number_from_log("late ratio / early ratio", step, floor, ceiling)
    text = (
        f"{numbers[0]} {round_texts[0]}, {numbers[1]} {round_texts[1]}; "
        f"late ratio / early ratio {factor}{statistics.bracket_range(floor, ceiling)}"
    )
    test = _RangeTest(step, *statistics.log_range(floor, ceiling), text, [*numbers, factor])
    return _judge_estimates(f"{name} ", [test])


def check_growth(claim: AnyClaim, plan: Plan) -> None:
    """Refuse the ratio of a policy to itself."""
    if claim.ratio_to is not None and claim.ratio_to in (claim.policy, claim.negative_control):
        raise ValueError(f"ratio_to must be another policy, got {claim.ratio_to!r}")


def judge_gain(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName, claimed_policy: str,
    early: Checkpoint, late: Checkpoint, low: End = None, high: End = None,
    bound: BoundName | None = None,
) -> Finding:  # fmt: skip
    """Judge the mean at `late` less the mean at `early`.

    Costs before `early`, such as those of a search, do not change this gain. With a `bound`, the
    ends of the range are multiples of the gain of the bound from `early` to `late`. The bound is
    that of `claimed_policy`, also where a negative control takes its place as `policy`.
    """
    result = results[problem]
    ((_, floor, ceiling),) = statistics.rounds_with_ranges(None, low, high)
    before, after = (result.values(policy, metric, t) for t in (early, late))
    # Paired: each replication has its own gain.
    estimate = mean_estimate(after - before)
    name = f"gain from T = {early:,} to {late:,}"
    claim_text = statistics.bracket_range(floor, ceiling)
    bound_numbers = list[Number]()
    if bound is not None:
        values = [bound_from_results(bound, claimed_policy, result, t) for t in (early, late)]
        rise = values[1] - values[0]
        if not rise > 0.0:
            return Finding("undecided", f"the bound gains nothing: {rise:g}")
        multiples = statistics.describe_range(floor, ceiling)
        claim_text = f" (the bound gains {rise:.4g}; claimed: {multiples} times as much)"
        floor, ceiling = floor * rise, ceiling * rise
        bound_numbers = [statistics.exact_number("gain of the bound", rise)]
    numbers = [statistics.number_of(name, estimate, floor, ceiling), *bound_numbers]
    text = f"{name}: {estimate}{claim_text}"
    return _judge_estimates("", [_RangeTest(estimate, floor, ceiling, text, numbers)])


def check_gain(claim: AnyClaim, plan: Plan) -> None:
    """Refuse a bound that is of another setting, or is not finite at both checkpoints."""
    if claim.bound is not None:
        check_bound(claim.bound, claim.policy, plan, (claim.early, claim.late))


def judge_level(
    results: Results, metric: str, problem: ProblemName, policy: PolicyName, rounds: Rounds,
    levels: list[float], std_errors: float, level_errors: float | list[float] = 0.0,
) -> Finding:  # fmt: skip
    """Judge whether the logarithm ln(mean / arms) is near `levels` at `rounds`.

    The claim holds if at every round the distance of the logarithm from the level is at most
    `std_errors` standard errors of their difference; else it does not hold. It is undecided if a
    mean is not above 0, or if the standard error of a difference is 0 or infinite. `level_errors`
    are the standard errors of the levels themselves: one for all of them, or one for each.
    """
    errors = statistics.as_list(level_errors, len(rounds))
    texts = []
    numbers = []
    furthest = 0.0
    for t, expected, error in zip(rounds, levels, errors, strict=True):
        estimate = mean_estimate(results[problem].values(policy, metric, t))
        when = f"T = {t:,}"
        if not (estimate.value > 0.0 and 0.0 < math.hypot(estimate.error, error) < math.inf):
            detail = f"the mean at {when} is 0, or has no standard error: {estimate}"
            number = statistics.number_of(f"mean at {when}", estimate)
            return Finding("undecided", detail, (number,))
        log = math.log(estimate.value / results[problem].arms)
        # The error of the logarithm comes from the delta method.
        estimate = Estimate(log, estimate.error / estimate.value, estimate.replications)
        # A level that was read from a figure, or simulated by another program, has an error too.
        noise = math.hypot(estimate.error, error)
        distance = abs(estimate.value - expected) / noise
        furthest = max(furthest, distance)
        texts.append(f"{when}: {estimate}, {distance:.1f} s.e. from {expected:.4g}")
        numbers += [
            statistics.number_of(f"ln(mean / arms) at {when}", estimate),
            statistics.exact_number(
                f"s.e. from {expected:.4g} at {when}", distance, at_most=std_errors
            ),
        ]
    status = statistics.decide(supported=furthest <= std_errors, contradicted=furthest > std_errors)
    return Finding(status, "; ".join(texts), tuple(numbers))


def check_level(claim: AnyClaim, plan: Plan) -> None:
    """Refuse lists of levels or errors without one for each round, and errors below 0."""
    count = len(claim.rounds)
    for name in ("levels", "level_errors"):
        numbers = getattr(claim, name)
        if isinstance(numbers, list) and len(numbers) != count:
            raise ValueError(f"{name} must have one number for each round, {count}, got {numbers}")
    if min(statistics.as_list(claim.level_errors)) < 0.0:
        raise ValueError(f"level_errors must be at least 0, got {claim.level_errors}")


def judge_ratio(
    results: Results, metric: str, cell: Cell, over: Cell,
    rounds: Rounds | None = None, since: Checkpoint | None = None,
    low: End = None, high: End = None,
) -> Finding:  # fmt: skip
    """Judge the ratio of two cells' means, `cell` over `over`, or of their gains `since` a round.

    A cell is one policy on one problem. The interval comes from the delta method. The claim is
    undecided if the 95 % interval of the denominator contains 0.
    """
    ranges = statistics.rounds_with_ranges(rounds, low, high)
    return _judge_comparison(results, metric, (cell, over), ranges, "/", statistics.ratio_of, since)


def check_ratio(claim: AnyClaim, plan: Plan) -> None:
    """Refuse gains since a checkpoint that is not before all rounds."""
    if claim.since is not None and claim.since >= min(claim.rounds or [plan.horizon]):
        raise ValueError(f"since must be before each round, got {claim.since}")


def judge_difference(
    results: Results, metric: str, cell: Cell, over: Cell,
    rounds: Rounds | None = None, low: End = None, high: End = None,
) -> Finding:  # fmt: skip
    """Judge the difference of two cells' means: `cell` less `over`."""
    ranges = statistics.rounds_with_ranges(rounds, low, high)
    return _judge_comparison(
        results, metric, (cell, over), ranges, "less", lambda a, b: mean_estimate(a - b)
    )


def _judge_comparison(
    results: Results, metric: str, cells: tuple[Cell, Cell], ranges: Ranges, sign: str,
    compare: Callable[[FloatArray, FloatArray], Estimate | None], since: int | None = None,
) -> Finding:  # fmt: skip
    """Judge the estimates that `compare` makes of the values of two cells.

    With `since`, the gains of the cells since that round are compared. In texts, `sign` stands
    between the names of the two cells.
    """
    names = statistics.cell_names(cells, results)
    if since is not None:
        names = [f"gain of {name} since T = {since:,}" for name in names]
    name = f"{names[0]} {sign} {names[1]}"

    def compare_at(t: int | None) -> Estimate | None:
        values = [cell.values(results, metric, t) for cell in cells]
        if since is not None:
            early_values = (cell.values(results, metric, since) for cell in cells)
            values = [late - early for late, early in zip(values, early_values, strict=True)]
        return compare(*values)

    reason = f"the mean of {names[1]} may be 0"
    return _judge_by_round(name, ranges, compare_at, head=name, undefined=reason)


def judge_deviation_ratio(
    results: Results, metric: str, cell: Cell, over: Cell,
    rounds: Rounds | None = None, low: _Factor = None, high: _Factor = None,
) -> Finding:  # fmt: skip
    """Judge the ratio of two cells' standard deviations: `cell` over `over`.

    The interval comes from the jackknife of the ratio's logarithm (Miller 1968, "Jackknifing
    variances"), which needs no normal distribution. The claim is undecided if there are fewer than
    three replications, or if a cell has the same value in all replications, or in all but one.
    """
    names = statistics.cell_names((cell, over), results)
    name = f"deviation of {' / '.join(names)}"
    tests = []
    for t, floor, ceiling in statistics.rounds_with_ranges(rounds, low, high):
        values = [operand.values(results, metric, t) for operand in (cell, over)]
        when = statistics.format_round(t)
        log = statistics.log_deviation_ratio(*values)
        if log is None:
            return Finding("undecided", f"{' or '.join(names)} does not vary enough {when}")
        quotient = statistics.number_from_log(f"{name} {when}", log, floor, ceiling)
        text = f"{when}: {quotient}{statistics.bracket_range(floor, ceiling)}"
        tests.append(_RangeTest(log, *statistics.log_range(floor, ceiling), text, [quotient]))
    return _judge_estimates(f"{name} ", tests)


def judge_value(
    results: Results, metric: str, problem: ProblemName, value: float,
    policy: PolicyName | None = None,
) -> Finding:  # fmt: skip
    """Judge whether the metric is `value` in all replications, for one `policy` or for all."""
    curves = results[problem].curves
    exceptions = [
        statistics.exact_number(
            f"replications of {label} with another value",
            (curves.values(label, metric) != value).any(axis=0).sum(),
            at_most=0,
        )
        for label in ([policy] if policy else curves.labels)
    ]
    return statistics.judge_exception_counts(exceptions, curves.replications)


QUANTITIES: Final[dict[str, Callable[..., Finding]]] = {
    judgement.__name__.removeprefix("judge_").replace("_", "-"): judgement
    for judgement in (
        judge_mean, judge_proportion, judge_growth, judge_gain, judge_level, judge_ratio,
        judge_difference, judge_deviation_ratio, judge_value,
    )
}  # fmt: skip
"""The judgement of each quantity that the field `of` of a claim of the kind estimate may name."""
