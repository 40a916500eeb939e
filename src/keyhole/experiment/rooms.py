"""The settings there are, and how a spec's problem becomes one of theirs."""

import importlib.util
import inspect
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import keyhole.thresholding
from keyhole.core.policy import Policy
from keyhole.core.validate import choice
from keyhole.core.world import Problem
from keyhole.data import crowd, read_labels_csv

ROOMS: Final[dict[str, ModuleType]] = {"thresholding": keyhole.thresholding}
"""Every setting's room, by name."""

_SOURCES: Final = ("means", "crowd", "labels")


def policies_of(setting: str) -> dict[str, type[Policy]]:
    """Return a room's policies, by name.

    Parameters
    ----------
    setting : str
        The name of the room.

    Returns
    -------
    dict of str to Policy class
        In the order in which the room lists them.
    """
    room = ROOMS[setting]
    found = ((name, getattr(room, name)) for name in room.__all__)
    return {
        name: value
        for name, value in found
        if inspect.isclass(value)
        and issubclass(value, Policy)
        and value.__module__.startswith(f"{room.__name__}.policies.")
    }


def make_problem(table: Mapping[str, Any], folder: Path) -> Problem:
    """Make the problem that a spec's table describes.

    Parameters
    ----------
    table : mapping
        The table ``[problem]``.
    folder : Path
        What paths in it are relative to.

    Returns
    -------
    Problem
        The problem.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        If an entry is missing, unknown or not allowed.
    """
    entries = dict(table)
    if "setting" not in entries:
        raise ValueError(f"setting must be given: one of {', '.join(ROOMS)}")
    choice("setting", entries.pop("setting"), ROOMS)
    given = [name for name in _SOURCES if name in entries]
    if len(given) != 1:
        raise ValueError(f"exactly one of {', '.join(_SOURCES)} must be given, got {given}")
    source = entries.pop(given[0])
    allowed = ("threshold", "law", "concentration") if given[0] == "means" else ("threshold",)
    for name in entries:
        choice("entry", name, ("setting", given[0], *allowed))
    if given[0] == "means":
        if "threshold" not in entries:
            raise ValueError("threshold must be given")
        problem: Problem = keyhole.thresholding.Problem(source, **entries)
        return problem
    if not isinstance(source, str):
        raise TypeError(f"{given[0]} must be a text, got {source!r}")
    if given[0] == "crowd":
        return crowd(source, **entries)
    return crowd(read_labels_csv(folder / source), **entries)


def make_policy(table: Mapping[str, Any], setting: str, folder: Path) -> Policy:
    """Make the policy that an entry of a spec describes.

    Parameters
    ----------
    table : mapping
        One table ``[[policy]]``, without its label.
    setting : str
        The name of the room.
    folder : Path
        Where a policy of the user's own is looked for (``name = "file.py:Class"``).

    Returns
    -------
    Policy
        The policy.

    Raises
    ------
    TypeError, ValueError, FileNotFoundError
        If the name or a parameter is missing, unknown or not allowed.
    """
    parameters = dict(table)
    name = parameters.pop("name", None)
    if not isinstance(name, str):
        raise TypeError(f"name must be a text, got {name!r}")
    if ":" in name:
        return _users_policy(name, folder).from_parameters(parameters)
    known = policies_of(setting)
    return known[choice("name", name, known)].from_parameters(parameters)


def _users_policy(name: str, folder: Path) -> type[Policy]:
    file, _, class_name = name.rpartition(":")
    path = folder / file
    if not path.is_file():
        raise FileNotFoundError(f"name: there is no file {file!r} beside the spec")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"name: {file!r} must be a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    found = getattr(module, class_name, None)
    if not (inspect.isclass(found) and issubclass(found, Policy)):
        raise ValueError(f"name: {file!r} has no policy {class_name!r}")
    return found
