"""Entries of a spec: plain values, and complaints about names that are not known."""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any

import numpy as np


def unknown(path: str, known: Iterable[str]) -> ValueError:
    """Return the complaint about an entry that there is not.

    Parameters
    ----------
    path : str
        The entry as a reader finds it, such as ``problem.treshold``.
    known : iterable of str
        The names that could stand there.

    Returns
    -------
    ValueError
        To be raised.

    Examples
    --------
    >>> unknown("problem.treshold", ["means", "threshold"])
    ValueError("problem.treshold is not known; known are means, threshold (did you mean \
'threshold'?)")
    """
    words = list(known)
    close = get_close_matches(path.rpartition(".")[2], words, 1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    listed = f"known are {', '.join(words)}" if words else "there are none here"
    return ValueError(f"{path} is not known; {listed}{hint}")


def plain(path: str, value: Any) -> Any:
    """Return a value as texts, numbers, lists and tables: what a spec file can hold.

    Parameters
    ----------
    path : str
        Where it stands, for the error message.
    value : Any
        The value; arrays and tuples become lists.

    Returns
    -------
    str, bool, int, float, list or dict
        The same, in these types alone.

    Raises
    ------
    TypeError
        If it holds anything else.

    Examples
    --------
    >>> plain("problem", {"means": np.array([0.25, 0.5]), "threshold": np.float64(0.5)})
    {'means': [0.25, 0.5], 'threshold': 0.5}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {_name(path, key): plain(f"{path}.{key}", entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [plain(f"{path}[{i}]", entry) for i, entry in enumerate(value)]
    if isinstance(value, str | bool | int | float):
        return value
    raise TypeError(f"{path} must be a text, a number, a list or a table, got {value!r}")


def _name(path: str, key: Any) -> str:
    if not isinstance(key, str):
        raise TypeError(f"{path} must have texts for names, got {key!r}")
    return key
