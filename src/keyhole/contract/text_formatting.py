"""Formatting of counts, means and lists of names as English text."""

import math
from collections.abc import Sequence
from typing import Final

from keyhole.confidence_sequences.beta_mixture import beta_mixture_bounds
from keyhole.contract.reward_units import UNIT, Scale

ALPHA: Final = 0.05
"""The level of the intervals that summaries show beside means."""


def count_text(number: float, noun: str) -> str:
    """Return a count with its noun.

    Examples
    --------
    >>> count_text(1, "pull"), count_text(3.0, "pull")
    ('1 pull', '3 pulls')
    >>> count_text(2, "policy"), count_text(2, "day")
    ('2 policies', '2 days')
    >>> count_text(float("inf"), "pull")  # as a learner's file may say
    'inf pulls'
    """
    if number != 1:
        ends_in_y = noun.endswith("y") and noun[-2] not in "aeiou"
        noun = f"{noun[:-1]}ies" if ends_in_y else f"{noun}s"
    return f"{number:.0f} {noun}"


def mean_text(number: float, total: float, scale: Scale = UNIT, has_interval: bool = False) -> str:
    """Return the mean of `number` values that sum to `total`, in the user's units; "" for none.

    With `has_interval` its interval follows, which holds at all times at once; the values must be
    plain rewards of one arm then, from 0 to 1, and their number whole.

    Examples
    --------
    >>> mean_text(4, 1.0), mean_text(0, 0.0)
    (', mean 0.25', '')
    >>> mean_text(100, 42.0, has_interval=True)
    ', mean 0.42 [0.27, 0.58] at any time'
    """
    if not number:
        return ""
    mean = scale.from_unit(float(total) / float(number))
    if not (has_interval and float(number).is_integer() and 0.0 <= total <= number):
        return f", mean {mean:.3g}"
    ends = mean_interval(float(number), float(total), scale)
    return f", mean {format_interval(mean, *ends)} at any time"


def mean_interval(number: float, total: float, scale: Scale = UNIT) -> tuple[float, float]:
    """Return the interval of a mean of rewards from 0 to 1, in the user's units."""
    low, high = beta_mixture_bounds(number, total, ALPHA)
    return scale.from_unit(low), scale.from_unit(high)


def format_interval(mean: float, low: float, high: float) -> str:
    """Return a mean with its interval, rounded outwards to two digits of its width.

    Examples
    --------
    >>> format_interval(0.42, 0.27163, 0.57891), format_interval(3456.7, 3322.1, 3581.2)
    ('0.42 [0.27, 0.58]', '3457 [3322, 3582]')
    """
    places = max(0, 1 - math.floor(math.log10(high - low))) if high > low else 3
    unit = 10.0**places
    # Ends such as 1.0000000000000002 in tenths are not rounded on to the next one.
    outer = math.floor(low * unit + 1e-6) / unit, math.ceil(high * unit - 1e-6) / unit
    return f"{mean:.{places}f} [{outer[0]:.{places}f}, {outer[1]:.{places}f}]"


def join_words(words: Sequence[str]) -> str:
    """Return words as a list in a sentence.

    Examples
    --------
    >>> join_words(["pulls"]), join_words(["pulls", "totals", "index"])
    ('pulls', 'pulls, totals and index')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def capitalize(text: str) -> str:
    """Return a text that begins with a capital letter, and is otherwise unchanged.

    Examples
    --------
    >>> capitalize("regret of LSA")
    'Regret of LSA'
    """
    return f"{text[:1].upper()}{text[1:]}"
