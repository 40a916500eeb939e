"""Problem factories: functions that make a problem from the entries of a spec."""

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyhole.contract.problem import Problem
from keyhole.spec_values.error_messages import check_entries
from keyhole.spec_values.value_readers import ValueReader
from keyhole.validation import explain_memory_errors


@dataclass(frozen=True)
class Argument:
    """An entry of ``[problem]`` other than the entry that chooses the factory.

    The entry is an argument of the factory's function. `kind` and `doc` are the argument's type
    and description in the docstring of that function.
    """

    required: bool
    kind: str
    doc: str


@dataclass(frozen=True)
class ProblemFactory:
    """A function that makes a problem from the entries of a spec's table ``[problem]``.

    A spec chooses a factory by one entry, such as ``means``: the setting lists the factory under
    this name. The value of this entry is the first argument of the function. Further entries are
    the other arguments; an entry is required if its argument has no default.

    Parameters
    ----------
    doc : str
        The description of the entry that chooses the factory, in one line.
    make : callable
        The function; its errors begin with the name of an argument.
    read : callable, optional
        The `ValueReader` of the entry that chooses the factory; it returns the first argument.
    further_readers : mapping of str to callable
        The readers of further entries, by name.
    excluded : tuple of str
        Arguments of the function that a spec cannot give.
    """

    doc: str
    make: Callable[..., Problem]
    read: ValueReader | None = None
    further_readers: Mapping[str, ValueReader] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()

    @property
    def entries(self) -> dict[str, Argument]:
        """The further entries, by name."""
        # The first parameter takes the value of the entry that chooses the factory.
        _, *parameters = inspect.signature(self.make).parameters.values()
        docs = parameter_docs(self.make)
        return {
            parameter.name: Argument(
                parameter.default is parameter.empty, *docs.get(parameter.name, ("", ""))
            )
            for parameter in parameters
            if parameter.name not in self.excluded
        }

    def problem(self, name: str, values: Mapping[str, Any], folder: Path) -> Problem:
        """Make the problem from the entry `name`, which chooses this factory, and further entries.

        Paths among the values are relative to the folder; errors begin with ``problem.`` and the
        name of an entry.
        """
        further_entries = self.entries
        check_entries("problem", values, ["setting", name, *further_entries])
        for entry, argument in further_entries.items():
            if argument.required and entry not in values:
                raise ValueError(f"problem.{entry} must be given")
        readers = {**self.further_readers, name: self.read}
        arguments = {
            entry: _read_value(readers.get(entry), f"problem.{entry}", values[entry], folder)
            for entry in (*further_entries, name)
            if entry in values
        }
        try:
            with explain_memory_errors(name):
                return self.make(arguments.pop(name), **arguments)
        except (TypeError, ValueError) as error:
            # The first argument has another name in the function than in the file.
            first_argument = next(iter(inspect.signature(self.make).parameters))
            message = re.sub(rf"^{first_argument}\b", name, str(error))
            raise ValueError(f"problem.{message}") from error


def parameter_docs(function: Callable[..., Any]) -> dict[str, tuple[str, str]]:
    """Return the types and descriptions of a docstring's parameters, by name."""
    docs = {}
    section = find_docstring_section(function, "Parameters")
    # A match is a line with names and type, and the indented lines below it.
    for names, type_text, doc in re.findall(r"^(\w.*?)(?: : (.*))?$((?:\n .*)*)", section, re.M):
        for name in names.split(", "):
            docs[name] = (type_text, " ".join(doc.split()))
    return docs


def find_docstring_section(owner: object, title: str) -> str:
    """Return the first paragraph of a docstring's section; "" if there is none."""
    text = inspect.getdoc(owner) or ""
    # A section of a docstring in NumPy's style: its title, a line of dashes, its text.
    section = re.search(rf"^{title}\n-+\n(.*?)(\n\n|\Z)", text, re.DOTALL | re.MULTILINE)
    return section[1] if section else ""


def _read_value(read: ValueReader | None, path: str, value: Any, folder: Path) -> Any:
    if read is None:
        return value
    try:
        return read(path, value, folder)
    except (TypeError, ValueError, OSError) as error:
        # The reader's error may already begin with the path, or with the path of an inner field.
        text = str(error)
        raise ValueError(text if text.startswith(path) else f"{path}: {text}") from error
