"""Ranges in which, as claims (statements of a paper) say, an estimate lies: checks, text, test."""

import math
from collections.abc import Sequence

from keyhole.papers.claims.base import decide
from keyhole.papers.claims.paired_comparisons import LEVEL, holm
from keyhole.papers.verdicts import Status
from keyhole.results.estimate import Estimate, format_estimate

End = float | list[float] | None
"""An end of a range: one for all rounds, one for each, or None where it is open."""
Ranges = list[tuple[int | None, float, float]]
"""Rounds, None for the last, with the ends of a range at each; an open end is infinite."""


def check_ends(low_name: str, low: End, high_name: str, high: End, count: int = 1) -> None:
    """Refuse ends that are not one for each of `count` rounds, and ranges that are empty."""
    for name, end in ((low_name, low), (high_name, high)):
        if isinstance(end, list) and len(end) != count:
            raise ValueError(f"{name} must have one number for each round, {count}, got {end}")
    if low is None and high is None:
        raise ValueError(f"{low_name} or {high_name} must be given")
    for _, least, most in each_range([None] * count, low, high):
        if most < least:
            raise ValueError(f"{high_name} must be at least {low_name}, {least:g}, got {most:g}")


def each_range(rounds: Sequence[int | None] | None, low: End, high: End) -> Ranges:
    """Return each of some rounds, by default the last, with its range."""
    rounds = rounds or [None]
    ends = [end if isinstance(end, list) else [end] * len(rounds) for end in (low, high)]
    return [(t, *or_infinite(*pair)) for t, *pair in zip(rounds, *ends, strict=True)]


def or_infinite(low: float | None, high: float | None) -> tuple[float, float]:
    """Return the ends of a range; one that is not given is infinite."""
    return -math.inf if low is None else low, math.inf if high is None else high


def log_range(low: float, high: float) -> tuple[float, float]:
    """Return the logarithms of the ends of a range of factors."""
    return math.log(low) if low > 0.0 else -math.inf, math.log(high)


def format_claimed(low: float, high: float) -> str:
    """Return a range as the text of a verdict states it."""
    return f" (claimed: {format_range(low, high)})"


def format_range(low: float, high: float) -> str:
    """Return a claimed range in words."""
    if math.isinf(high):
        return f"at least {format_estimate(low)}"
    if math.isinf(low):
        return f"at most {format_estimate(high)}"
    return f"{format_estimate(low)} to {format_estimate(high)}"


def is_inside(found: Sequence[tuple[Estimate, float, float]]) -> Status:
    """Decide whether estimates lie in their ranges, whose ends may be infinite.

    They do if every 95 % interval lies in its range, and they do not if some estimate is
    significantly outside (adjusted by Holm): of a single one, if its interval lies outside.
    """
    # An intersection-union test needs no adjustment to hold: every interval must be inside. One
    # outside is enough to contradict it, so these are adjusted for the number of rounds.
    p_values = [number.p_value(low, high) for number, low, high in found]
    return decide(
        supported=all(low <= number.low and number.high <= high for number, low, high in found),
        contradicted=bool((holm(p_values) < LEVEL).any()),
    )
