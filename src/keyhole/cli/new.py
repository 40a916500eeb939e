"""`keyhole new`: write stubs of a policy, setting, problem or entry that pass their tests."""

import inspect
import keyword
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Final

import typer

from keyhole.experiment import setting_registry
from keyhole.validate import check_choice

_SUFFIX: Final = ".tmpl"
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DEFAULT_SETTING: Final = "thresholding"
# Arguments of a small problem of each built-in setting, for the test of a policy.
_PROBLEMS: Final = {
    "delayed": ("means=[0.4, 0.8]", "delay=setting.Poisson(5)"),
    "resource": (
        "arms=[setting.BetaExponential(a=5, b=5, rate=1)] * 2",
        "limits=[0.5, 1]",
        "cost=setting.Power(slope=0.1)",
        "penalty=setting.Power(slope=0.2)",
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
    """Write the stubs of one kind, and print their paths; no file is overwritten."""
    templates = resources.files("keyhole.cli") / "templates"
    kinds = sorted(folder.name for folder in templates.iterdir())
    folder = templates / check_choice("KIND", kind, kinds)
    if setting is not None and kind != "policy":
        raise ValueError(f"--setting must be left out for a new {kind}, got {setting!r}")
    setting_name = setting or _DEFAULT_SETTING
    if setting_name not in _PROBLEMS:
        folder = _plugin_stubs(setting_registry.find_setting(setting_name, "--setting"))
    snake, camel = _spellings(name)
    problem = "".join(f"\n        {value}," for value in _PROBLEMS.get(setting_name, ()))
    words = {"name": snake, "Name": camel, "setting": setting_name, "problem": problem}
    stubs = {
        out / path.replace("name", snake): Template(file.read_text(encoding="utf-8"))
        for path, file in _list_templates(folder, setting_name)
    }
    for path in stubs:
        if path.exists():
            raise FileExistsError(f"{path} exists already; choose another NAME or --out")
    for path, stub in sorted(stubs.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(stub.substitute(words), encoding="utf-8")
        typer.echo(path)


def _plugin_stubs(setting_entry: setting_registry.SettingEntry) -> Traversable:
    """Return the folder `stubs` of a plugin, beside the module of its setting."""
    for folder in getattr(setting_entry.module, "__path__", ()):
        if (Path(folder) / "stubs").is_dir():
            return Path(folder) / "stubs"
    file = inspect.getfile(next(iter(setting_entry.policies.values()), setting_entry.module))
    raise ValueError(
        f"--setting: {setting_entry.package} has no stubs of a policy for its setting "
        f"{setting_entry.name!r}; begin from what is in {file}, and test yours with "
        "keyhole.testing.check_policy"
    )


def _spellings(name: str) -> tuple[str, str]:
    """Return a name in snake case, for files and functions, and in camel case, for classes."""
    camel = name.replace("-", "").replace("_", "")
    words = name if name.islower() else camel  # UCB-V and UCBV are one class, and one file
    snake = _CAMEL.sub("_", words).replace("-", "_").lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", snake) or keyword.iskeyword(snake):
        raise ValueError(f"NAME must be a name such as NarrowGap or narrow_gap, got {name!r}")
    if not name[0].isupper():
        camel = "".join(word.capitalize() for word in snake.split("_"))
    return snake, camel


def _list_templates(
    folder: Traversable, setting_name: str, above: str = ""
) -> list[tuple[str, Traversable]]:
    """Return the templates of a folder with their paths; of those for one setting, only its own."""
    found = []
    for file in folder.iterdir():
        if file.is_dir():
            found += _list_templates(file, setting_name, f"{above}{file.name}/")
        elif file.name == f"{setting_name}.py{_SUFFIX}":
            found.append((f"{above}name.py", file))
        elif file.name.removesuffix(f".py{_SUFFIX}") not in _PROBLEMS:
            found.append((f"{above}{file.name.removesuffix(_SUFFIX)}", file))
    return found
