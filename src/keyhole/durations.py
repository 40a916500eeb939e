"""Durations as they are typed and printed, such as 90s and 1h30m."""

import re
from datetime import timedelta
from typing import Any, Final

from keyhole.validate import short_repr

_SECONDS: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d+)?[smhd])+|\d+(?:\.\d+)?")
_UNITS: Final = ((86400, "days"), (3600, "h"), (60, "min"))


def parse_duration(name: str, text: str) -> float:
    """Return the seconds of a text such as 90, 90s or 1h30m; errors call it `name`.

    Examples
    --------
    >>> [parse_duration("--budget", text) for text in ("90", "1h30m", "0.5d")]
    [90.0, 5400.0, 43200.0]
    """
    text = text.strip()
    if not _DURATION.fullmatch(text):
        raise ValueError(f"{name} must be as 90s, 30m, 2h or 1d12h, got {short_repr(text)}")
    if text[-1] not in _SECONDS:
        return float(text)
    parts = re.findall(r"([\d.]+)([smhd])", text)
    return sum(float(number) * _SECONDS[unit] for number, unit in parts)


def to_seconds(name: str, duration: Any) -> Any:
    """Return the seconds of a text or a `timedelta`; any other value as it is, to be checked.

    Examples
    --------
    >>> [to_seconds("timeout", duration) for duration in ("7d", timedelta(hours=1), 90)]
    [604800.0, 3600.0, 90]
    """
    if isinstance(duration, timedelta):
        return duration.total_seconds()
    return parse_duration(name, duration) if isinstance(duration, str) else duration


def format_duration(seconds: float) -> str:
    """Return a duration as text, with about two digits.

    Examples
    --------
    >>> [format_duration(seconds) for seconds in (0.21, 42.4, 500, 9000)]
    ['0.2 s', '42 s', '8.3 min', '2.5 h']
    """
    for length, unit in _UNITS:
        if seconds >= 2 * length:
            return f"{seconds / length:.1f} {unit}"
    return f"{seconds:.0f} s" if seconds >= 1 else f"{seconds:.1f} s"
