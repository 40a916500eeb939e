"""A cached property without a lock."""

from collections.abc import Callable
from typing import Any, Generic, Self, TypeVar, overload

_T = TypeVar("_T")


class cached_property(Generic[_T]):
    """A property that is computed once for each object, like `functools.cached_property`.

    Before Python 3.12 that one has a lock, which all objects of a class share. A process that is
    forked while another thread computes inherits the lock locked, and hangs. This class has no
    lock: two threads may compute the same value.

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
        """Compute the value and store it in the object, where later accesses find it."""
        if instance is None:
            return self
        value = vars(instance)[self.name] = self.compute(instance)
        return value
