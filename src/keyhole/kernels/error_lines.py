"""The lines at which kernels raise errors, as they are now, whatever they were when compiled.

Compiled code holds, beside each error that it raises, where that stands. A comment further up moves
the line, and changes no digest: kept code is right as it is, but would name the wrong line. So what
is compiled in is no line, but which instruction of which function raises. Functions are noted here
by what they do, in every process, when their digest is taken; when an error comes, its line is
looked up.
"""

import ctypes
import hashlib
import pickle
from types import CodeType, FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

from keyhole.kernels.code_digest import code_words

_MARK: Final = "keyhole:"
_RAISES: Final = "RAISE_VARARGS"
_keys: Final[WeakKeyDictionary[FunctionType, str]] = WeakKeyDictionary()
_raising: Final[dict[str, CodeType]] = {}


def note_raising(function: FunctionType) -> None:
    """Remember where a function stands, if it raises errors."""
    words = code_words(function.__code__)
    if _RAISES in words:
        named = (function.__module__, function.__qualname__, words)
        key = hashlib.sha256(repr(named).encode()).hexdigest()
        _keys[function] = key
        _raising[key] = function.__code__


def copy_note(function: FunctionType, copy: FunctionType) -> None:
    """Let a copy of a function be known by what the function is known by."""
    if (key := _keys.get(function)) is not None:
        _keys[copy] = key


def encode_line(function: FunctionType, line: int) -> tuple[str, int] | None:
    """Return what stands for a line in compiled code: a file name and a number, or None."""
    key = _keys.get(function)
    for begin, _, at in function.__code__.co_lines() if key else ():
        if at == line:
            return f"{_MARK}{key}", begin
    return None


def decode_line(file: str, number: int) -> tuple[str, int] | None:
    """Return file and line of what `encode_line` made; None if the function is not known."""
    code = _raising.get(file.removeprefix(_MARK))
    for begin, end, line in code.co_lines() if code else ():
        if begin <= number < end and line is not None and code is not None:
            return code.co_filename, line
    return None


def _read_error(data: int, size: int, digest: int) -> Any:
    """Return an error that compiled code raises: its class, what it says, and where."""
    try:
        error = pickle.loads(ctypes.string_at(data, size))
        kind, words, place = error
        if place is None or not place[1].startswith(_MARK):
            return error
        found = decode_line(place[1], place[2])
        return kind, words, None if found is None else (place[0], *found)
    except Exception as cause:  # nobody is there to catch it
        return RuntimeError, (f"a kernel raised an error that cannot be read: {cause}",), None


_CALLED = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
read_error: Final = _CALLED(_read_error)
"""What compiled code calls to read an error, in place of Numba's `numba_unpickle`."""
