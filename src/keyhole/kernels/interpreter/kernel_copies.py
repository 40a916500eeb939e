"""Copies of kernels that Python runs, with the same results."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from enum import Enum
from functools import partial
from threading import RLock
from types import FunctionType, ModuleType
from typing import Any, Final, cast
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from keyhole.kernels.compiler_fork_locks import compiler_lock
from keyhole.kernels.fingerprint import Chain, bare_copy, link_copy, make_reduced_module
from keyhole.kernels.interpreted_mode import Kernel
from keyhole.kernels.interpreter import arithmetic, interpreted_arrays
from keyhole.kernels.interpreter.error_explanation import NotInterpretedError, explain_kernel_error
from keyhole.kernels.interpreter.syntax_rewriter import HELPERS, rewrite_operators
from keyhole.kernels.kernel_decorators import find_python_equivalent, returns_views

_OWN_PREFIX: Final = "keyhole."
_NUMPY: Final = (
    arithmetic.NUMPY
    | interpreted_arrays.REDUCTIONS
    | {"searchsorted": bisect_left, "round": arithmetic.round_number}
)
_PLAIN_TYPES: Final = (bool, float, complex, str, bytes, type(None))


def _print_values(*values: object, **options: Any) -> None:
    """Print as Python does, and arrays as NumPy does."""
    printed_values = (
        interpreted_arrays.to_numpy(value) if interpreted_arrays.is_array(value) else value
        for value in values
    )
    print(*printed_values, **options)  # noqa: T201 (it is the user's)


_BUILTINS: Final[dict[str, object]] = {"round": arithmetic.round_number, "print": _print_values}
# Keyhole's own kernels keep their integers below 2**63, so they use Python's functions, which are
# faster.
_BUILTINS_OF_USERS: Final[dict[str, object]] = {
    **_BUILTINS,
    "abs": arithmetic.absolute,
    "divmod": lambda a, b: (arithmetic.floor_divide(a, b), arithmetic.modulo(a, b)),
    "int": arithmetic.truncate_to_integer,
    "max": arithmetic.maximum,
    "min": arithmetic.minimum,
    "pow": arithmetic.power,
    "sum": arithmetic.sum_values,
}

# Copies have no reference to their originals, so that both can be freed.
_copies: Final[WeakKeyDictionary[FunctionType, Kernel]] = WeakKeyDictionary()


def interpreted_copy(kernel: Kernel) -> Kernel:
    """Return the Python function that does what a kernel does: its equivalent, or a copy of it.

    Raises
    ------
    NotInterpretedError
        If something that the kernel uses cannot be interpreted; the text names it.
    """
    if (equivalent := find_python_equivalent(kernel)) is not None:
        return equivalent
    original = getattr(kernel, "py_func", kernel)
    if not isinstance(original, FunctionType):
        raise NotInterpretedError(f"{_describe_value(kernel)} is not written in Python")
    # Forks wait for this lock. Another lock might stay locked for ever in a child.
    with compiler_lock():
        if original not in _copies:
            try:
                _copies[original] = _make_interpreted_copy(original)
            except BaseException:
                _copies.pop(original, None)
                raise
        return _copies[original]


def _make_interpreted_copy(original: FunctionType) -> Kernel:
    module_name = str(original.__globals__.get("__name__", ""))
    # Generated functions have no module.
    is_own = module_name.startswith(_OWN_PREFIX) or not module_name
    functions = HELPERS | (_BUILTINS if is_own else _BUILTINS_OF_USERS)
    code = rewrite_operators(original.__code__, not is_own)
    file_variable = {"__file__": code.co_filename}  # for coverage tools
    copy = bare_copy(original, code, functions | file_variable)
    result: Kernel = copy
    if returns_views(original):
        result = interpreted_arrays.cache_views(copy)
    _copies[original] = result  # before `link_copy`, which looks for it in a recursion
    link_copy(original, copy, partial(_map_value, original))
    return result


def _map_value(original: FunctionType, name: str, value: object, chains: Iterable[Chain]) -> object:
    """Return what the copy of `original` uses in place of the value of a name."""
    try:
        return _convert_referenced_value(value, chains)
    except _NoEquivalentError as error:
        code = original.__code__
        raise NotInterpretedError(
            f"{original.__qualname__} cannot be interpreted: it uses {name}{error} "
            f"({code.co_filename}, line {code.co_firstlineno})"
        ) from None


class _NoEquivalentError(Exception):
    """Something has no equivalent in Python; the text is appended to the kernel's name for it."""


