"""Durations as they are typed and printed, such as 90s and 1h30m."""

import re
from datetime import timedelta
from typing import Any, Final

from keyhole.validation import short_repr

_TYPED_UNITS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+|\d+(?:\.\d+)?")
_SHOWN_UNITS: Final = ((86_400.0, "days"), (3600.0, "h"), (60.0, "min"))
_MIN_WHOLE_SECONDS: Final = 9.95  # from here on, whole seconds have two digits


def parse_seconds(name: str, text: str) -> float:
    """Return the seconds of a text such as 90, 90s or 1h30m; `name` is for errors.

    Examples
    --------
    >>> [parse_seconds("--budget", text) for text in ("90", "1h30m", "0.5d")]
    [90.0, 5400.0, 43200.0]
    """
    text = text.strip()
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{name} must be like 90s, 30m, 2h or 1d12h, got {short_repr(text)}")
    if text[-1] not in _TYPED_UNITS:
        return float(text)
    numbers_and_units = re.findall(r"([\d.]+)([smhd])", text)
    return sum(float(number) * _TYPED_UNITS[unit] for number, unit in numbers_and_units)


def to_seconds(name: str, duration: Any) -> Any:
    """Return the seconds of a text or a `timedelta`; return any other value as it is, unchecked.

    Examples
    --------
    >>> [to_seconds("timeout", duration) for duration in ("7d", timedelta(hours=1), 90)]
    [604800.0, 3600.0, 90]
    """
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    return parse_seconds(name, duration) if isinstance(duration, str) else duration


def format_duration(seconds: float) -> str:
    """Return a duration as text, with about two digits.

    Examples
    --------
    >>> [format_duration(seconds) for seconds in (0.213, 1.34, 42.4, 500, 9000)]
    ['0.21 s', '1.3 s', '42 s', '8.3 min', '2.5 h']
    """
    length, unit = duration_unit(seconds)
    if length > 1.0:
        return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.2g} s" if seconds < _MIN_WHOLE_SECONDS else f"{seconds:.0f} s"


def duration_unit(seconds: float) -> tuple[float, str]:
    """Return the largest unit that fits twice into a duration: its length in seconds, and its name.

    Examples
    --------
    >>> duration_unit(119.0), duration_unit(-120.0)
    ((1.0, 's'), (60.0, 'min'))
    """
    return next(
        ((length, unit) for length, unit in _SHOWN_UNITS if abs(seconds) >= 2 * length), (1.0, "s")
    )
