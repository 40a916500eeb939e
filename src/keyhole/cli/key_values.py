"""Arguments ``FIELD=VALUE`` of the study commands, such as ``reward=1``: parsed and printed."""

import json
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from keyhole.validate import short_repr

_RESERVED: Final = ("id", "key", "self", "policy")  # arguments of the commands themselves


def parse_key_values(arguments: list[str] | None) -> dict[str, Any]:
    """Return arguments such as ``reward=1`` as TOML values, or as text where they are not TOML."""
    found: dict[str, Any] = {}
    for argument in arguments or []:
        name, sign, text = argument.partition("=")
        if not sign or not name.isidentifier():
            raise ValueError(
                f"an argument must be FIELD=VALUE, such as reward=1, got {short_repr(argument)}"
            )
        if name in _RESERVED or name in found:
            raise ValueError(
                f"each field must be one of the study's, and given once, got {short_repr(argument)}"
            )
        try:
            content = tomllib.loads(f"value = {text}")
        except (tomllib.TOMLDecodeError, RecursionError):
            content = {}
        # A text with a line break may be TOML with further keys.
        found[name] = content["value"] if content.keys() == {"value"} else text
    return found


def format_recommendation(found: Any) -> str:
    """Return a recommendation on one line."""
    if isinstance(found, dict):
        return format_key_values(found)
    return " ".join(map(_short, found)) if isinstance(found, tuple) else _short(found)


def format_key_values(values: Mapping[str, Any]) -> str:
    """Return values as ``parse_key_values`` reads them."""
    return " ".join(f"{name}={_short(value)}" for name, value in values.items())


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