def _convert_referenced_value(value: object, chains: Iterable[Chain] = ()) -> object:
    if (equivalent := find_python_equivalent(value)) is not None:
        return equivalent
    if isinstance(getattr(value, "py_func", value), FunctionType):
        return interpreted_copy(cast(Kernel, value))
    if isinstance(value, ModuleType):
        return make_reduced_module(value, chains, _convert_attribute)
    if isinstance(value, tuple):
        items = [_convert_referenced_value(item) for item in value]
        make: Kernel = type(value)
        return make(*items) if hasattr(value, "_fields") else tuple(items)
    if isinstance(value, np.ndarray):
        return _convert_constant_array(value)
    if isinstance(value, np.generic):
        return _python_number(value)
    if type(value) is int:
        return arithmetic.UInt64(value) if value > arithmetic.LARGEST else value
    if isinstance(value, (*_PLAIN_TYPES, Enum)):
        return value
    return _python_equivalent_of(value)


def _python_number(value: np.generic) -> object:
    """Return a number of NumPy as kernels see it."""
    if isinstance(value, np.uint64):
        return arithmetic.UInt64(int(value))
    return cast(object, value.item())


def _python_equivalent_of(value: object) -> object:
    """Return the Python equivalent of a function or type that is not a kernel."""
    module_name = getattr(value, "__module__", "") or ""
    name = getattr(value, "__name__", "")
    equivalents: Mapping[str, object] = {}
    if module_name.startswith("numba."):
        equivalents = arithmetic.CASTS
        name = str(value)  # a type that is called to convert a number
    elif module_name == "math":
        equivalents = arithmetic.MATH
    elif module_name == "numpy" or isinstance(value, np.ufunc):
        equivalents = _NUMPY
    elif module_name == "builtins":
        return _BUILTINS_OF_USERS.get(name, value)
    elif isinstance(value, type) or module_name == "operator":
        return value
    if name in equivalents:
        return equivalents[name]
    raise _NoEquivalentError(f", {_describe_value(value)}, which has no equivalent in Python")


def _describe_value(value: object) -> str:
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    return f"{type(value).__module__}.{type(value).__qualname__} {name or repr(value)}"


def _convert_constant_array(value: NDArray[np.generic]) -> interpreted_arrays.Array:
    array = value.copy()  # a snapshot, row-major
    array.flags.writeable = False
    try:
        return interpreted_arrays.view_numpy_array(np.ascontiguousarray(array))
    except TypeError as error:
        raise _NoEquivalentError(f", {error}") from None


def _convert_attribute(name: str, value: object, chains: Iterable[Chain]) -> object:
    try:
        return _convert_referenced_value(value, chains)
    except _NoEquivalentError as error:
        raise _NoEquivalentError(f".{name}{error}") from None


class InterpretedFunction:
    """A function whose kernels Python runs; it is called with NumPy arrays and numbers.

    Each caller has an object of its own, which caches views of the arrays of the last call, since a
    learner passes the same arrays every time.

    Parameters
    ----------
    owner : str
        The name of the policy, or of the policy and the environment, for messages.
    function : callable
        Plain Python that calls kernels.
    """

    def __init__(self, owner: str, function: Kernel) -> None:
        self._owner = owner
        # The arguments of the last call, each with the view of it that kernels see.
        self._last_views: list[tuple[object, interpreted_arrays.Array]] = []
        self._lock = RLock()  # several threads may run blocks of one simulation
        try:
            self._copy = interpreted_copy(function)
        except NotInterpretedError as error:
            raise NotInterpretedError(f"{owner}: {error}") from None

    def __call__(self, *args: object) -> object:
        """Run the function."""
        with self._lock:
            return self._run_copy(args)

    def _run_copy(self, args: tuple[object, ...]) -> object:
        if len(self._last_views) != len(args):
            self._last_views[:] = [(None, None)] * len(args)
        converted_arguments = [self._convert_argument(i, value) for i, value in enumerate(args)]
        try:
            return self._copy(*converted_arguments)
        except Exception as error:
            if (explained_error := explain_kernel_error(error, self._owner)) is None:
                raise
            raise explained_error from None

    def _convert_argument(self, i: int, value: object) -> object:
        """Return an argument as kernels see it."""
        if isinstance(value, np.generic):
            return _python_number(value)
        if not isinstance(value, np.ndarray):
            return value
        array, view = self._last_views[i]
        if array is not value:
            # Two arguments may be the same array, and must then be the same view.
            views_of_same_array = (v for a, v in self._last_views[:i] if a is value)
            view = next(views_of_same_array, None) or interpreted_arrays.view_numpy_array(value)
            self._last_views[i] = (value, view)
        return view
