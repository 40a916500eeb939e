"""Registration of Python equivalents: functions that interpreted mode runs in place of kernels.

A kernel is a function that is compiled; in interpreted mode Python runs it.

One is registered for a kernel that is not Python (vector instructions), or is faster when written
by hand. It is kept as an attribute of the kernel: the function, or its place as
``"package.module:name"``, so that nothing is imported before a kernel is interpreted.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final, TypeVar

T = TypeVar("T")

_EQUIVALENT: Final = "python_equivalent"
_VIEWS: Final = "returns_views_alone"


def set_python_equivalent(kernel: T, function: Callable[..., Any] | str) -> T:
    """Register the function that runs in place of a kernel when interpreted; return the kernel.

    It must do the same, to the bit.
    """
    setattr(_plain_function(kernel), _EQUIVALENT, function)
    return kernel


def find_python_equivalent(kernel: Any) -> Callable[..., Any] | None:
    """Return the registered Python equivalent of a kernel, if there is one."""
    found = getattr(_plain_function(kernel), _EQUIVALENT, None)
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
