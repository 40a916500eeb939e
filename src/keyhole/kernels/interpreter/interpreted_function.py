"""Functions that Python runs in place of machine code, called with the same NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import Any
from weakref import finalize

import numpy as np

from keyhole.kernels.interpreter.error_explanation import NotInterpretedError, explain_error
from keyhole.kernels.interpreter.kernel_copies import interpreted_copy
from keyhole.kernels.interpreter.memory_views import start_caching, stop_caching, view_of
from keyhole.kernels.interpreter.wrapping_integers import UInt64


class InterpretedFunction:
    """A function whose kernels Python runs; it is called with NumPy arrays and numbers.

    It belongs to one caller: views of the arrays of the last call are cached, since a learner
    passes the same ones every time.

    Parameters
    ----------
    owner : str
        The name of its policy, or of its policy and environment, for messages.
    function : callable
        Plain Python that calls kernels.
    """

    def __init__(self, owner: str, function: Callable[..., Any]) -> None:
        self._owner = owner
        self._cached: list[tuple[Any, Any]] = []
        finalize(self, _stop_caching_all, self._cached).atexit = False
        self._lock = RLock()  # several threads may run blocks of one simulation
        try:
            self._copy = interpreted_copy(function)
        except NotInterpretedError as error:
            raise NotInterpretedError(f"{owner}: {error}") from None

    def __call__(self, *args: Any) -> Any:
        """Run the function."""
        with self._lock:
            return self._run(args)

    def _run(self, args: tuple[Any, ...]) -> Any:
        if len(self._cached) != len(args):
            self._cached[:] = [(None, None)] * len(args)
        given = [self._convert_argument(i, value) for i, value in enumerate(args)]
        try:
            return self._copy(*given)
        except Exception as error:
            if (found := explain_error(error, self._owner)) is None:
                raise
            raise found from None

    def _convert_argument(self, i: int, value: Any) -> Any:
        """Return an argument as kernels see it."""
        if not isinstance(value, np.ndarray):
            if isinstance(value, np.generic):
                return UInt64(int(value)) if isinstance(value, np.uint64) else value.item()
            return value
        array, view = self._cached[i]
        if array is not value:
            stop_caching(view)
            # Two arguments may be one memory.
            same = (v for a, v in self._cached[:i] if a is value)
            view = next(same, None) or view_of(value)
            start_caching(view)
            self._cached[i] = (value, view)
        return view


def _stop_caching_all(cached: list[tuple[Any, Any]]) -> None:
    for _, view in cached:
        stop_caching(view)
