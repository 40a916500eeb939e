"""Registration of twins: Python functions that replace objects which Python cannot interpret.

A twin is registered for something that is not Python (vector instructions), or is faster when
written by hand. It is an attribute of the object that kernels use: the function, or its place as
``"package.module:name"``, so that nothing is imported before a kernel is interpreted.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeVar

T = TypeVar("T")

_TWIN: Final = "python_twin"
_VIEWS: Final = "returns_views_alone"


def set_twin(kernel: T, twin: Callable[..., Any] | str) -> T:
    """Register the function that runs in place of a kernel when interpreted; return the kernel.

    It must do the same, to the bit.
    """
    setattr(_plain_function(kernel), _TWIN, twin)
    return kernel


def find_twin(kernel: Any) -> Callable[..., Any] | None:
    """Return the registered twin of a kernel, if there is one."""
    found = getattr(kernel, _TWIN, None) or getattr(_plain_function(kernel), _TWIN, None)
    if isinstance(found, str):
        module, _, name = found.partition(":")
        found = getattr(import_module(module), name)
    return found


def mark_views(kernel: T) -> T:
    """Mark a function of (buffer, start, dims) that returns only views, which can be cached."""
    setattr(_plain_function(kernel), _VIEWS, True)
    return kernel


def returns_views(kernel: Any) -> bool:
    """Return whether a function was marked by `mark_views`."""
    return bool(getattr(_plain_function(kernel), _VIEWS, False))


def _plain_function(kernel: Any) -> Any:
    """Return the Python function of a compiled one, else the object itself."""
    return getattr(kernel, "py_func", kernel)
