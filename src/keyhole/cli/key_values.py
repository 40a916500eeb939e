"""Words of a study in a shell: ``reward=1``, read and printed."""

import json
import tomllib
from collections.abc import Mapping
from typing import Any, Final

from keyhole.validate import short_repr

_NOT_WORDS: Final = ("id", "key", "self", "policy")  # they have places of their own


def read_words(words: list[str] | None) -> dict[str, Any]:
    """Return words such as ``reward=1`` as values; what is no TOML is a text."""
    found: dict[str, Any] = {}
    for word in words or []:
        name, sign, text = word.partition("=")
        if not sign or not name.isidentifier():
            raise ValueError(f"a word must be WORD=VALUE, such as reward=1, got {short_repr(word)}")
        if name in _NOT_WORDS or name in found:
            raise ValueError(
                f"a word must be of the study's own, and said once, got {short_repr(word)}"
            )
        try:
            said = tomllib.loads(f"value = {text}")
        except (tomllib.TOMLDecodeError, RecursionError):
            said = {}
        found[name] = said["value"] if said.keys() == {"value"} else text
    return found


def format_recommendation(found: Any) -> str:
    """Return what a policy recommends, on one line."""
    if isinstance(found, dict):
        return format_words(found)
    return " ".join(map(_short, found)) if isinstance(found, tuple) else _short(found)


def format_words(words: Mapping[str, Any]) -> str:
    """Return values as ``read_words`` reads them."""
    return " ".join(f"{name}={_short(value)}" for name, value in words.items())


def _short(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
