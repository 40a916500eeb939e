"""Decorators of kernels and intrinsics; Numba is imported only when one is compiled."""

import functools
import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from contextvars import ContextVar
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType
from typing import Any, Final, TypeVar, cast

from keyhole.kernels.compiler_fork_locks import compiler_lock, import_numba
from keyhole.kernels.interpreted_mode import Kernel, set_in_context

# The settings on which machine code depends, with Numba's defaults as `repr` shows them.
_DEFAULT_SETTINGS: Final = {
    "OPT": "_OptLevel(3)",
    "BOUNDSCHECK": "None",
    "CPU_NAME": "None",
    "CPU_FEATURES": "None",
    "ENABLE_AVX": "True",
    "LOOP_VECTORIZE": "1",
    "SLP_VECTORIZE": "0",
    "DISABLE_INTEL_SVML": "False",
    "DISABLE_JIT": "0",
}
_SETTINGS_FILE: Final = ".numba_config.yaml"  # Numba reads it in the folder where a process begins


def changed_compiler_settings() -> dict[str, object]:
    """Return the settings that affect machine code and differ from the defaults.

    Numba is imported, and asked, only if an environment variable or a file may have changed a
    setting. If Numba is loaded, it is asked too, since a program may have changed its `config`.
    """
    has_variables = any(f"NUMBA_{name}" in os.environ for name in _DEFAULT_SETTINGS)
    if not has_variables and not Path(_SETTINGS_FILE).exists() and "numba" not in sys.modules:
        return {}
    config = import_numba().config
    values = {name: getattr(config, name) for name in _DEFAULT_SETTINGS}
    return {name: value for name, value in values.items() if repr(value) != _DEFAULT_SETTINGS[name]}


if changed_compiler_settings().get("DISABLE_JIT"):
    raise ImportError("keyhole needs Numba's compiler: unset NUMBA_DISABLE_JIT")

F = TypeVar("F", bound=Kernel)
T = TypeVar("T")

# With NumPy's error model, a division needs no check for zero, which halves the time of a round
# (measured with LSA at K = 10 arms: 16.2 -> 8.9 ns).
_OPTIONS: Final[dict[str, object]] = {"error_model": "numpy"}

_EQUIVALENT_ATTRIBUTE: Final = "python_equivalent"
_VIEWS_ATTRIBUTE: Final = "returns_views_alone"

_is_checked: ContextVar[bool] = ContextVar("checked", default=False)


def import_internals(module: str = "compiler") -> Any:
    """Return a module of `keyhole.kernels.numba_internals`, by default the compiler of kernels."""
    with compiler_lock():
        import_numba()
        return import_module(f"keyhole.kernels.numba_internals.{module}")


def import_machine_code_loader() -> Any:
    """Return `keyhole.kernels.numba_internals.machine_code`, without importing Numba."""
    with compiler_lock():
        return import_module("keyhole.kernels.numba_internals.machine_code")


def bounds_checked(is_checked: bool = True) -> AbstractContextManager[None]:
    """Return a context in which code is compiled with a check of every index, which costs speed."""
    if is_checked and changed_compiler_settings().get("BOUNDSCHECK") == 0:
        raise ValueError("NUMBA_BOUNDSCHECK must not be 0 where indices are to be checked")
    return set_in_context(_is_checked, is_checked)


def is_bounds_checked() -> bool:
    """Return whether `bounds_checked` holds where this is called."""
    return _is_checked.get()


def njit_options() -> dict[str, object]:
    """Return the options of `numba.njit` that hold where this is called."""
    internals = import_module("keyhole.kernels.numba_internals")
    options: dict[str, object] = _OPTIONS | internals.OPTIONS
    if is_bounds_checked():
        options["boundscheck"] = True
    return options


def numba_signature(result: str, *arguments: str) -> str:
    """Return a function's signature as Numba reads it.

    Examples
    --------
    >>> numba_signature("void", "float64[::1]", "int64")
    'void(float64[::1], int64)'
    """
    return f"{result}({', '.join(arguments)})"


class Deferred:
    """A placeholder for an object of Numba's; that object is made when it is first needed.

    Parameters
    ----------
    function : function
        The Python function that does the same as Numba's object; for `intrinsic`, the function that
        types and builds the intrinsic.
    make : callable
        Makes Numba's object: a compiled function, an intrinsic, or an external function.
    """

    def __init__(self, function: FunctionType, make: Callable[[], Kernel]) -> None:
        functools.update_wrapper(self, function)
        self.py_func = function
        self._make = make
        self._numba_object: Kernel | None = None

    @property
    def numba_object(self) -> Kernel:
        """Numba's object, made on the first access."""
        # Checked again under the lock, since another thread may have made it meanwhile.
        if self._numba_object is None:
            with compiler_lock():
                if self._numba_object is None:
                    self._numba_object = self._make()
        return self._numba_object

    @property
    def _numba_type_(self) -> object:
        """The attribute that Numba reads from values whose type it does not know."""
        return import_internals().type_of_deferred(self, self.numba_object)

    def __call__(self, *args: object, **kwargs: object) -> object:
        """Call the compiled function from Python, which compiles it again for these arguments."""
        return self.numba_object(*args, **kwargs)

    def __deepcopy__(self, memo: object) -> "Deferred":
        """Return the object itself, as for functions; Numba copies statements that refer to it."""
        return self


