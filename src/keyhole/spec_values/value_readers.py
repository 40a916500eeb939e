"""Readers of values in a file: plain values, paths, and tables that name a type."""

import inspect
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keyhole.validation import check_choice, short_repr

ValueReader = Callable[[str, Any, Path], Any]
"""A function of a field's path (``problem.cost``), its value and the folder of the file.

It returns the argument of a factory. An error that mentions the field begins with the path."""


def plain_value(field: str, value: object) -> Any:
    """Return a value in the types that a file can hold: texts, numbers, lists and tables.

    Arrays and tuples become lists; any other type is refused with a TypeError that names the field.

    Examples
    --------
    >>> plain_value("problem", {"means": np.array([0.25, 0.5]), "threshold": np.float64(0.5)})
    {'means': [0.25, 0.5], 'threshold': 0.5}
    """
    if isinstance(value, np.ndarray | np.generic):
        # NumPy's numbers are neither JSON nor TOML, although some of them are Python floats too.
        value = value.tolist()
    if isinstance(value, Mapping):
        if invalid_keys := [key for key in value if not isinstance(key, str)]:
            raise TypeError(f"{field} must have texts as keys, got {invalid_keys[0]!r}")
        return {key: plain_value(f"{field}.{key}", entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(f"{field}[{i}]", entry) for i, entry in enumerate(value)]
    if isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"{field} must be a text, a number, a list or a table, got {value!r}")


def file_path(field: str, value: object, folder: Path) -> Path:
    """Return the path in a field, taken relative to the folder; the file need not exist."""
    if not isinstance(value, str) or not value:
        raise TypeError(f"{field} must be the name of a file, got {short_repr(value)}")
    return folder / value


def tagged_union_reader(*functions: Callable[..., Any], tag: str = "distribution") -> ValueReader:
    """Return a reader of tables such as ``{ function = "Power", slope = 0.1 }``.

    The entry `tag` names one of the types or functions; the other entries are its parameters.

    Examples
    --------
    >>> from pathlib import Path
    >>> class Power:
    ...     def __init__(self, slope):
    ...         self.slope = slope
    >>> read = tagged_union_reader(Power, tag="function")
    >>> read("cost", {"function": "Power", "slope": 0.1}, Path()).slope
    0.1
    >>> read("cost", {"function": "Powre", "slope": 0.1}, Path())
    Traceback (most recent call last):
    ValueError: cost.function must be one of Power; got 'Powre' (did you mean 'Power'?)
    """
    makers = {make.__name__: make for make in functions}

    def read(field: str, value: object, folder: Path) -> object:
        if not isinstance(value, Mapping):
            raise TypeError(
                f"{field} must be a table with the entry {tag!r}, got {short_repr(value)}"
            )
        if tag not in value:
            raise ValueError(f"{field}.{tag} must be given: one of {', '.join(makers)}")
        make = makers[check_choice(f"{field}.{tag}", value[tag], makers)]
        arguments = {name: entry for name, entry in value.items() if name != tag}
        # Python's own errors would name arguments of the call, and not the field of the file.
        parameters = inspect.signature(make).parameters
        for name in arguments:
            check_choice(f"{field}: each parameter of {make.__name__}", name, parameters)
        for name, parameter in parameters.items():
            if parameter.default is parameter.empty and name not in arguments:
                raise TypeError(f"{field}.{name} must be given for {make.__name__}")
        try:
            return make(**arguments)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{field}.{error}") from error

    return read


def tagged_value_reader(*functions: Callable[..., Any]) -> ValueReader:
    """Return a reader of a name, or of a name with its value, such as ``{ given = [3, 1] }``.

    The reader calls the type or function of that name, with the value if there is one. A name alone
    needs a type or function without required parameters.

    Examples
    --------
    >>> from pathlib import Path
    >>> def cyclic():
    ...     return "around"
    >>> def given(sequence):
    ...     return sequence
    >>> read = tagged_value_reader(cyclic, given)
    >>> read("order", "cyclic", Path()), read("order", {"given": [3, 1]}, Path())
    ('around', [3, 1])
    """
    # A type whose parameters all have defaults is in both dicts: a file can have `"Name"` and
    # `{Name = value}`.
    makers_without_value = {}
    makers_with_value = {}
    for make in functions:
        parameters = inspect.signature(make).parameters.values()
        if all(parameter.default is not parameter.empty for parameter in parameters):
            makers_without_value[make.__name__] = make
        if parameters:
            makers_with_value[make.__name__] = make

    def read(field: str, value: object, folder: Path) -> object:
        if isinstance(value, str):
            return makers_without_value[check_choice(field, value, makers_without_value)]()
        if isinstance(value, Mapping) and len(value) == 1:
            name, argument = next(iter(value.items()))
            return makers_with_value[check_choice(field, name, makers_with_value)](argument)
        raise TypeError(
            f"{field} must be a name, or one name with its value, got {short_repr(value)}"
        )

    return read


def list_of(read: ValueReader) -> ValueReader:
    """Return a reader of a list of tables, each of which `read` reads."""

    def read_all(field: str, value: object, folder: Path) -> list[object]:
        if not isinstance(value, list) or not value:
            raise TypeError(f"{field} must be a list of tables, got {short_repr(value)}")
        return [read(f"{field}[{i}]", entry, folder) for i, entry in enumerate(value)]

    return read_all
