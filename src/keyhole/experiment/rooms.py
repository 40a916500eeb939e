"""The rooms there are, what is in them, and how a spec's entry becomes a policy."""

import importlib
import importlib.util
import inspect
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, fields
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from keyhole.contract.policy import Policy
from keyhole.contract.world import World, measured
from keyhole.experiment.entries import unknown
from keyhole.experiment.problems import SOURCES
from keyhole.metric import Metric
from keyhole.validate import choice

ROOMS: Final[dict[str, ModuleType]] = {
    name: importlib.import_module(f"keyhole.{name}") for name in SOURCES
}
"""Every setting's room, by name."""


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


def metrics_of(setting: str) -> dict[str, Metric]:
    """Return what the worlds of a room measure, what all of them measure first, details last.

    Parameters
    ----------
    setting : str
        The name of the room.

    Returns
    -------
    dict of str to Metric
        By name; a metric of each arm once.
    """
    lists = [measured(world) for world in worlds_of(setting) if hasattr(world, "metrics")]
    found = {metric.name: metric for metrics in lists for metric in metrics}
    rare = {name: not all(name in {m.name for m in one} for one in lists) for name in found}
    return {name: found[name] for name in sorted(found, key=lambda n: (found[n].detail, rare[n]))}


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
        If the name or a parameter is missing, unknown or not allowed; the message begins with
        its name.
    """
    parameters = dict(table)
    if "name" not in parameters:
        raise ValueError("name must be given")
    name = parameters.pop("name")
    if not isinstance(name, str):
        raise TypeError(f"name must be a text, got {name!r}")
    if ":" not in name:
        known = policies_of(setting)
        policy = known[choice("name", name, known)]
        _check_names(policy, parameters)
        return policy.from_parameters(parameters)
    policy = users_policy(name, folder)
    _check_names(policy, parameters)
    try:
        return policy.from_parameters(parameters)
    except (TypeError, ValueError):
        raise
    except Exception as error:  # whatever a stranger's class may do
        reason = _reason(error, folder / name.rpartition(":")[0])
        raise ValueError(f"name: {name!r} cannot be made: {reason}") from error


def _check_names(policy: type[Policy], parameters: Mapping[str, Any]) -> None:
    items = {item.name: item for item in fields(cast(Any, policy))}
    for name in parameters:
        if name not in items:
            raise unknown(name, items)
    for name, item in items.items():
        if name not in parameters and item.default is MISSING and item.default_factory is MISSING:
            raise TypeError(f"{name} must be given")


def users_policy(name: str, folder: Path) -> type[Policy]:
    """Return a policy from a file of the user's own.

    Parameters
    ----------
    name : str
        ``file.py:Class``.
    folder : Path
        What the file's name is relative to.

    Returns
    -------
    Policy class
        The policy.

    Raises
    ------
    FileNotFoundError, ValueError
        If there is no such file or class, or the file cannot be imported; one line.
    """
    file, _, class_name = name.rpartition(":")
    path = folder / file
    if not path.is_file():
        raise FileNotFoundError(f"name: there is no file {file!r} beside the spec")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ValueError(f"name: {file!r} must be a Python file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # whatever a stranger's file may do
        raise ValueError(f"name: {file!r} cannot be imported: {_reason(error, path)}") from error
    found = getattr(module, class_name, None)
    if not (inspect.isclass(found) and issubclass(found, Policy)):
        raise ValueError(f"name: {file!r} has no policy {class_name!r}")
    return found


def _reason(error: BaseException, path: Path) -> str:
    """Return what went wrong in a file, and in which line of it."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    message, line = str(error), lines[-1] if lines else None
    if isinstance(error, SyntaxError) and error.filename == str(path):
        message, line = error.msg, error.lineno
    text = f"{type(error).__name__}: {' '.join(message.split())}"
    return text if line is None else f"{text} (line {line})"


def worlds_of(setting: str) -> list[type[World]]:
    """Return the worlds of a room, abstract ones too.

    Parameters
    ----------
    setting : str
        The name of the room.

    Returns
    -------
    list of World class
        In the order of their definition.
    """
    prefix = f"{ROOMS[setting].__name__}."
    worlds = dict.fromkeys(_below(World))  # some have two bases that are worlds
    return [world for world in worlds if world.__module__.startswith(prefix)]


def _below(cls: type[World]) -> Iterator[type[World]]:
    for one in cls.__subclasses__():
        yield one
        yield from _below(one)
