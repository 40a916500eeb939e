"""Tables of the TOML file that describes a study."""

from typing import Any

from keyhole.validate import short_repr


def check_table(name: str, value: object) -> dict[str, Any]:
    """Return a table of a TOML file; refuse another value."""
    if not isinstance(value, dict):
        raise TypeError(f"{name} must be a table, got {short_repr(value)}")
    return dict(value)
