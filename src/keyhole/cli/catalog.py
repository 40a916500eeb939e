"""What there is: settings, problems, policies, reproductions."""

import inspect
import re
from dataclasses import MISSING, fields
from typing import Any, cast

from rich.console import Console
from rich.table import Table

from keyhole.core.policy import Policy
from keyhole.core.validate import choice
from keyhole.experiment.rooms import ROOMS, policies_of


def show(setting: str | None) -> None:
    """Print the catalog of one setting, or of all.

    Parameters
    ----------
    setting : str, optional
        The name of a room.

    Raises
    ------
    ValueError
        If there is no such setting.
    """
    console = _console()
    for name in ROOMS if setting is None else [choice("setting", setting, ROOMS)]:
        room = ROOMS[name]
        console.print(f"{name}: {_sentence(room)}\n", highlight=False)
        _problems(console, room.Problem)
        table = Table("policy", "parameter", "default", "must", "what it does / what it is")
        for policy in policies_of(name).values():
            oracle = f" (oracle: needs {', '.join(policy.needs)})" if policy.oracle else ""
            table.add_row(policy.__name__, "", "", "", _sentence(policy) + oracle)
            for item in fields(cast(Any, policy)):
                default = "" if item.default is MISSING else f"{item.default:g}"
                allowed, doc = item.metadata["allowed"], item.metadata["doc"]
                table.add_row("", item.name, default, str(allowed), doc)
            table.add_row("", "", "", "", _source(policy), end_section=True)
        console.print(table)


def show_entries() -> None:
    """Print the reproductions that there are."""
    from keyhole.papers import FILES, Entry

    table = Table("name", "what", "problems", "claims")
    for name in FILES:
        entry = Entry.load(name)
        table.add_row(name, entry.title, str(len(entry.problems)), str(len(entry.claims)))
    _console().print(table)


def _console() -> Console:
    # Piped, a table is as wide as it needs to be: lines are for programs to read.
    console = Console()
    return console if console.is_terminal else Console(width=160, color_system=None)


def _problems(console: Console, problem: type) -> None:
    table = Table("problem", "from")
    table.add_row("means, threshold, law, concentration", _sentence(problem))
    table.add_row("crowd = NAME, threshold", "A shipped set of real crowd labels.")
    table.add_row("labels = FILE.csv, threshold", "Crowd labels of your own.")
    console.print(table)


def _sentence(thing: Any) -> str:
    """Return the first sentence of a docstring."""
    return (inspect.getdoc(thing) or "").split("\n\n")[0].replace("\n", " ")


def _source(policy: type[Policy]) -> str:
    """Return the references of a policy's docstring on one line."""
    text = inspect.getdoc(policy) or ""
    found = re.search(r"References\n-+\n(.*?)(\n\n|\Z)", text, re.DOTALL)
    return "after " + " ".join(found.group(1).split()) if found else ""
