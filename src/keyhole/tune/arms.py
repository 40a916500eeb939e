"""Arms of a tune: command templates with fields that each run fills in, or Python functions."""

import inspect
import itertools
import json
import math
import re
import shlex
import shutil
import string
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Final, get_origin, get_type_hints

from keyhole.runner import function_process_child
from keyhole.spec_values.error_messages import check_entries
from keyhole.validation import check_line, check_names, short_repr, suggestion

# An escaped character, or a text in quotes.
_QUOTED: Final = re.compile(r"""\\(?:\r\n|.)|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_CONTINUATIONS: Final = ("\\\n", "\\\r\n")
_FIELD_FORMAT: Final = re.compile(r":[^{}]*(?=\})")  # the part :>5 of {limit:>5}, say
# Operators, the end of a line, expansions such as $HOME and $(date), the pattern `*`, and at the
# beginning of a word a home folder or a comment. `?` and `[` are left out, since they mostly belong
# to arguments such as URLs.
_SYNTAX: Final = re.compile(
    r"\|\||&&|>>|<<|[|&;<>`*\n]|\$\(|\$\{?[A-Za-z_]\w*\}?|(?:^|(?<=\s))(?:~(?=/|\s|$)|#)"
)


def find_shell_syntax(text: str) -> str:
    """Return the first piece of a command that only a shell would interpret; "" for none.

    Quoted text counts as an argument, also in double quotes, where a shell would expand `$HOME`:
    `sh -c "echo $HOME"` is fine.

    Examples
    --------
    >>> find_shell_syntax("echo hi | tee log"), find_shell_syntax("sh -c 'echo hi | tee log'")
    ('|', '')
    """
    match = _SYNTAX.search(_FIELD_FORMAT.sub("", _QUOTED.sub("''", text.strip())))
    return match[0] if match else ""


def join_continued_lines(text: str) -> str:
    r"""Join the lines of a command that end with a backslash.

    Examples
    --------
    >>> join_continued_lines("solve \\\n  --fast")
    'solve   --fast'
    """
    return _QUOTED.sub(lambda match: "" if match[0] in _CONTINUATIONS else match[0], text)


def explain_shell_syntax(path: str, text: object) -> str:
    """Return an error message about shell syntax in a command; "" if it has none."""
    # The words of a list are arguments as they are.
    if not isinstance(text, str) or not (syntax := find_shell_syntax(text)):
        return ""
    return (
        f"{path} is run without a shell, but {short_repr(syntax)} needs one: write sh -c '...', or "
        f"quote {short_repr(syntax)} if it is an argument; got {short_repr(text)}"
    )


LOAD_SECONDS: Final = 60.0
"""Seconds beyond the limit that starting Python and importing the function may take."""
TYPED: Final = "<typed>"
"""Module of a function that was typed in a notebook, as version 0.2.0 wrote it."""


def parse_target(path: str, value: object) -> str:
    """Return the target of a function, ``module:name`` or ``file.py:name``.

    `value` is the function itself, or its target.
    """
    if callable(value):
        value = _target_of_function(path, value)
    if not isinstance(value, str) or not all(value.rpartition(":")):
        raise TypeError(f"{path} must be a function, or 'module:name', got {short_repr(value)}")
    return value


def _target_of_function(path: str, function: Callable[..., object]) -> str:
    name = getattr(function, "__qualname__", "")
    module = inspect.getmodule(function)
    if not name.isidentifier() or module is None:
        raise ValueError(
            f"{path} must be a function at the top level of a module or a file, which another "
            f"process can import, got {short_repr(function)}"
        )
    if module.__name__ != "__main__":
        return f"{module.__name__}:{name}"
    if not getattr(module, "__file__", None):
        raise ValueError(
            f"{path} must be in a file, from which a tune can be resumed (in a notebook: begin the "
            f"cell of {name} with %%writefile FILE.py, then import it)"
        )
    return f"{Path(str(module.__file__)).resolve()}:{name}"


def _find_arguments(path: str, target: Any) -> dict[str, bool]:
    """Return the names of a function's arguments, and whether each must be given.

    `target` is the function itself, or its target as text. "**" stands for arbitrary keyword
    arguments.
    """
    try:
        function = target if callable(target) else function_process_child.import_function(target)
        arguments = inspect.signature(function).parameters.values()
    except Exception as error:  # the import runs the code of a user's module
        raise ValueError(f"{path}: the arguments of {target} cannot be read: {error}") from error
    optional_kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    return {
        "**" if argument.kind is argument.VAR_KEYWORD else argument.name:
        argument.default is argument.empty and argument.kind not in optional_kinds
        for argument in arguments
    }  # fmt: skip


def function_command(
    target: str, fields: Mapping[str, object], cells: Sequence[str] = ()
) -> list[str]:
    """Return the command that calls a function with the fields that are its arguments."""
    request = {"path": sys.path, "target": target, "fields": dict(fields), "cells": [*cells]}
    # -P keeps the folder of the script off sys.path: modules in it would hide others.
    return [sys.executable, "-P", str(Path(function_process_child.__file__)), json.dumps(request)]


def parse_function_answer(output: bytes) -> function_process_child.Answer | None:
    """Return the answer to a call of a function; None if its output has no valid answer."""
    # The last mark counts, since the function itself may have printed one before it. Without a mark
    # an empty line is parsed, which has no answer.
    _, mark, tail = output.rpartition(function_process_child.MARK.encode())
    answer = function_process_child.parse_answer(mark and tail.partition(b"\n")[0])
    if answer and (answer.failure or isinstance(answer.result, int | float)):
        return answer
    return None


def is_in_function_process() -> bool:
    """Return whether this process was started to call the function of an arm."""
    return getattr(sys.modules["__main__"], "is_single_call", False) is True


RUN_FIELDS: Final = ("instance", "seed", "limit")
"""Names of the fields that every run has."""
Scalar = str | int | float | bool  # the value of a parameter
_MAX_ARMS: Final = 10_000


@dataclass(frozen=True)
class Arm:
    """An arm of a tune: a command, or a Python function.

    Attributes
    ----------
    name : str
        Name of the arm.
    command : tuple of str
        Program and arguments, with fields in braces: ``{instance}``, ``{seed}``, ``{limit}``,
        parameters, and further columns of the instances. No shell interprets it.
    parameters : mapping
        Values of further fields.
    function : str
        Instead of a command: a Python function, as ``module:name``.
    cells : tuple of str
        In a tune of version 0.2.0: the source of a function that was typed in a notebook.
    shell_error : str
        Error about shell syntax in the command as it was written, or "". It is not saved.
    arguments : mapping of str to bool
        Arguments of the function, and whether each must be given; empty if unknown. Not saved.
    """

    name: str
    command: tuple[str, ...] = ()
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    function: str = ""
    cells: tuple[str, ...] = ()
    shell_error: str = field(default="", compare=False, repr=False)
    arguments: Mapping[str, bool] = field(default_factory=dict, compare=False, repr=False)

    def format_command(self, fields: Mapping[str, object]) -> list[str]:
        """Return the command with its fields filled in."""
        # A parameter of an arm hides a column of the instances that has the same name.
        return [_fill_fields(word, {**fields, **self.parameters}) for word in self.command]

    def configure(self, parameters: Mapping[str, Scalar], inactive: Collection[str]) -> "Arm":
        """Return the arm with these parameters, without the words that name an inactive parameter.

        If such a word is the value of an option, as in ``-rinc {inc}``, the option is left out
        as well.

        Examples
        --------
        >>> arm = Arm("a", ("solve", "-luby={luby}", "-rinc", "{inc}", "{instance}"))
        >>> arm.configure({"luby": "on"}, ["inc"]).template()
        ['solve', '-luby=on', '{instance}']
        """
        command: list[str] = []
        for word in self.command:
            names = _field_names("command", word)
            if not set(names).isdisjoint(inactive):
                is_single_field = word[0] + word[-1] == "{}" and word.count("{") == 1
                if is_single_field and command and _is_option(command[-1]):
                    command.pop()
                continue
            command.append(word)
        return replace(self, command=tuple(command), parameters={**self.parameters, **parameters})

    def template(self) -> list[str]:
        """Return the command with its own parameters filled in, and all other fields as written."""
        return [_fill_fields(word, self.parameters) for word in self.command]

    def open_fields(self) -> list[str]:
        """Return the names of the fields that a run fills in: all but the arm's own parameters."""
        names = [name for word in self.command for name in _field_names("command", word)]
        return [name for name in dict.fromkeys(names) if name not in self.parameters]

    def check(
        self, path: str, fields: Mapping[str, object], folder: Path, search_path: str | None = None
    ) -> None:
        """Refuse unknown fields, bad formats, arguments without a value, and a missing program.

        Errors begin with `path`. `fields` are an example run's fields, `folder` is the working
        directory of the command, and `search_path` replaces the ``PATH`` of this process.
        """
        known_names = list(dict.fromkeys([*fields, *self.parameters]))
        for name in self.open_fields():
            if name not in fields:
                hint = (
                    f"a parameter needs values: in grid = {{ {name} = [1, 2] }} of the arm, or "
                    "in the table [parameters]"
                )
                if name in RUN_FIELDS:
                    hint = "this field needs the entry instances"
                raise ValueError(
                    f"{path}: unknown field {{{name}}}; known are {{{'}, {'.join(known_names)}}}"
                    f"{suggestion(name, known_names)}; {hint}"
                )
        for name, is_required in self.arguments.items():
            if is_required and name not in (*RUN_FIELDS, *known_names):
                raise ValueError(
                    f"{path}: the argument {name} of its function must have a default or another "
                    f"name; all runs have {', '.join(known_names)}{suggestion(name, known_names)}"
                )
        # A format such as {limit:d} fails only once a fraction is filled in.
        try:
            self.format_command(fields)
        except (ValueError, OverflowError) as error:
            raise ValueError(f"{path}: a field cannot be formatted: {error}") from None
        # A program whose name contains a field is known only once a run fills the field in.
        if self.function or _field_names(path, program := self.command[0]):
            return
        # As in the system, a name with a slash is a path, and others are looked up on the PATH.
        program_path = folder / program if "/" in program else program
        if shutil.which(program_path, path=search_path) is None:
            raise ValueError(
                self.shell_error
                or f"{path}: the program {program!r} was not found, or is not executable; commands "
                "of a shell need sh -c '...', and variables need the entry environment of the spec"
            )


def _is_option(word: str) -> bool:
    """Return whether a word is an option whose value may be the next word."""
    is_plain = "=" not in word and not _field_names("command", word)
    return is_plain and word.startswith("-") and word != "--"


def parse_arms(value: object, *, has_space: bool = False) -> tuple[Arm, ...]:
    """Return the arms of the tables ``[[arm]]``; a grid of parameters makes several.

    If the spec has a parameter space (`has_space`), functions are imported, so that the names of
    their arguments are known.
    """
    tables = check_nonempty_list("arm", value, "a list of tables, [[arm]]")
    arms = [
        arm
        for i, table in enumerate(tables)
        for arm in _parse_arm_table(f"arm[{i}]", table, has_space)
    ]
    check_names("names of arms", [arm.name for arm in arms])
    return tuple(arms)


ARM_ENTRIES: Final = ("name", "command", "function", "parameters", "grid")
"""Entries of a table ``[[arm]]``."""


def _parse_arm_table(path: str, value: object, has_space: bool) -> list[Arm]:
    table = check_table(path, value, ARM_ENTRIES, ["name"])
    if ("command" in table) == ("function" in table):
        raise ValueError(f"{path} must have either a command or a function")
    name = check_line(f"{path}.name", table["name"])
    command = split_command(f"{path}.command", table["command"]) if "command" in table else ()
    shell_error = explain_shell_syntax(f"{path}.command", table.get("command"))
    function = parse_target(f"{path}.function", table["function"]) if "function" in table else ""
    arguments: dict[str, bool] = {}
    if function and (has_space or callable(table["function"])):
        arguments = _find_arguments(f"{path}.function", table["function"])
    is_multiple = "grid" in table or not isinstance(table.get("parameters", {}), Mapping)
    arms = []
    for parameters in _parse_parameter_sets(path, table):
        assignments = [f"{key}={value}" for key, value in parameters.items()] if is_multiple else []
        label = check_line("names of arms", " ".join([name, *assignments]))
        arms.append(Arm(label, command, parameters, function, (), shell_error, arguments))
    return arms


def _parse_parameter_sets(path: str, table: Mapping[str, object]) -> list[dict[str, Scalar]]:
    """Return the parameters of each arm that a table makes."""
    if "parameters" in table and "grid" in table:
        raise ValueError(f"{path} must have parameters or a grid, got both")
    if "grid" in table:
        grid = check_field_table(f"{path}.grid", table["grid"])
        for key, values in grid.items():
            check_nonempty_list(f"{path}.grid.{key}", values, "a list of values")
        if (arm_count := math.prod(map(len, grid.values()))) > _MAX_ARMS:
            raise ValueError(f"{path}.grid must make at most {_MAX_ARMS:,} arms, got {arm_count:,}")
        products = (dict(zip(grid, row, strict=True)) for row in itertools.product(*grid.values()))
        return [_check_parameters(f"{path}.grid", row) for row in products]
    parameters = table.get("parameters", {})
    if isinstance(parameters, Mapping):
        return [_check_parameters(f"{path}.parameters", parameters)]
    rows = check_nonempty_list(f"{path}.parameters", parameters, "a table or a list of them")
    return [_check_parameters(f"{path}.parameters[{i}]", row) for i, row in enumerate(rows)]


def check_nonempty_list(path: str, value: object, expected: str) -> Sequence[Any]:
    """Return a list that has an entry; `expected` says in an error message what it must be."""
    if not isinstance(value, Sequence) or isinstance(value, str) or not value:
        raise TypeError(f"{path} must be {expected}, got {short_repr(value)}")
    return value


def check_table(
    path: str, value: object, entries: Collection[str], required: Iterable[str] = ()
) -> Mapping[str, object]:
    """Return a table that has only these entries, and all that are required."""
    if not isinstance(value, Mapping):
        raise TypeError(f"{path} must be a table, got {short_repr(value)}")
    check_entries(path, value, entries)
    for entry in required:
        if entry not in value:
            raise ValueError(f"{path}.{entry} must be given".removeprefix("."))
    return value


def read_fields(owner: type, path: str, table: Mapping[str, object]) -> dict[str, Any]:
    """Read the annotated fields of a class from a table; return their values by name.

    The annotation is ``Annotated[type, read]``, where ``read(path, value)`` returns the value of an
    entry, or raises an error that begins with its path. Other fields are left out.

    Parameters
    ----------
    owner : type
        The class.
    path : str
        The path of the table in errors, or empty.
    table : mapping
        A table that has an entry for each of these fields.
    """
    return {
        name: hint.__metadata__[0](f"{path}.{name}".removeprefix("."), table[name])
        for name, hint in get_type_hints(owner, include_extras=True).items()
        if get_origin(hint) is Annotated
    }


def check_field_table(
    path: str, value: object, expected: str = "a table", min_count: int = 0
) -> dict[str, Any]:
    """Return a table of at least `min_count` entries, whose names may be fields of a command.

    `expected` says in an error message what the value must be.
    """
    if not isinstance(value, Mapping) or len(value) < min_count:
        raise TypeError(f"{path} must be {expected}, got {short_repr(value)}")
    for name in value:
        check_field_name(f"{path}.{name}", name)
    return dict(value)


def check_field_name(label: str, name: object) -> None:
    """Refuse a name that no field of a command may have; errors begin with `label`."""
    if not isinstance(name, str) or not name.isidentifier() or name in RUN_FIELDS:
        raise ValueError(f"{label} must be an identifier other than {', '.join(RUN_FIELDS)}")


def _check_parameters(path: str, value: object) -> dict[str, Scalar]:
    parameters = check_field_table(path, value)
    for name, value in parameters.items():
        if not isinstance(value, str | int | float):
            raise TypeError(f"{path}.{name} must be a string or a number, got {short_repr(value)}")
        if isinstance(value, str) and "\0" in value:
            raise ValueError(f"{path}.{name} must have no NUL character, got {short_repr(value)}")
    return parameters


def split_command(path: str, value: object) -> tuple[str, ...]:
    """Return the words of a command, which is a string or a list; refuse one that cannot be run."""
    if isinstance(value, str):
        try:
            argv = shlex.split(join_continued_lines(value))
        except ValueError as error:
            raise ValueError(f"{path} must be quoted as in a shell: {error}") from None
    elif isinstance(value, Sequence) and all(isinstance(word, str) for word in value):
        argv = list(value)
    else:
        raise TypeError(f"{path} must be a string, or a list of strings, got {short_repr(value)}")
    if not argv or not argv[0]:
        raise ValueError(f"{path} must begin with a program, got {short_repr(value)}")
    for word in argv:
        if "\0" in word:
            raise ValueError(f"{path} must have no NUL character, got {short_repr(value)}")
        _field_names(path, word)
    return tuple(argv)


def _field_names(path: str, word: str) -> list[str]:
    """Return the names of the fields of a word; ``{{`` is a literal brace."""
    try:
        pieces = list(string.Formatter().parse(word))
    except ValueError as error:
        raise ValueError(
            f"{path}: {error} in {short_repr(word)}; write {{{{ for a literal brace"
        ) from None
    for _, name, _, conversion in pieces:
        if conversion:
            raise ValueError(f"{path}: {{{name}}} must have no conversion, got !{conversion}")
    return [name for _, name, _, _ in pieces if name is not None]


def _fill_fields(word: str, fields: Mapping[str, object]) -> str:
    """Return a word with the values of its fields; unknown fields stay as written."""
    pieces = []
    for text, name, format_spec, _ in string.Formatter().parse(word):
        pieces.append(text)
        if name is not None and name in fields:
            value = fields[name]
            value_text = format(value, format_spec or "")
            # A limit of 2.0 is written as 2: many programs do not parse a fraction.
            if isinstance(value, float) and not format_spec:
                value_text = value_text.removesuffix(".0")
            pieces.append(value_text)
        elif name is not None:
            pieces.append(f"{{{name}:{format_spec}}}" if format_spec else f"{{{name}}}")
    return "".join(pieces)