class DeferredKernel(Deferred):
    """A kernel, which becomes a compiled function when something that uses it is compiled."""

    def __reduce__(self) -> str | tuple[object, ...]:
        """Pickle Keyhole's own kernels by name, and others by their functions."""
        if self.py_func.__globals__.get("__name__", "").startswith("keyhole."):
            return self.py_func.__qualname__
        return kernel, (self.py_func,)


class DeferredIntrinsic(Deferred):
    """A function whose code is built by an intrinsic."""


def kernel(function: F) -> F:
    """Declare a function for use inside kernels; it is compiled when it is first needed.

    The function must be plain arithmetic on numbers, tuples and arrays, and cannot allocate memory.
    """
    kernel_options = njit_options()
    plain = cast(FunctionType, function)

    return cast(
        F, DeferredKernel(plain, lambda: import_internals().PartDispatcher(plain, kernel_options))
    )


def intrinsic(function: F) -> F:
    """Make an intrinsic from a function `(typing, ...) -> (signature, build)`.

    It does what `numba.extending.intrinsic` does, but Numba is imported only when something that
    uses the intrinsic is compiled.
    """

    def make() -> Kernel:
        import_numba()
        from numba.extending import intrinsic as numba_intrinsic

        return numba_intrinsic(function)

    return cast(F, DeferredIntrinsic(cast(FunctionType, function), make))


def load_intrinsic(plain: F, make: Callable[[Any], Kernel]) -> F:
    """Return an intrinsic of `numba_internals`; in interpreted mode, `plain` runs in its place.

    Parameters
    ----------
    plain : function
        The function for interpreted mode, with the same bits; its name is part of fingerprints.
    make : callable
        Makes the intrinsic, given the module `keyhole.kernels.numba_internals.intrinsics`.
    """
    set_python_equivalent(plain, plain)  # `plain` is also the intrinsic's `py_func`
    deferred = DeferredIntrinsic(
        cast(FunctionType, plain), lambda: make(import_internals("intrinsics"))
    )
    return cast(F, deferred)


def set_python_equivalent(kernel: T, function: Kernel | str) -> T:
    """Register the function that runs in place of a kernel when interpreted; return the kernel.

    The function must do the same as the kernel, to the bit. It is needed if the kernel is not
    written in Python (vector instructions), and useful if it is faster than the interpreted kernel.
    `function` may also be a location, as ``"package.module:name"``, so that nothing is imported
    before a kernel is interpreted.
    """
    setattr(_plain_function(kernel), _EQUIVALENT_ATTRIBUTE, function)
    return kernel


def find_python_equivalent(kernel: object) -> Kernel | None:
    """Return the registered Python equivalent of a kernel, if there is one."""
    equivalent: Kernel | str | None = getattr(_plain_function(kernel), _EQUIVALENT_ATTRIBUTE, None)
    if isinstance(equivalent, str):
        module, _, name = equivalent.partition(":")
        return cast(Kernel, getattr(import_module(module), name))
    return equivalent


def mark_as_returning_views(kernel: T) -> T:
    """Mark a function of (buffer, start, dims) that returns only views, which may be cached."""
    setattr(_plain_function(kernel), _VIEWS_ATTRIBUTE, True)
    return kernel


def returns_views(kernel: object) -> bool:
    """Return whether a function was marked by `mark_as_returning_views`."""
    return bool(getattr(_plain_function(kernel), _VIEWS_ATTRIBUTE, False))


def _plain_function(kernel: object) -> object:
    """Return the Python function of a compiled function; return any other object itself."""
    return getattr(kernel, "py_func", kernel)


def _is_numba_object(value: object) -> bool:
    """Return whether a value is an object of Numba's, without importing Numba."""
    return any(base.__module__.startswith("numba.") for base in type(value).__mro__)


def is_kernel(value: object) -> bool:
    """Return whether a value is a function that `kernel` or Numba compiles."""
    if isinstance(value, DeferredKernel):
        return True
    if "numba" not in sys.modules or not _is_numba_object(value):
        return False
    from numba.extending import is_jitted

    return callable(value) and bool(is_jitted(value))


def is_intrinsic(value: object) -> bool:
    """Return whether a value is an intrinsic, of Keyhole's or of Numba's."""
    return isinstance(value, DeferredIntrinsic) or (
        _is_numba_object(value) and isinstance(value, _numba_intrinsic_class())
    )


@cache
def _numba_intrinsic_class() -> type:
    from numba.extending import intrinsic as numba_intrinsic

    return type(numba_intrinsic(lambda typing: None))


def is_numba_type(value: object) -> bool:
    """Return whether a value is one of Numba's types, such as `numba.int64`."""
    if not _is_numba_object(value):
        return False
    from numba import types

    return isinstance(value, types.Type)
