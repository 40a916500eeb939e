"""Stubs for what is added most often: they run, pass the checks, and say what to change."""

import inspect
import keyword
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Final

import typer

from keyhole.experiment import settings
from keyhole.validate import check_choice

_ENDING: Final = ".tmpl"
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DEFAULT_ROOM: Final = "thresholding"
# A small problem of each room of ours, for the test of a policy.
_PROBLEMS: Final = {
    "delayed": ("means=[0.4, 0.8]", "delay=room.Poisson(5)"),
    "resource": (
        "arms=[room.BetaExponential(a=5, b=5, rate=1)] * 2",
        "limits=[0.5, 1]",
        "cost=room.Power(slope=0.1)",
        "penalty=room.Power(slope=0.2)",
    ),
    "semibandit": ("mean_losses=[0.9, 0.6, 0.3]", "thresholds=[0.7, 0.6, 0.4]", "resource=1.2"),
    "stochastic": ("means=[0.2, 0.45, 0.7]",),
    "threshold": (
        "[[0.9, 0.8, 0.2], [0.7, 0.6, 0.5]]",
        'feedback="censored"',
        'order="cyclic"',
    ),
    "thresholding": ("means=[0.2, 0.45, 0.7]", "threshold=0.5"),
}


def write_stubs(kind: str, name: str, setting: str | None, out: Path) -> None:
    """Write the stubs of one kind of addition, and print the paths; no file is overwritten."""
    templates = resources.files("keyhole.cli") / "templates"
    kinds = sorted(folder.name for folder in templates.iterdir())
    folder = templates / check_choice("KIND", kind, kinds)
    if setting is not None and kind != "policy":
        raise ValueError(f"--setting must be left out for a new {kind}, got {setting!r}")
    setting_name = setting or _DEFAULT_ROOM
    if setting_name not in _PROBLEMS:
        folder = _brought(settings.find_setting(setting_name, "--setting"))
    snake, camel = _spellings(name)
    problem = "".join(f"\n        {value}," for value in _PROBLEMS.get(setting_name, ()))
    words = {"name": snake, "Name": camel, "setting": setting_name, "problem": problem}
    stubs = {
        out / path.replace("name", snake): Template(file.read_text(encoding="utf-8"))
        for path, file in _files(folder, setting_name)
    }
    for path in stubs:
        if path.exists():
            raise FileExistsError(f"{path} is there already; choose another NAME or --out")
    for path, stub in sorted(stubs.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stub.substitute(words), encoding="utf-8")
        typer.echo(path)


def _brought(setting_entry: settings.SettingEntry) -> Traversable:
    """Return the stubs of a policy that a package brings: the folder `stubs` beside its room."""
    for place in getattr(setting_entry.module, "__path__", ()):
        if (Path(place) / "stubs").is_dir():
            return Path(place) / "stubs"
    file = inspect.getfile(next(iter(setting_entry.policies.values()), setting_entry.module))
    raise ValueError(
        f"--setting: {setting_entry.package} has no stubs of a policy for its setting "
        f"{setting_entry.name!r}; begin from what is in {file}, and test yours with "
        "keyhole.testing.check_policy"
    )


def _spellings(name: str) -> tuple[str, str]:
    """Return a name as files and functions have it, and as classes do."""
    camel = name.replace("-", "").replace("_", "")
    words = name if name.islower() else camel  # UCB-V and UCBV are one class, and one file
    snake = _CAMEL.sub("_", words).replace("-", "_").lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", snake) or keyword.iskeyword(snake):
        raise ValueError(f"NAME must be a name such as NarrowGap or narrow_gap, got {name!r}")
    if not name[0].isupper():
        camel = "".join(word.capitalize() for word in snake.split("_"))
    return snake, camel


def _files(
    folder: Traversable, setting_name: str, above: str = ""
) -> list[tuple[str, Traversable]]:
    """Return the templates of a folder, each with its path; of those for one room, that room's."""
    found = []
    for file in folder.iterdir():
        if file.is_dir():
            found += _files(file, setting_name, f"{above}{file.name}/")
        elif file.name == f"{setting_name}.py{_ENDING}":
            found.append((f"{above}name.py", file))
        elif file.name.removesuffix(f".py{_ENDING}") not in _PROBLEMS:
            found.append((f"{above}{file.name.removesuffix(_ENDING)}", file))
    return found
