"""Quantities that claims (statements of a paper) are about, such as a mean or a ratio of means.

Of each: how it is estimated from simulations, compared with the claimed range, and reported.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from keyhole.papers.claims.base import Finding, Result, decide, format_round
from keyhole.papers.claims.bounds import bound_of
from keyhole.papers.claims.cells import Cell, cell_names
from keyhole.papers.claims.claimed_ranges import format_range, is_inside, log_range, or_infinite
from keyhole.papers.claims.estimate_fields import EstimateFields, Quantity
from keyhole.papers.claims.ratio_estimates import log_deviation_ratio, log_quotient, ratio_of
from keyhole.papers.claims.verdict_numbers import (
    factor_of,
    format_compared,
    known_number,
    number_of,
)
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, format_estimate, mean_estimate, share_estimate


class _Compared(NamedTuple):
    """An estimate and its range, on the scale of the test, with what is said of it."""

    estimate: Estimate
    low: float
    high: float
    text: str
    numbers: Sequence[Number]


def _finding(head: str, compared: Sequence[_Compared]) -> Finding:
    status = is_inside([(one.estimate, one.low, one.high) for one in compared])
    numbers = tuple(number for one in compared for number in one.numbers)
    return Finding(status, head + "; ".join(one.text for one in compared), numbers)


def _compared(name: str, found: Estimate, low: float, high: float, text: str) -> _Compared:
    return _Compared(
        found, low, high, f"{text}{format_range(low, high)}", [number_of(name, found, low, high)]
    )


def _mean(claim: EstimateFields, result: Result, policy: str) -> Finding:
    found = []
    for t, low, high in claim.ranges:
        mean = result.estimate(policy, claim.metric, t)
        found.append(
            _compared(f"mean {format_round(t)}", mean, low, high, f"{format_round(t)}: {mean}")
        )
    return _finding(f"{claim.title(result)} ", found)


def _proportion(claim: EstimateFields, result: Result, policy: str) -> Finding:
    found = []
    least, most = or_infinite(claim.metric_low, claim.metric_high)
    for t, low, high in claim.ranges:
        values = result.values(policy, claim.metric, t)
        share = share_estimate(((least <= values) & (values <= most)).astype(float))
        text = f"{share.count:,} of {share.replications:,} replications {format_round(t)}: {share}"
        found.append(_compared(f"share of replications {format_round(t)}", share, low, high, text))
    return _finding(f"{claim.title(result)} in the range in ", found)


def _growth(claim: EstimateFields, result: Result, policy: str) -> Finding:
    if claim.ratio_to is not None:
        return _growth_of_ratio(claim, result, (policy, claim.ratio_to))
    _, low, high = claim.ranges[0]
    values = [result.values(policy, claim.metric, t) for t in claim.ends]
    found = ratio_of(values[1], values[0])
    if found is None:
        return Finding("undecided", f"the mean may be 0 {format_round(claim.early)}")
    late, early = ((mean_estimate(values[i]), format_round(claim.ends[i])) for i in (1, 0))
    numbers = [number_of(f"mean {at}", mean) for mean, at in (late, early)]
    text = f"{late[0]} {late[1]}, {early[0]} {early[1]}; ratio {found}"
    ratio = _compared("ratio of means", found, low, high, text)
    return _finding(f"{claim.title(result)} ", [ratio._replace(numbers=[*numbers, *ratio.numbers])])


def _growth_of_ratio(claim: EstimateFields, result: Result, policies: tuple[str, str]) -> Finding:
    """Compare two ratios of means on the scale of logarithms."""
    _, low, high = claim.ranges[0]
    name = " / ".join(policies)
    logs, ratios = [], list[Number]()
    for t in claim.ends[::-1]:
        both = [result.values(one, claim.metric, t) for one in policies]
        # Logarithms of means need means that are clearly above 0.
        if any(mean_estimate(one).low <= 0.0 for one in both):
            return Finding("undecided", f"a mean may be 0 {format_round(t)}")
        logs.append(log_quotient(*both))
        ratios.append(factor_of(f"{name} {format_round(t)}", mean_estimate(logs[-1])))
    # On logarithms the quotient of two ratios is a difference, which replications pair.
    step = mean_estimate(logs[0] - logs[1])
    factor = factor_of("from the early to the late, times", step, low, high)
    late, early = ratios
    text = (
        f"{late} {format_round(claim.late)}, {early} {format_round(claim.early)}; "
        f"from the early to the late times {factor}{format_range(low, high)}"
    )
    return _finding(
        f"{name} ", [_Compared(step, *log_range(low, high), text, [late, early, factor])]
    )


def _gain(claim: EstimateFields, result: Result, policy: str) -> Finding:
    _, low, high = claim.ranges[0]
    a, b = claim.ends
    units, words = 1.0, "gain"
    if claim.of == "slope":
        units, words = math.log(b / a), "slope in ln T"
    elif claim.each_round:
        units, words = float(b - a), "gain a round"
    early, late = (result.values(policy, claim.metric, t) for t in claim.ends)
    # Paired: each replication has its own gain.
    found = mean_estimate((late - early) / units)
    words, said, numbers = f"{words} from T = {a:,} to {b:,}", format_range(low, high), []
    if claim.bound is not None:
        # The bound is the claim's own policy's, for a negative control too.
        values = [bound_of(claim.bound, claim.policy or "", result, t) for t in claim.ends]
        rise = (values[1] - values[0]) / units
        if not rise > 0.0:
            return Finding("undecided", f"the bound gains nothing: {rise:g}")
        multiples = said.removeprefix(" (claimed: ").removesuffix(")")
        said = f" (that of the bound is {rise:.4g}; claimed: {multiples} times)"
        low, high = low * rise, high * rise
        numbers = [known_number("that of the bound", rise)]
    numbers = [number_of(words, found, low, high), *numbers]
    return _finding("", [_Compared(found, low, high, f"{words}: {found}{said}", numbers)])


def _level(claim: EstimateFields, result: Result, policy: str) -> Finding:
    rounds, levels = claim.rounds or [], claim.levels or []
    limit = claim.std_errors or 0.0
    errors = claim.level_errors if isinstance(claim.level_errors, list) else [claim.level_errors]
    # One error stands for all rounds.
    errors = errors * (len(rounds) // len(errors))
    found, numbers, furthest = list[str](), list[Number](), 0.0
    for t, level, error in zip(rounds, levels, errors, strict=True):
        number, at = mean_estimate(result.values(policy, claim.metric, t)), f"T = {t:,}"
        if claim.scale != "mean":
            if number.value <= 0.0:
                detail = f"the mean at {at} has no logarithm: {number}"
                return Finding("undecided", detail, (number_of(f"mean at {at}", number),))
            log = math.log(number.value / result.arms)  # its error is that of the delta method
            number = Estimate(log, number.error / number.value, number.replications)
        # Levels that are read from a figure, or simulated by another program, have errors too.
        noise = math.hypot(number.error, error)
        if noise == 0.0 or math.isinf(noise):
            detail = f"without a standard error at {at}: {number}"
            return Finding("undecided", detail, (number_of(f"{claim.scale} at {at}", number),))
        distance = abs(number.value - level) / noise
        furthest = max(furthest, distance)
        found.append(f"{at}: {number}, {distance:.1f} s.e. from {level:.4g}")
        numbers += [
            number_of(f"{claim.scale} at {at}", number),
            known_number(f"s.e. from {level:.4g} at {at}", distance, at_most=limit),
        ]
    status = decide(supported=furthest <= limit, contradicted=furthest > limit)
    return Finding(status, "; ".join(found), tuple(numbers))


def _log_endpoint(claim: EstimateFields, result: Result, policy: str) -> Finding:
    _, least, most = claim.ranges[0]
    ends = {p: mean_estimate(result.values(p, claim.metric)) for p in result.curves.labels}
    lowest = min(ends, key=lambda one: ends[one].value)
    number = ends[policy or lowest]
    low, value, high = (
        math.log(end / result.arms) if end > 0.0 else -math.inf
        for end in (number.low, number.value, number.high)
    )
    status = decide(supported=least < low and high < most, contradicted=high < least or low > most)
    end = Number(f"end of {policy or lowest}", value, low, high, None, least, most)
    return Finding(status, f"{policy or f'the lowest, {lowest},'} ends at {end}", (end,))


def _value(claim: EstimateFields, result: Result, policy: str) -> Finding:
    curves, counts = result.curves, dict[str, Number]()
    labels = [policy] if policy else list(curves.labels)
    for label in labels:
        off = (curves.values(label, claim.metric) != claim.value).any(axis=0).sum()
        counts[label] = known_number(f"replications of {label} in which not so", off, at_most=0)
    wrong = [label for label, count in counts.items() if count.value]
    numbers = format_compared(list(counts.values()), [counts[label] for label in wrong])
    if wrong:
        return Finding("does not hold", f"not so for {', '.join(wrong)}", numbers)
    each = f" of each of {len(labels)} policies" if len(labels) > 1 else ""
    return Finding("holds", f"so in all of {curves.replications:,} replications{each}", numbers)


def _ratio(
    claim: EstimateFields, results: Mapping[str, Result], cells: tuple[Cell, Cell]
) -> Finding:
    one, other = cell_names(cells, results)
    words = f"{one} {'/' if claim.of == 'ratio' else 'less'} {other}"
    found = []
    for t, low, high in claim.ranges:
        a, b = (cell.values(results, claim.metric, t) for cell in cells)
        number = ratio_of(a, b) if claim.of == "ratio" else mean_estimate(a - b)
        if number is None:
            return Finding("undecided", f"the mean of {other} may be 0 {format_round(t)}")
        found.append(
            _compared(
                f"{words} {format_round(t)}", number, low, high, f"{format_round(t)}: {number}"
            )
        )
    return _finding(f"{words} ", found)


def _deviation_ratio(
    claim: EstimateFields, results: Mapping[str, Result], cells: tuple[Cell, Cell]
) -> Finding:
    called, found = cell_names(cells, results), []
    words = f"deviation of {' / '.join(called)}"
    for t, low, high in claim.ranges:
        a, b = (cell.values(results, claim.metric, t) for cell in cells)
        log = log_deviation_ratio(a, b)
        if log is None:
            return Finding(
                "undecided", f"{' or '.join(called)} does not vary enough {format_round(t)}"
            )
        ratio = factor_of(f"{words} {format_round(t)}", log, low, high)
        deviations = [float(values.std(ddof=1)) for values in (a, b)]
        quotient = " / ".join(format_estimate(one, one / 10) for one in deviations)
        text = f"{format_round(t)}: {quotient} = {ratio}{format_range(low, high)}"
        numbers = [
            Number(f"deviation of {name} {format_round(t)}", one)
            for name, one in zip(called, deviations, strict=True)
        ]
        found.append(_Compared(log, *log_range(low, high), text, [*numbers, ratio]))
    return _finding(f"{words} ", found)


def _gain_ratio(
    claim: EstimateFields, results: Mapping[str, Result], cells: tuple[Cell, Cell]
) -> Finding:
    (early, late), (_, low, high) = claim.ends, claim.ranges[0]
    one, other = cell_names(cells, results)
    gains = [
        cell.values(results, claim.metric, late) - cell.values(results, claim.metric, early)
        for cell in cells
    ]
    found, words = ratio_of(*gains), f"from T = {early:,} to {late:,}"
    if found is None:
        return Finding("undecided", f"the mean gain of {other} may be 0 {words}")
    name = f"gain of {one} / gain of {other} {words}"
    return _finding("", [_compared(name, found, low, high, f"{name}: {found}")])


_JudgeOne = Callable[[EstimateFields, Result, str], Finding]
_JudgeTwo = Callable[[EstimateFields, Mapping[str, Result], tuple[Cell, Cell]], Finding]

JUDGE_POLICY: Final[dict[Quantity, _JudgeOne]] = {
    "mean": _mean,
    "proportion": _proportion,
    "growth": _growth,
    "gain": _gain,
    "slope": _gain,
    "level": _level,
    "log-endpoint": _log_endpoint,
    "value": _value,
}
"""The judgement of a quantity of one policy on one problem."""

JUDGE_TWO_CELLS: Final[dict[Quantity, _JudgeTwo]] = {
    "ratio": _ratio,
    "difference": _ratio,
    "deviation-ratio": _deviation_ratio,
    "gain-ratio": _gain_ratio,
}
"""The judgement of a quantity of two cells."""
