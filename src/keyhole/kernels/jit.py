"""How kernels are compiled, said once."""

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import Any, Final, TypeVar, cast

import numba
from numba import config, njit

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("keyhole compiles what it plays: unset NUMBA_DISABLE_JIT")

F = TypeVar("F", bound=Callable[..., Any])

_PLAIN: Final = "KEYHOLE_PLAIN_NUMBA"
_KNOWN_BELOW: Final = (0, 69)
"""All tests were run with the versions of Numba below this one. The insides of later ones are
checked in every process, which takes a second."""


def _usable_internals() -> ModuleType | None:
    """Return `keyhole.kernels.numba_internals`, or None, with a warning, if it does not work."""
    if os.environ.get(_PLAIN):
        return None
    try:
        from keyhole.kernels import numba_internals

        if tuple(map(int, numba.__version__.split(".")[:2])) >= _KNOWN_BELOW:
            numba_internals.check_internals()
    except Exception as error:  # whatever another release of Numba makes of it
        warnings.warn(
            f"the insides of Numba {numba.__version__} are not those that keyhole knows "
            f"({type(error).__name__}: {error}): results are the same, but kernels are slower, "
            f"and are compiled again in every process; {_PLAIN}=1 asks for that without a warning",
            RuntimeWarning,
            stacklevel=2,
        )
        return None
    return numba_internals


internals: Final[Any] = _usable_internals()
"""`keyhole.kernels.numba_internals`, which compiles kernels; None if Numba does so by itself: where
its insides are others, or the environment variable KEYHOLE_PLAIN_NUMBA=1 asks for that. Kernels are
slower then, results the same, and nothing is kept between processes."""

# error_model="numpy": a division needs no check for zero, which halves the time of a round
# (measured: 16.2 -> 8.9 ns, LSA, K = 10).
_OPTIONS: Final[dict[str, Any]] = {
    "error_model": "numpy",
    **(internals.OPTIONS if internals else {}),
}

_checked: ContextVar[bool] = ContextVar("checked", default=False)


@contextmanager
def bounds_checked(wanted: bool = True) -> Iterator[None]:
    """Compile everything inside with a check of every index, which costs speed."""
    if wanted and config.BOUNDSCHECK == 0:  # type: ignore[attr-defined]
        raise ValueError("NUMBA_BOUNDSCHECK must not be 0 where indices are to be checked")
    token = _checked.set(wanted)
    try:
        yield
    finally:
        _checked.reset(token)


def is_bounds_checked() -> bool:
    """Tell whether `bounds_checked` holds where this is called."""
    return _checked.get()


def options() -> dict[str, Any]:
    """Return the options of `numba.njit` that hold where this is called."""
    return _OPTIONS | {"boundscheck": True} if is_bounds_checked() else dict(_OPTIONS)


def kernel(function: F) -> F:
    """Compile a function for use inside kernels (when it is first called).

    It is plain arithmetic on numbers, tuples and arrays, and cannot allocate memory.
    """
    if internals:
        return cast(F, internals.Part(function, options()))
    return cast(F, njit(**options())(function))
