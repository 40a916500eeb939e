"""Check that the text of a verdict agrees with its numbers."""

import math
import re

_NUMBER = r"-?(?:inf|[\d,]*\.?\d+(?:e[+-]?\d+)?)"
_INTERVAL = re.compile(rf"({_NUMBER}) \[({_NUMBER}), ({_NUMBER})\](?:, p = ({_NUMBER}))?")
_PLUS_MINUS = re.compile(rf"({_NUMBER}) ± ({_NUMBER})")
_ALWAYS = re.compile(rf"({_NUMBER}),?(?: equal)? in every run")


def written_as(text, value):
    """Return whether a text is a number, rounded."""
    if math.isinf(value):
        return float(text) == value
    digits, _, exponent = text.replace(",", "").partition("e")
    whole, _, decimals = digits.partition(".")
    zeros = 0 if decimals else len(whole) - len(whole.rstrip("0"))
    last = 10.0 ** (zeros - len(decimals) + int(exponent or 0))
    return abs(float(text.replace(",", "")) - value) <= 0.5000001 * last + 1e-9 * abs(value)


def agree(finding):
    """Refuse a finding whose text shows an interval that is not among its numbers."""
    text, numbers = finding.detail, finding.numbers
    for value, low, high, p_value in _INTERVAL.findall(text):
        assert any(
            written_as(value, n.value)
            and written_as(low, n.low)
            and written_as(high, n.high)
            and (not p_value or (n.p_value is not None and written_as(p_value, n.p_value)))
            for n in numbers
        ), f"{value} [{low}, {high}] {p_value} in {text!r} is none of {numbers}"
    for value, reach in _PLUS_MINUS.findall(text):
        assert any(
            written_as(value, n.value) and written_as(reach, (n.high - n.low) / 2) for n in numbers
        ), f"{value} ± {reach} in {text!r} is none of {numbers}"
    for value in _ALWAYS.findall(text):
        assert any(n.low == n.high == n.value and written_as(value, n.value) for n in numbers), (
            f"{value} in {text!r} is none of {numbers}"
        )
    for number in numbers:
        assert number.low <= number.value <= number.high, number
        assert all(type(end) is float for end in (number.value, number.low, number.high)), number
