"""Errors in interpreted kernels, shown at the author's own line."""

from __future__ import annotations

import ast
import dis
import linecache
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from types import FrameType, TracebackType
from typing import Final

from keyhole.kernels.interpreter.arithmetic import UndefinedOperationError
from keyhole.kernels.interpreter.interpreted_arrays import is_array

_OWN_FOLDER: Final = str(Path(__file__).parent)
_RAISE_OPCODE: Final = dis.opmap["RAISE_VARARGS"]
_ADAPTER: Final = "adapter"
"""The name of the generated functions that call kernels. Their variable `t` is the round."""
_ARM: Final = "arm"


class NotInterpretedError(TypeError):
    """Something that a kernel uses has no equivalent in Python; the text names it."""


class UnnoticedError(ValueError):
    """A fault of a kernel that compiled code would not report."""


class OutOfBoundsError(IndexError):
    """An interpreted kernel reads or writes beyond an array; the text says where."""


def explain_kernel_error(error: Exception, owner: str) -> Exception | None:
    """Return the error to show to the user in place of an error that Python raised in a kernel.

    Its traceback ends in the kernel's line, so that a debugger stops at that line. The result is
    None if `error` itself is to be shown. If a kernel raised it, `error` then has a note that says
    where.
    """
    entries = _list_traceback_entries(error.__traceback__)
    if not entries:
        return None
    # A `raise` is the author's own, unless it passes on an `UndefinedOperationError`.
    instruction = entries[-1].tb_frame.f_code.co_code[entries[-1].tb_lasti]
    is_deliberate = instruction == _RAISE_OPCODE and not isinstance(error, UndefinedOperationError)
    description = None if is_deliberate else _describe_error(error)
    if description is None:
        error.add_note(f"in a kernel of {owner}{_describe_location(entries)}")
        return None
    error_class, text = description
    if expression := _failing_expression(entries[-1]):
        text += f": {expression}"
    entries[-1].tb_next = None  # the entries below are of this package
    explained_error = error_class(f"a kernel of {owner} {text}{_describe_location(entries)}")
    return explained_error.with_traceback(error.__traceback__)


def _describe_error(error: Exception) -> tuple[type[Exception], str] | None:
    """Return the class and text that explain an error; None if the error is clear by itself."""
    text = str(error)
    if isinstance(error, IndexError):
        return OutOfBoundsError, "reads or writes beyond an array"
    if isinstance(error, UndefinedOperationError):
        return UnnoticedError, text
    if text.startswith("cannot convert float"):  # NaN or infinity
        return UnnoticedError, f"makes an index or another integer of {text.split()[3].lower()}"
    if text.startswith("memoryview: invalid value"):
        return ValueError, "writes an integer of more than 64 bits"
    if text.startswith(("memoryview: invalid type", "a bytes-like object is required")):
        return NotInterpretedError, "writes a value to an array of another type"
    if text.startswith("memoryview: invalid slice key") or text.endswith("as an integer"):
        return TypeError, "uses an index that is not an integer"
    if isinstance(error, AttributeError) and is_array(error.obj):
        return NotInterpretedError, f"uses {error.name} of an array, which interpreted kernels lack"
    if text.startswith("cannot modify read-only memory"):
        return TypeError, "writes to an array that is a constant"
    return None


def _list_traceback_entries(traceback: TracebackType | None) -> list[TracebackType]:
    """Return the entries of a traceback, up to the last one outside this package."""
    entries = []
    while traceback is not None:
        entries.append(traceback)
        traceback = traceback.tb_next
    while entries and entries[-1].tb_frame.f_code.co_filename.startswith(_OWN_FOLDER):
        entries.pop()
    return entries


def _is_user_frame(frame: FrameType) -> bool:
    """Return whether a frame runs a function of the user."""
    name = str(frame.f_globals.get("__name__", ""))
    return bool(name) and not name.startswith("keyhole.") and name != "builtins"


def _describe_location(entries: list[TracebackType]) -> str:
    """Return file, line and function of the user's last line, the round, and the arm."""
    user_entries = (entry for entry in reversed(entries) if _is_user_frame(entry.tb_frame))
    entry = next(user_entries, entries[-1])
    code = entry.tb_frame.f_code
    phrases = [f"{code.co_filename}, line {entry.tb_lineno}", f"in {code.co_name}"]
    phrases += [f"round {t}" for t in _find_integer(entries, _ADAPTER, "t")]
    phrases += [f"arm {arm}" for arm in _find_integer(entries, "", _ARM)]
    return f" ({', '.join(phrases)})"


def _find_integer(entries: list[TracebackType], function_name: str, name: str) -> Iterator[int]:
    """Yield the value of the innermost variable `name` that is an integer, if there is one.

    Only functions called `function_name` are searched; if that is "", all functions are.
    """
    for entry in reversed(entries):
        frame = entry.tb_frame
        value = frame.f_locals.get(name)
        if isinstance(value, int) and function_name in ("", frame.f_code.co_name):
            yield int(value)
            return


def _failing_expression(entry: TracebackType) -> str:
    """Return the source of the failing expression, with the values of its names; "" if unknown."""
    code = entry.tb_frame.f_code
    # Positions are listed by instruction, each of which takes two bytes.
    line, last_line, start, end = next(islice(code.co_positions(), entry.tb_lasti // 2, None))
    if line is None or line != last_line or start is None or end is None:
        return ""
    text = linecache.getline(code.co_filename, line).encode()[start:end].decode()
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except SyntaxError:
        return ""
    names = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name))
    values = {name: entry.tb_frame.f_locals.get(name) for name in sorted(names)}
    value_texts = [f"{n} = {v!r}" for n, v in values.items() if isinstance(v, int | float)]
    if not value_texts:
        return text
    return f"{text} with {', '.join(value_texts)}"
