"""Functions of Python as arms: each call is a process, so that it can be ended."""

import inspect
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from keyhole.tune import function_process
from keyhole.validate import short_repr

LOAD_SECONDS: Final = 60.0
"""Seconds that Python and the function's module may take to load, beyond the limit."""


def parse_target(path: str, value: Any) -> str:
    """Return where a function is found, ``module:name`` or ``file.py:name``, if it can be."""
    if callable(value):
        value = _place_of(path, value)
    if not isinstance(value, str) or not all(value.rpartition(":")):
        raise TypeError(f"{path} must be a function, or 'module:name', got {short_repr(value)}")
    return value


def _place_of(path: str, function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", "")
    module = inspect.getmodule(function)
    if not name.isidentifier() or module is None:
        raise ValueError(
            f"{path} must be defined by its name in a module or a file, so that another process "
            f"finds it, got {short_repr(function)}"
        )
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    if not getattr(module, "__file__", None):
        raise ValueError(
            f"{path} must be in a file (in a notebook: %%writefile FILE.py, then import it), got "
            f"one that was typed: {short_repr(function)}"
        )
    return f"{Path(str(module.__file__)).resolve()}:{name}"


def function_command(target: str, fields: Mapping[str, Any]) -> list[str]:
    """Return the command that calls a function with those fields that it names."""
    said = json.dumps({"path": sys.path, "target": target, "fields": dict(fields)})
    # -P keeps the script's folder off sys.path: modules in it would hide Python's of the same name.
    return [sys.executable, "-P", str(Path(function_process.__file__)), said]


@dataclass(frozen=True)
class Answer:
    """How long a call took, and what it returned or raised."""

    seconds: float
    reward: float | bool = False
    raised: str = ""


def answer(output: bytes) -> Answer | None:
    """Return what a call said that came to its end; None of one that did not."""
    at = output.rfind(function_process.MARK.encode())
    if at < 0:
        return None
    try:
        said = json.loads(output[at + len(function_process.MARK) :].partition(b"\n")[0])
        return Answer(float(said["seconds"]), said.get("reward", False), said.get("raised", ""))
    except (ValueError, KeyError, TypeError):
        return None


def is_in_function_process() -> bool:
    """Return whether this process is one in which a function is called."""
    return getattr(sys.modules["__main__"], "MARK", None) == function_process.MARK
