"""A cached property without a lock."""

import functools
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property as cached_property
else:

    class cached_property(functools.cached_property):
        """A property that is computed once for each object, like `functools.cached_property`.

        Before Python 3.12, Python's own class has a lock that all objects of a class share. If a
        process is forked while another thread computes the value, the child inherits the locked
        lock, and hangs. This class takes no lock, so two threads may both compute the value.

        Parameters
        ----------
        compute : callable
            A function that returns the value for an object.
        """

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            """Compute the value and store it in the object, so that later accesses find it."""
            if instance is None:
                return self
            value = vars(instance)[self.attrname] = self.func(instance)
            return value
