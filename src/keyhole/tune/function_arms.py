"""Python functions in place of commands to choose from (arms): each call is its own process."""

import inspect
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from keyhole.runner import function_process_child
from keyhole.runner.function_process_child import MARK, Answer, parse_answer
from keyhole.validate import short_repr

LOAD_SECONDS: Final = 60.0
"""Seconds that starting Python and importing the function may take, beyond the limit."""


TYPED: Final = "<typed>"
"""Stands for the module of a function in a tune of version 0.2.0 that was typed in a notebook."""


def parse_target(path: str, value: Any) -> str:
    """Return the target of a function: ``module:name`` or ``file.py:name``."""
    if callable(value):
        value = _find_target(path, value)
    if not isinstance(value, str) or not all(value.rpartition(":")):
        raise TypeError(f"{path} must be a function, or 'module:name', got {short_repr(value)}")
    return value


def _find_target(path: str, function: Callable[..., Any]) -> str:
    name = getattr(function, "__qualname__", "")
    module = inspect.getmodule(function)
    if not name.isidentifier() or module is None:
        raise ValueError(
            f"{path} must be a function at the top level of a module or a file, which another "
            f"process can import, got {short_repr(function)}"
        )
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    if not getattr(module, "__file__", None):
        raise ValueError(
            f"{path} must be in a file, from which a tune can be resumed (in a notebook: begin the "
            f"cell of {name} with %%writefile FILE.py, then import it)"
        )
    return f"{Path(str(module.__file__)).resolve()}:{name}"


def function_command(
    target: str, fields: Mapping[str, Any], cells: Sequence[str] = ()
) -> list[str]:
    """Return the command that calls a function with those fields that it names."""
    content = {"path": sys.path, "target": target, "fields": dict(fields), "cells": [*cells]}
    # -P keeps the folder of the script off sys.path: its modules would hide others.
    return [sys.executable, "-P", str(Path(function_process_child.__file__)), json.dumps(content)]


def find_answer(output: bytes) -> Answer | None:
    """Return the answer in the output of a call; None if the call has not ended by itself."""
    # The last mark: the function itself may have printed one before.
    _, mark, rest = output.rpartition(MARK.encode())
    found = parse_answer(rest.partition(b"\n")[0]) if mark else None
    return found if found and (found.failure or isinstance(found.result, int | float)) else None


def is_in_function_process() -> bool:
    """Return whether this process calls the function of an arm."""
    return getattr(sys.modules["__main__"], "is_single_call", False) is True
