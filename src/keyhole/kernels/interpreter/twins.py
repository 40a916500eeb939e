"""Which Python function stands for something that is no Python itself, or is faster by hand.

It is an attribute of the object that kernels use: the function, or where it is found, as
``"package.module:name"``, so that nothing is imported before a kernel is interpreted.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeVar

T = TypeVar("T")

_TWIN: Final = "python_twin"
_VIEWS: Final = "returns_views_alone"


def set_twin(kernel: T, twin: Callable[..., Any] | str) -> T:
    """Say which function runs in place of a kernel where Python interprets, and return the kernel.

    It is to do the same, to the bit.
    """
    setattr(_home(kernel), _TWIN, twin)
    return kernel


def find_twin(kernel: Any) -> Callable[..., Any] | None:
    """Return the function that stands for a kernel, if there is one."""
    found = getattr(kernel, _TWIN, None) or getattr(_home(kernel), _TWIN, None)
    if isinstance(found, str):
        module, _, name = found.partition(":")
        found = getattr(import_module(module), name)
    return found


def mark_views(kernel: T) -> T:
    """Say that a function of (buffer, start, dims) returns views alone, which are made once."""
    setattr(_home(kernel), _VIEWS, True)
    return kernel


def returns_views(kernel: Any) -> bool:
    """Tell whether `mark_views` has said so."""
    return bool(getattr(_home(kernel), _VIEWS, False))


def _home(kernel: Any) -> Any:
    """Return the function that a compiled one was made of, else the object itself."""
    return getattr(kernel, "py_func", kernel)
