"""Conversion of specs (descriptions of experiments) that earlier versions wrote in run folders.

The files themselves are never rewritten, since ``run.json`` has their checksums.
"""

from collections.abc import Mapping
from typing import Any, Final

_FUNCTIONS: Final = ("cost", "penalty")
"""Entries whose table names a function; all others that had ``law`` name a distribution."""


def spec_from_version_2(table: Mapping[str, Any]) -> dict[str, Any]:
    """Convert the spec of a run of version 1 or 2, or the values of a point, to version 3.

    Examples
    --------
    >>> spec_from_version_2({"pending": "imagine", "problem": {"cost": {"law": "Power"}}})
    {'pending': 'impute', 'problem': {'cost': {'function': 'Power'}}}
    """
    return {path: _value(path, value) for path, value in _entries("", table)}


def _entry(path: str) -> str:
    """Return the path of an entry, such as a key of ``[sweep]``, with its present name."""
    above, _, name = path.rpartition(".")
    if name != "law":
        return path
    parent = above.rpartition(".")[2]
    tag = "function" if parent in _FUNCTIONS else "distribution"
    return f"{above}.{tag}" if above else tag


def _entries(parent: str, table: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """Return the entries of a table, each under its present name."""
    found = []
    for name, value in table.items():
        # A name with a dot is a key of ``[sweep]``: a whole path already.
        path = f"{parent}.{name}" if parent and "." not in name else name
        renamed = _entry(path)
        found.append((renamed if "." in name else renamed.rpartition(".")[2], value))
    return found


def _value(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {path: _value(path, one) for path, one in _entries(name, value)}
    if isinstance(value, list):
        return [_value(name, one) for one in value]
    is_mode = name.rpartition(".")[2] == "pending"
    return "impute" if is_mode and value == "imagine" else value
