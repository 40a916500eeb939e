"""Rules for which arrays a value in a kernel (compiled function) may share memory with.

They are for the analysis of which arrays a policy's kernels write: writing to a view counts.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final, NamedTuple

from keyhole.draws.argmin_tree import argmin
from keyhole.kernels.fingerprint import python_function


class View(NamedTuple):
    """An array that a value may be a view of; the name is "" for the state as a whole."""

    array: str
    axes: int  # the number of axes left: a single number is no view
    tuples: int = 0  # the number of nested tuples around it


Views = frozenset[View]

NOTHING: Final[Views] = frozenset()
STATE: Final[Views] = frozenset({View("", 0)})
SLICE: Final[Views] = frozenset({View("a slice", 0)})
"""No view, but an index that takes no axis away."""
# A loop can nest tuples without end; beyond this depth the analysis gives up, so that it ends.
DEEPEST: Final = 4
"""The depth of tuples to which arrays are followed."""

READING: Final = (
    "all", "any", "argmax", "argmin", "count_nonzero", "dot", "max", "mean", "min", "prod",
    "searchsorted", "std", "sum", "var",
)  # fmt: skip
"""Functions of NumPy, and methods of arrays, that return numbers and change nothing."""
READING_KERNELS: Final = (python_function(argmin),)
"""Keyhole's own functions that change nothing, made of vector instructions that have no lines."""
PAIRING: Final = (enumerate, zip)

_READING_BUILTINS: Final = (abs, bool, float, int, max, min, print, range, round, sum)
_SIZES: Final = ("shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides")


def views_of_attribute(views: Views, name: str, lengths: Mapping[str, int]) -> Views:
    """Return the views that an attribute of a value may be; `lengths` has the arrays' axes."""
    found: set[View] = set()
    for view in views:
        if view.array == "" and not view.tuples:
            if name in lengths:
                found.add(View(name, lengths[name]))
        elif name not in _SIZES:
            found.add(view)
    return frozenset(found)


def views_of_entry(views: Views, taken: int, lengths: Mapping[str, int]) -> Views:
    """Return the views that an entry of an array or tuple may be, if its index takes `taken` axes.

    The entry of an array of one axis is a number: no view.
    """
    found: set[View] = set()
    for view in views:
        if view.tuples:
            found.add(view._replace(tuples=view.tuples - 1))
        elif view.array == "":
            found |= {View(name, axes) for name, axes in lengths.items()}
        else:
            found.add(view._replace(axes=max(view.axes - taken, 0)))
    return frozenset(v for v in found if v.axes or v.tuples or v.array not in lengths)


def is_read_only(called: Any, given: int, named: Collection[str]) -> bool:
    """Return whether a function of Python or NumPy changes none of its arguments."""
    if called in _READING_BUILTINS:
        return True
    module = str(getattr(called, "__module__", ""))
    plain = getattr(called, "__name__", "") in READING and given <= 2
    return module.split(".")[0] == "numpy" and plain and set(named) <= {"axis"}
