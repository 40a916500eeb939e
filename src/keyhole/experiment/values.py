"""Values that a spec writes as a table: the name of a class, and what to make it with."""

import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keyhole.experiment.sources import Read
from keyhole.validate import choice


def one_of(*classes: type) -> Read:
    """Return what reads a table such as ``{ law = "Power", slope = 0.1 }``.

    Parameters
    ----------
    *classes : type
        What the table may name, by their own names.

    Returns
    -------
    callable
        From the table to an object. Errors begin with ``entry``, which stands for its name.

    Examples
    --------
    >>> from keyhole.resource import Power
    >>> one_of(Power)({"law": "Power", "slope": 0.1}, Path())
    Power(slope=0.1)
    """
    known = {cls.__name__: cls for cls in classes}

    def read(value: Any, folder: Path) -> Any:
        if not isinstance(value, Mapping):
            raise TypeError(f"entry must be a table with the entry 'law', got {value!r}")
        cls = known[choice("entry.law", value.get("law"), known)]
        given = {name: part for name, part in value.items() if name != "law"}
        wanted = inspect.signature(cls).parameters
        for name in given:
            choice(f"entry: each parameter of {cls.__name__}", name, wanted)
        for name, one in wanted.items():
            if one.default is one.empty and name not in given:
                raise TypeError(f"entry.{name} must be given for {cls.__name__}")
        try:
            return cls(**given)
        except (TypeError, ValueError) as error:
            raise ValueError(f"entry.{error}") from error

    return read


def list_of(read: Read) -> Read:
    """Return what reads a list of such tables.

    Parameters
    ----------
    read : callable
        Reads one of them.

    Returns
    -------
    callable
        From the list to a list of objects.
    """

    def read_all(value: Any, folder: Path) -> Any:
        if not isinstance(value, list) or not value:
            raise TypeError(f"entry must be a list of tables, got {value!r}")
        found = []
        for i, one in enumerate(value):
            try:
                found.append(read(one, folder))
            except (TypeError, ValueError) as error:
                raise ValueError(str(error).replace("entry", f"entry[{i}]", 1)) from error
        return found

    return read_all
