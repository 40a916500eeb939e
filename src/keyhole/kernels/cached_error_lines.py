"""Current line numbers for errors that cached machine code raises.

Numba compiles the file and line into each error. An edit above a kernel (a compiled function) moves
its lines without changing the digest: the cached code is still right, but its line would be wrong.
So the code contains a digest of the raising function and the offset of the instruction instead.
Functions are registered under that digest when their fingerprint is taken, and the line is looked
up when the error comes.
"""

import ctypes
import hashlib
import pickle
from types import CodeType, FunctionType
from typing import Any, Final
from weakref import WeakKeyDictionary

from keyhole.kernels.bytecode_words import code_words

_MARK: Final = "keyhole:"
_RAISES: Final = "RAISE_VARARGS"
_keys: Final[WeakKeyDictionary[FunctionType, str]] = WeakKeyDictionary()
_raising: Final[dict[str, CodeType]] = {}


def register_raising(function: FunctionType) -> None:
    """Register a function's code, if it raises errors."""
    words = code_words(function.__code__)
    if _RAISES in words:
        named = (function.__module__, function.__qualname__, words)
        key = hashlib.sha256(repr(named).encode()).hexdigest()
        _keys[function] = key
        _raising[key] = function.__code__


def register_copy(function: FunctionType, copy: FunctionType) -> None:
    """Register a copy of a function under the digest of the original."""
    if (key := _keys.get(function)) is not None:
        _keys[copy] = key


def encode_line(function: FunctionType, line: int) -> tuple[str, int] | None:
    """Return the file name and number that replace a line in compiled code, or None."""
    key = _keys.get(function)
    for begin, _, at in function.__code__.co_lines() if key else ():
        if at == line:
            return f"{_MARK}{key}", begin
    return None


def decode_line(file: str, number: int) -> tuple[str, int] | None:
    """Return file and line for the result of `encode_line`; None if the function is unknown."""
    code = _raising.get(file.removeprefix(_MARK))
    for begin, end, line in code.co_lines() if code else ():
        if begin <= number < end and line is not None and code is not None:
            return code.co_filename, line
    return None


def _read_error(data: int, size: int, digest: int) -> Any:
    """Return an error that compiled code raises: its class, its arguments, and its place."""
    try:
        error = pickle.loads(ctypes.string_at(data, size))
        kind, words, place = error
        if place is None or not place[1].startswith(_MARK):
            return error
        found = decode_line(place[1], place[2])
        return kind, words, None if found is None else (place[0], *found)
    except Exception as cause:  # a callback from C: an exception could not propagate
        return RuntimeError, (f"a kernel raised an error that cannot be read: {cause}",), None


_CALLED = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)
read_error: Final = _CALLED(_read_error)
"""The function that compiled code calls to read an error, instead of Numba's `numba_unpickle`."""
