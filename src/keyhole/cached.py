"""Properties that are computed when they are first asked for."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_T = TypeVar("_T")


class cached_property(Generic[_T]):
    """A property that is computed once for each object, as by `functools.cached_property`.

    Until Python 3.12 that one has a lock, and all objects of a class share it. A process that is
    forked while another thread computes inherits it locked, and hangs. This one has none: threads
    that ask at once may compute the same twice.

    Parameters
    ----------
    compute : callable
        Returns the value, given the object.
    """

    def __init__(self, compute: Callable[[Any], _T]) -> None:
        self.compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        """Take the name under which the object keeps the value."""
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type | None = None) -> Self: ...

    @overload
    def __get__(self, instance: object, owner: type | None = None) -> _T: ...

    def __get__(self, instance: object | None, owner: type | None = None) -> Self | _T:
        """Compute the value; later on it is found in the object, and nobody comes here."""
        if instance is None:
            return self
        value = vars(instance)[self.name] = self.compute(instance)
        return value
