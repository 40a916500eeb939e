"""Problems, policies and simulated workers, which are made from the tables of a spec file."""

import inspect
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final, cast

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.distributions.busy_times import parse_duration
from keyhole.experiment import setting_registry
from keyhole.files import explain_os_error, refuse_utf_16
from keyhole.former_names import find_new_name
from keyhole.interrupts import replace_user_errors
from keyhole.play.plan_pickling import allow_sibling_imports
from keyhole.play.simulation_plan import SimulatedWorkers
from keyhole.spec_values import unknown_name_error
from keyhole.status_output import redirect_prints
from keyhole.validation import check_choice, short_repr, suggestion, warn_user

WORKER_ENTRIES: Final = ("workers", "duration", "pending")
"""Entries of a spec, and of each of its policies, that describe simulated workers."""


def make_problem(table: Mapping[str, Any], folder: Path) -> Problem:
    """Make the problem that a spec's table ``[problem]`` describes.

    Paths in the table are relative to the folder; errors name the entry.

    Examples
    --------
    >>> table = {"setting": "thresholding", "means": [0.2, 0.7], "threshold": 0.5}
    >>> make_problem(table, Path())
    Problem(2 bernoulli arms, means=[0.2, 0.7], threshold=0.5)
    """
    entries = dict(table)
    if "setting" not in entries:
        raise ValueError(
            f"problem.setting must be given: one of {', '.join(setting_registry.setting_names())}"
        )
    setting = setting_registry.find_setting(entries.pop("setting"), "problem.setting")
    factories = setting.problem_factories
    factory_names = [name for name in factories if name in entries]
    if len(factory_names) != 1:
        # An unknown entry may be the misspelt name of a factory.
        misspellings = (f"none{hint}" for name in entries if (hint := suggestion(name, factories)))
        got = " and ".join(factory_names) or next(misspellings, "none")
        raise ValueError(f"problem must have exactly one of {', '.join(factories)}; got {got}")
    return factories[factory_names[0]].problem(factory_names[0], entries, folder)


def make_workers(table: Mapping[str, Any]) -> SimulatedWorkers:
    """Make the simulated workers that the entries `WORKER_ENTRIES` of a spec describe.

    Raises
    ------
    TypeError, ValueError
        If an entry is not allowed; the message begins with its name.

    Examples
    --------
    >>> make_workers({"workers": 8, "duration": {"distribution": "Exponential"}, "pending": None})
    SimulatedWorkers(number=8, duration=Exponential(mean=1.0), pending=None)
    """
    entry = table["duration"]
    duration = {} if entry is None else {"duration": parse_duration(entry)}
    return SimulatedWorkers(table["workers"], pending=table["pending"], **duration)


def make_policy(table: Mapping[str, Any], setting: str, folder: Path) -> Policy:
    """Make the policy that a table ``[[policy]]`` describes, given its name and parameters alone.

    The file of a user's policy (``name = "file.py:Class"``) is relative to the folder. Errors begin
    with the name of the entry.
    """
    parameters = dict(table)
    if "name" not in parameters:
        raise ValueError("name must be given")
    name = parameters.pop("name")
    if not isinstance(name, str):
        raise TypeError(f"name must be a text, got {name!r}")
    policy_class = find_policy_class(name, setting, folder)
    _check_parameter_names(policy_class, parameters)
    if not is_policy_file(name):
        return policy_class.from_parameters(parameters)

    def replace_error(error: BaseException) -> BaseException:
        # Such an error comes from a check of a parameter, and its message is written for users.
        if isinstance(error, TypeError | ValueError):
            return error
        reason = _describe_error(error, folder / name.rpartition(":")[0])
        return ValueError(f"name: {name!r} cannot be made: {reason}")

    with replace_user_errors(replace_error), redirect_prints():  # a user's class may do anything
        return policy_class.from_parameters(parameters)


def find_policy_class(
    name: str, setting: str, folder: Path, *, field: str = "name"
) -> type[Policy]:
    """Return the class of a policy of the setting, or of a user's file, by its name.

    Errors begin with `field`.
    """
    if is_policy_file(name):
        return import_user_policy(name, folder, field=field)
    registered = setting_registry.find_setting(setting)
    _, new_name = find_new_name(registered.module.__name__, name)
    if new_name != name:
        warn_user(f"the policy {name!r} is {new_name!r} now; its former name will be gone in 0.4")
    return registered.policies[check_choice(field, new_name, registered.policies)]


