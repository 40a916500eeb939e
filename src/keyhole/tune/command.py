"""Commands: templates whose fields are filled in for each run."""

import itertools
import math
import shlex
import shutil
import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from keyhole.spec_values import unknown_name_error
from keyhole.tune.function_arms import parse_target
from keyhole.validate import check_distinct, check_line, short_repr, suggestion

OF_THE_RUN: Final = ("instance", "seed", "limit")
"""Fields that every run has."""
Parameter = str | int | float | bool
_MOST_ARMS: Final = 10_000


@dataclass(frozen=True)
class Arm:
    """A command that may be run, or a function.

    Attributes
    ----------
    name : str
        What it is called.
    command : tuple of str
        Its words, with fields in braces: ``{instance}``, ``{seed}``, ``{limit}``, its parameters,
        and further columns of the instances. No shell reads it.
    parameters : mapping
        Values of further fields.
    function : str
        Instead of a command: where to find a function of Python, as ``module:name``.
    """

    name: str
    command: tuple[str, ...] = ()
    parameters: Mapping[str, Parameter] = field(default_factory=dict)
    function: str = ""

    def format_command(self, fields: Mapping[str, Any]) -> list[str]:
        """Return the command with its fields filled in."""
        given = {**fields, **self.parameters}
        return [_filled(word, given) for word in self.command]

    def template(self) -> list[str]:
        """Return the command with its own parameters filled in, and all other fields as written."""
        return [_filled(word, self.parameters) for word in self.command]

    def check(
        self, path: str, fields: Mapping[str, Any], folder: Path, search: str | None = None
    ) -> None:
        """Refuse fields that there are not, and a program that cannot be found.

        `fields` are those of some run; `search` stands for the ``PATH`` of this process.
        """
        known = list(dict.fromkeys([*fields, *self.parameters]))
        for word in self.command:
            for name in _fields(path, word):
                if name not in known:
                    listed = ", ".join(f"{{{one}}}" for one in known)
                    more = "; instances must be given for it" if name == "instance" else ""
                    raise ValueError(
                        f"{path}: there is no field {{{name}}}; known are {listed}"
                        f"{suggestion(name, known)}{more}"
                    )
        try:
            self.format_command(fields)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{path}: its fields cannot be written so: {error}") from None
        if self.function or _fields(path, program := self.command[0]):
            return
        if shutil.which(folder / program if "/" in program else program, path=search) is None:
            raise ValueError(f"{path}: there is no program {program!r} that can be run here")


