"""Texts of the files that `keyhole init` writes, each checked as its command will check it."""

import json
import shlex
import tomllib
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import count
from pathlib import Path, PurePath
from string import Template
from typing import Any, Final

from keyhole.cli.template_files import setting_folder
from keyhole.experiment import setting_registry
from keyhole.validate import check_line

MOST_ROUNDS: Final = 2**53
_STARTERS: Final = "starters"
_LEAST_SHARE: Final = 100  # of the largest limit of a tune


def simulation_text(setting: str, horizon: int, path: Path) -> str:
    """Return an experiment with the policies that are recommended for a setting."""
    from keyhole.experiment.spec import Spec

    text = _fill(_starter(setting, "simulate.toml"), path, horizon=horizon)
    try:
        Spec.from_text(text, folder=path.parent)
    except ValueError as error:  # all else in the file is valid
        raise ValueError(f"--horizon {horizon} does not suit the setting: {error}") from error
    return text


def study_text(setting: str, arms: Sequence[str], path: Path) -> str:
    """Return a program that creates a study, asks it, and tells it."""
    return _fill(_starter(setting, "study.py"), path, arms=_quote(list(arms)))


def tune_text(commands: Sequence[str], limit: float, pattern: str | None, path: Path) -> str:
    """Return the spec of a tune of commands, on the files of a pattern if there is one."""
    from keyhole.tune import Spec

    template = resources.files("keyhole.cli") / _STARTERS / "tune.toml.tmpl"
    arms = zip(_arm_names(commands), commands, strict=True)
    files = "" if pattern is None else f"instances = {_quote(pattern)}\n"
    text = _fill(
        template,
        path,
        least=f"{limit / _LEAST_SHARE:g}",
        limit=repr(int(limit) if limit.is_integer() else limit),
        instances="\n# The files that {instance} stands for.\n" + files if files else "",
        arms="\n".join(
            f"[[arm]]\nname = {_quote(name)}\ncommand = {_quote(command)}\n"
            for name, command in arms
        ).rstrip(),
    )
    Spec.from_table(tomllib.loads(text), folder=path.parent)
    return text


def next_command(goal: str, path: Path) -> str:
    """Return the command to type after a file was written."""
    file = _argument(path)
    return {
        "simulate": f"keyhole run {file} --out results",
        "study": f"python {file}",
        "tune": f"keyhole tune {file} --dry-run",
    }[goal]


def check_command(text: str, folder: Path) -> str:
    """Return a command that can be split into words, and whose program is found from a folder."""
    check_line("--command", text)
    # Here, since only this command needs them.
    from keyhole.tune.arms import RUN_FIELDS, Arm, explain_shell_syntax, split_command

    words = split_command("--command", text)
    if shell_error := explain_shell_syntax("--command", text):
        raise ValueError(shell_error)
    # Here, and not with the whole file: a question is asked again only for its own answer.
    example = dict(zip(RUN_FIELDS, ("file", 1, 1.0), strict=True))
    Arm("command", words).check("--command", example, folder)
    return text


def _arm_names(commands: Sequence[str]) -> list[str]:
    """Return the names of the programs, numbered where they are equal."""
    names: list[str] = []
    for command in commands:
        name = PurePath(shlex.split(command)[0]).name or "command"
        numbered = (name if number == 1 else f"{name}-{number}" for number in count(1))
        names.append(next(one for one in numbered if one not in names))
    return names


def _starter(setting: str, name: str) -> Traversable:
    folder = setting_folder(setting_registry.find_setting(setting, "--setting"), _STARTERS)
    if folder is None:
        raise ValueError(f"--setting: the setting {setting!r} has no files to start from")
    return folder / f"{name}.tmpl"


def _fill(template: Traversable, path: Path, **values: Any) -> str:
    file = _argument(Path(path.name))
    if path.suffix == ".py":  # where it stands in a docstring
        file = file.replace("\\", "\\\\").replace('"', '\\"')
    words = {"file": file, "name": _quote(path.stem)}
    return Template(template.read_text(encoding="utf-8")).substitute(words, **values)


def _argument(path: Path) -> str:
    """Return a path as an argument in a shell, which no command takes for an option."""
    text = str(path)
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def _quote(value: Any) -> str:
    """Return a text or list as a literal that TOML and Python both read."""
    return json.dumps(value, ensure_ascii=False)