def _check_parameter_names(policy_class: type[Policy], parameters: Mapping[str, Any]) -> None:
    """Refuse unknown parameters of a policy, and missing parameters that have no default."""
    fields_by_name = {field.name: field for field in fields(cast(Any, policy_class))}
    for name in parameters:
        if name not in fields_by_name and not fields_by_name:
            raise ValueError(f"{name} must be left out: {policy_class.__name__} has no parameters")
        if name not in fields_by_name:
            raise unknown_name_error(name, fields_by_name)
    for name, field in fields_by_name.items():
        is_required = field.default is MISSING and field.default_factory is MISSING
        if is_required and name not in parameters:
            raise TypeError(f"{name} must be given")


def is_policy_file(name: str) -> bool:
    """Return whether the name of a policy names a user's file, even without a class."""
    return ":" in name or name.endswith(".py")


def import_user_policy(name: str, folder: Path, *, field: str = "name") -> type[Policy]:
    """Return the class ``file.py:Class`` of a user's file; errors begin with `field`."""
    file, colon, class_name = name.rpartition(":") if ":" in name else (name, "", "")
    module = import_user_file(file, folder, field=field)
    policy_class = getattr(module, class_name, None)
    if _is_policy(policy_class):
        return cast(type[Policy], policy_class)
    names = [
        n for n, c in vars(module).items() if _is_policy(c) and c.__module__ == module.__name__
    ]
    listing = f"it defines {', '.join(names)}" if names else "it defines no policy"
    if not colon:
        raise ValueError(f"{field}: {file!r} must be followed by a class, {file}:CLASS; {listing}")
    raise ValueError(
        f"{field}: {file!r} has no policy {class_name!r}; {listing}{suggestion(class_name, names)}"
    )


def import_user_policies(names: Sequence[str]) -> list[type[Policy]]:
    """Return the classes that `--policy` names; also import the packages that add settings."""
    # Policies of installed packages are found by name only after their import.
    setting_registry.import_plugins()
    for name in names:
        if not is_policy_file(name):
            raise ValueError(f"--policy must be FILE.py:CLASS, got {short_repr(name)}")
    return [import_user_policy(name, Path(), field="--policy") for name in names]


def import_user_file(file: str, folder: Path, *, field: str) -> ModuleType:
    """Import a user's Python file in a folder; errors are one line that begins with `field`."""
    path = folder / file
    if not path.is_file():
        raise FileNotFoundError(f"{field}: there is no file {file!r} in {str(folder)!r}")
    if path.suffix != ".py":
        raise ValueError(f"{field}: {file!r} must be a Python file")
    try:
        source = path.read_bytes()
    except OSError as error:
        raise ValueError(f"{field}: {file!r} cannot be read: {explain_os_error(error)}") from error

    refuse_utf_16(source, f"{field}: {file!r}")

    def replace_error(error: BaseException) -> ValueError:
        return ValueError(f"{field}: {file!r} cannot be imported: {_describe_error(error, path)}")

    with replace_user_errors(replace_error):  # a user's file may raise anything
        return _import_file(path, source)


def _is_policy(value: Any) -> bool:
    return inspect.isclass(value) and issubclass(value, Policy)


@lru_cache(maxsize=64)
def _import_file(path: Path, source: bytes) -> ModuleType:
    """Import a user's file, which may import its siblings.

    A file is imported again only after its source has changed, so that its classes stay the same
    objects.
    """
    # `import` would not notice an edit within a second that keeps the length of the file, since
    # its bytecode cache compares only time and length.
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    with allow_sibling_imports(path.parent), redirect_prints():
        exec(compile(source, str(path), "exec"), module.__dict__)
    return module


def _describe_error(error: BaseException, path: Path) -> str:
    """Return the type and message of an error in a file, and the number of its line if known."""
    frames = reversed(traceback.extract_tb(error.__traceback__))
    line = next((frame.lineno for frame in frames if frame.filename == str(path)), None)
    message = str(error)
    if isinstance(error, SyntaxError) and error.filename == str(path):
        message = error.msg
        line = error.lineno
    text = ": ".join(filter(None, (type(error).__name__, " ".join(message.split()))))
    return text if line is None else f"{text} (line {line})"
