"""Pickling of the values that typed code uses: the same bytes in each session."""

import io
import pickle
import random
from typing import Any, ClassVar, Final

# The pickler that is written in Python; type checkers know that in C alone.
_PythonPickler: Final[Any] = pickle._Pickler


def pickle_value(value: object, most: int) -> bytes:
    """Return a value as bytes that do not depend on the order of sets; without that above `most`.

    Raises
    ------
    ValueError
        If it has a generator of random numbers, which would be copied with its state.
    """
    data = pickle.dumps(value)  # in C: fast where the value is too large
    return data if len(data) > most else _pickle_sorted(value)


def _pickle_sorted(value: object) -> bytes:
    file = io.BytesIO()
    _SortingPickler(file).dump(value)
    return file.getvalue()


class _SortingPickler(_PythonPickler):  # type: ignore[misc]
    """A pickler in Python, since that in C cannot be told how to pickle sets."""

    dispatch: ClassVar = dict(_PythonPickler.dispatch)

    def save(self, value: Any, *more: Any, **named: Any) -> None:
        """Pickle a value, or refuse a generator of random numbers."""
        kind = type(value)
        if isinstance(value, random.Random) or (
            kind.__module__.startswith("numpy.random") and not isinstance(value, type)
            and hasattr(value, "__getstate__") and kind.__name__ != "builtin_function_or_method"
        ):  # fmt: skip
            raise ValueError(
                "a generator of random numbers would be copied with its state, so that all "
                "processes draw the same: make it inside the function"
            )
        super().save(value, *more, **named)

    def _save_set(self, value: Any) -> None:
        # Sorted by their pickles, since elements of a set need not be comparable.
        elements = sorted(value, key=_pickle_sorted)
        self.save_reduce(type(value), (elements,), obj=value)

    dispatch[set] = _save_set
    dispatch[frozenset] = _save_set
