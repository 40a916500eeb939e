"""How kernels are compiled, said once."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import FunctionType
from typing import Any, Final, TypeVar, cast

import numba
from numba import config, njit

try:
    from keyhole.kernels import parts as parts
except (ImportError, AttributeError):  # Numba's insides have moved
    parts = None  # type: ignore[assignment]

if config.DISABLE_JIT:  # type: ignore[attr-defined]
    raise ImportError("keyhole compiles what it plays: unset NUMBA_DISABLE_JIT")

F = TypeVar("F", bound=Callable[..., Any])

# error_model="numpy": a division needs no check for zero, which halves the time of a round
# (measured: 16.2 -> 8.9 ns, LSA, K = 10). _nrt=False: no reference counts, so nothing can be
# allocated and no atomic operation is spent on views (59 -> 15 ns a round, LSA, K = 10).
_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "_nrt": False}

_TESTED_BELOW: Final = (0, 69)  # Numba's insides may move with every release
_PLAIN: Final = "KEYHOLE_PLAIN_NUMBA"

USES_PARTS: Final = (
    parts is not None
    and not os.environ.get(_PLAIN)
    and tuple(map(int, numba.__version__.split(".")[:2])) < _TESTED_BELOW
)
"""Whether `keyhole.kernels.parts` compiles. Else Numba does, as usual: slower, the same results,
and nothing is kept between processes. The environment variable KEYHOLE_PLAIN_NUMBA=1 asks for
that."""

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
    if USES_PARTS:
        return cast(F, parts.Part(cast(FunctionType, function), options()))
    return cast(F, njit(**options())(function))
