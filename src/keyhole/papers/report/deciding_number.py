"""The number that decides whether a claim (statement of a paper) holds, and its small drawing."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from keyhole.metric import Metric
from keyhole.pages.interval_strip import IntervalStrip
from keyhole.papers.verdicts import Number, Verdict
from keyhole.results.estimate import format_estimate

# The sign that is claimed of paired differences, which have no range of their own: relative to the
# better side of the metric (first policy minus second), or whatever the metric is.
_BETTER_SIDE: Final = {"ordering": 1, "not-better": -1, "not-worse": -1}
_NOT_ABOVE_ZERO: Final = ("trend", "equivalence")
_RUNS: Final = "runs"  # the number of replications that a claim asks for


def deciding_number(verdict: Verdict, numbers: Sequence[Number], metric: Metric) -> Number | None:
    """Return the number that is nearest to its limit, or furthest beyond it.

    Numbers with intervals come before counts of comparisons. The difference of two policies gets
    the range that its claim is about: below 0 or above it.

    Parameters
    ----------
    verdict : Verdict
        The verdict.
    numbers : sequence of Number
        Its numbers, without those of a negative control.
    metric : Metric
        The claim's metric.
    """
    ranged = [one for one in numbers if _is_ranged(one) and one.name != _RUNS]
    measured = [one for one in ranged if one.low < one.high]
    counts = [one for one in ranged if one.low == one.high]
    compared = _with_claimed_sign(verdict.kind, numbers, metric)
    # An ordering of several policies is decided by the number of comparisons, others by one.
    groups = [measured, counts, compared] if verdict.kind == "ordering" else [
        measured, compared, counts
    ]  # fmt: skip
    found = next(filter(None, groups), [])
    return min(found, key=_margin) if found else None


def draw_deciding_number(verdict: Verdict, number: Number) -> IntervalStrip:
    """Return the drawing of a number against the limit that is claimed of it."""
    return IntervalStrip(
        value=number.value,
        low=number.low,
        high=number.high,
        at_least=number.at_least if math.isfinite(number.at_least) else None,
        at_most=number.at_most if math.isfinite(number.at_most) else None,
        status=verdict.status,
        alt=format_number(number),
    )


def format_number(number: Number) -> str:
    """Return a number with its name, its interval, its claimed range and its p-value."""
    more = []
    if _is_ranged(number):
        more.append(f"claimed: {format_range(number.at_least, number.at_most)}")
    if number.p_value is not None:
        more.append(f"p = {number.p_value:.2g}")
    text = f"{number.name}: {number}"
    return f"{text} ({'; '.join(more)})" if more else text


def _is_ranged(number: Number) -> bool:
    return math.isfinite(number.at_least) or math.isfinite(number.at_most)


def _with_claimed_sign(kind: str, numbers: Sequence[Number], metric: Metric) -> list[Number]:
    """Return the paired differences with the range that their claim is about."""
    differences = [one for one in numbers if not _is_ranged(one) and one.p_value is not None]
    if kind in _NOT_ABOVE_ZERO:
        return [replace(one, at_most=0.0) for one in differences]
    side = _BETTER_SIDE.get(kind)
    if side is None:
        return []
    if side * (1 if metric.better == "higher" else -1) > 0:
        return [replace(one, at_least=0.0) for one in differences]
    return [replace(one, at_most=0.0) for one in differences]


def _margin(number: Number) -> float:
    """Return the distance to the nearest limit in half intervals; negative beyond it."""
    distance = min(number.value - number.at_least, number.at_most - number.value)
    reach = (number.high - number.low) / 2
    # An interval that is open on one side is as precise as its other half.
    if not math.isfinite(reach):
        reach = min(number.high - number.value, number.value - number.low)
    if reach > 0:
        return distance / reach if math.isfinite(reach) else 0.0
    # A number without error: its distance is measured in units of its limits.
    limits = [abs(end) for end in (number.at_least, number.at_most) if math.isfinite(end)]
    return distance / max(1.0, *limits)


def format_range(low: float, high: float) -> str:
    """Return a claimed range in words."""
    if math.isinf(high):
        return f"at least {format_estimate(low)}"
    if math.isinf(low):
        return f"at most {format_estimate(high)}"
    return f"{format_estimate(low)} to {format_estimate(high)}"
