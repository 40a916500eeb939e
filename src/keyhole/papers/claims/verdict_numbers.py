"""The numbers of a verdict on a claim (a paper's statement), for reports and files.

They are the estimate, its interval, and the limit that the claim sets to it.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from keyhole.papers.claims.paired_comparisons import Comparison
from keyhole.papers.verdicts import Number
from keyhole.results.estimate import Estimate, PairedDifference

_MOST: Final = 50
_LARGEST: Final = 700.0  # whose exponential is finite


def number_of(
    name: str,
    found: Estimate | PairedDifference,
    at_least: float = -math.inf,
    at_most: float = math.inf,
) -> Number:
    """Return the number of an estimate and its claimed range, or of a difference."""
    if isinstance(found, PairedDifference):
        return Number(name, found.difference, found.low, found.high, found.p_value)
    p_value = _p_value(found, at_least, at_most)
    return Number(name, found.value, found.low, found.high, p_value, at_least, at_most)


def factor_of(name: str, log: Estimate, at_least: float = 0.0, at_most: float = math.inf) -> Number:
    """Return the number of a quantity, such as a ratio, whose logarithm was estimated."""
    ends = math.log(at_least) if at_least > 0 else -math.inf, math.log(at_most)
    value, low, high = (_exp(x) for x in (log.value, log.low, log.high))
    least = at_least if at_least > 0 else -math.inf
    return Number(name, value, low, high, _p_value(log, *ends), least, at_most)


def known_number(
    name: str, value: float, at_least: float = -math.inf, at_most: float = math.inf
) -> Number:
    """Return a number that is known without error, such as a count."""
    one = float(value)
    return Number(name, one, one, one, None, at_least, at_most)


def differences(cells: Sequence[Comparison], place: str = "") -> list[Number]:
    """Return the numbers of comparisons, named by policies, problem and round."""
    return [number_of(cell.named(place), cell.gap) for cell in cells]


def format_compared(compared: Sequence[Number], shown: Sequence[Number]) -> tuple[Number, ...]:
    """Return all numbers, or of more than 50 those that the text shows."""
    return tuple(compared if len(compared) <= _MOST else shown)


def attribute_numbers(whom: str, numbers: Sequence[Number]) -> tuple[Number, ...]:
    """Return the numbers, with a policy's or problem's name before theirs."""
    return tuple(replace(number, name=f"{whom}: {number.name}") for number in numbers)


def _p_value(found: Estimate, low: float, high: float) -> float | None:
    ranged = math.isfinite(low) or math.isfinite(high)
    return found.p_value(low, high) if ranged else None


def _exp(x: float) -> float:
    return math.exp(x) if x < _LARGEST else math.inf
