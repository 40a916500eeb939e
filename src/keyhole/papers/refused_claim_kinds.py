"""Kinds of claims of former versions, and how they are written now.

A claim is a statement of a paper in an entry's file, to be judged by simulations.
"""

from typing import Final

_CELLS: Final = {"numerator": "cell", "denominator": "over"}
_ENDS: Final = {"at_least": "low", "at_most": "high"}

_RENAMED: Final = {
    "across": "trend",
    "flat": "equivalence",
    "contrast": "interaction",
    "unbeaten": "not-worse",
    "equivalent": "allocation-equivalence",
}

# By former kind: what is estimated, and the fields that have another name.
_ESTIMATES: Final[dict[str, tuple[str, dict[str, str]]]] = {
    "between": ("mean", {}),
    "ratio": ("ratio", _CELLS),
    "excess": ("difference", {}),
    "growth": ("growth", _ENDS),
    "counts": (
        "proportion",
        {"low": "metric_low", "high": "metric_high", **_ENDS, "round": "rounds, a list"},
    ),
    "increment": ("gain", {}),
    "slope": ("slope", {}),
    "gain-ratio": ("gain-ratio", _CELLS),
    "deviations": ("deviation-ratio", _CELLS),
    "level": ("level", {"of": "scale"}),
    "axis-end": ("log-endpoint", {}),
    "exactly": ("value", {}),
}


def refuse_former_kind(where: str, kind: str) -> None:
    """Raise a ValueError that says how a claim of a former kind is written now."""
    if kind in _RENAMED:
        raise ValueError(f'{where} {kind!r} is now written kind = "{_RENAMED[kind]}"')
    if kind not in _ESTIMATES:
        return
    of, fields = _ESTIMATES[kind]
    message = f'{where} {kind!r} is now written kind = "estimate", of = "{of}"'
    if fields:
        renamed = ", ".join(f"{old} is {new}" for old, new in fields.items())
        message += f"; of its fields, {renamed}"
    raise ValueError(message)