def arms_of(value: Any) -> tuple[Arm, ...]:
    """Return the arms that the tables ``[[arm]]`` describe; a grid of parameters makes several."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise TypeError(f"arm must be a list of tables, [[arm]], got {short_repr(value)}")
    arms = [arm for i, table in enumerate(value) for arm in _arms(f"arm[{i}]", table)]
    check_distinct("names of arms", [arm.name for arm in arms])
    return tuple(arms)


_ENTRIES: Final = ("name", "command", "function", "parameters", "grid")


def _arms(path: str, table: Any) -> list[Arm]:
    if not isinstance(table, Mapping):
        raise TypeError(f"{path} must be a table, got {short_repr(table)}")
    for entry in table:
        if entry not in _ENTRIES:
            raise unknown_name_error(f"{path}.{entry}", _ENTRIES)
    if "name" not in table:
        raise ValueError(f"{path}.name must be given")
    if ("command" in table) == ("function" in table):
        raise ValueError(f"{path} must have either a command or a function")
    name = check_line(f"{path}.name", table["name"])
    command = _split(f"{path}.command", table["command"]) if "command" in table else ()
    function = parse_target(f"{path}.function", table["function"]) if "function" in table else ""
    return [
        Arm(_called(name, several, parameters), command, parameters, function)
        for several, parameters in _settings(path, table)
    ]


def _called(name: str, several: bool, parameters: Mapping[str, Parameter]) -> str:
    if not several:
        return name
    words = [name, *(f"{key}={value}" for key, value in parameters.items())]
    return check_line("names of arms", " ".join(words))


def _settings(path: str, table: Mapping[str, Any]) -> list[tuple[bool, dict[str, Parameter]]]:
    """Return the parameters of each arm that a table makes, and whether it may make several."""
    if "parameters" in table and "grid" in table:
        raise ValueError(f"{path} must have parameters or a grid, got both")
    if "grid" in table:
        grid = _named(f"{path}.grid", table["grid"])
        for key, values in grid.items():
            if not isinstance(values, Sequence) or isinstance(values, str) or not values:
                raise TypeError(
                    f"{path}.grid.{key} must be a list of values, got {short_repr(values)}"
                )
        if (several := math.prod(map(len, grid.values()))) > _MOST_ARMS:
            raise ValueError(f"{path}.grid must make at most {_MOST_ARMS:,} arms, got {several:,}")
        rows = [dict(zip(grid, row, strict=True)) for row in itertools.product(*grid.values())]
        return [(True, _plain(f"{path}.grid", row)) for row in rows]
    given = table.get("parameters", {})
    if isinstance(given, Mapping):
        return [(False, _plain(f"{path}.parameters", _named(f"{path}.parameters", given)))]
    if not isinstance(given, Sequence) or isinstance(given, str) or not given:
        raise TypeError(
            f"{path}.parameters must be a table or a list of them, got {short_repr(given)}"
        )
    return [
        (True, _plain(where, _named(where, row)))
        for where, row in ((f"{path}.parameters[{i}]", row) for i, row in enumerate(given))
    ]


def _named(path: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping) or not value:
        if value == {}:
            return {}
        raise TypeError(f"{path} must be a table, got {short_repr(value)}")
    for name in value:
        if not isinstance(name, str) or not name.isidentifier() or name in OF_THE_RUN:
            raise ValueError(
                f"{path}.{name} must be a name of letters that is not {', '.join(OF_THE_RUN)}"
            )
    return dict(value)


def _plain(path: str, row: Mapping[str, Any]) -> dict[str, Parameter]:
    for name, value in row.items():
        if not isinstance(value, str | int | float):
            raise TypeError(f"{path}.{name} must be a text or a number, got {short_repr(value)}")
        if isinstance(value, str) and "\0" in value:
            raise ValueError(f"{path}.{name} must have no character 0, got {short_repr(value)}")
    return dict(row)


def _split(path: str, value: Any) -> tuple[str, ...]:
    if isinstance(value, str):
        try:
            words = shlex.split(value)
        except ValueError as error:
            raise ValueError(f"{path} must be words as in a shell: {error}") from None
    elif isinstance(value, Sequence) and all(isinstance(word, str) for word in value):
        words = list(value)
    else:
        raise TypeError(f"{path} must be a text, or a list of texts, got {short_repr(value)}")
    if not words or not words[0]:
        raise ValueError(f"{path} must begin with a program, got {short_repr(value)}")
    for word in words:
        if "\0" in word:
            raise ValueError(f"{path} must have no character 0, got {short_repr(value)}")
        _fields(path, word)
    return tuple(words)


def _fields(path: str, word: str) -> list[str]:
    """Return the fields of a word; ``{{`` is a brace."""
    try:
        parts = list(string.Formatter().parse(word))
    except ValueError as error:
        raise ValueError(
            f"{path}: {error} in {short_repr(word)}; a brace is written twice"
        ) from None
    for _, name, _, conversion in parts:
        if conversion:
            raise ValueError(f"{path}: {{{name}}} must have no conversion, got !{conversion}")
    return [name for _, name, _, _ in parts if name is not None]


def _filled(word: str, fields: Mapping[str, Any]) -> str:
    made = []
    for text, name, spec, _ in string.Formatter().parse(word):
        made.append(text)
        if name is not None and name in fields:
            value = fields[name]
            written = format(value, spec or "")
            whole = isinstance(value, float) and not spec
            made.append(written.removesuffix(".0") if whole else written)
        elif name is not None:
            made.append(f"{{{name}:{spec}}}" if spec else f"{{{name}}}")
    return "".join(made)
