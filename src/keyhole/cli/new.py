"""Command `new`: write files to start from: a policy, setting, problem, or reproduction."""

import inspect
import keyword
import re
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from string import Template
from typing import Final

from keyhole.cli.template_files import check_absent, list_templates, setting_folder, write_files
from keyhole.experiment import setting_registry
from keyhole.validate import check_choice

_POLICY: Final = "policy"
_CAMEL: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")
_DEFAULT_SETTING: Final = "thresholding"


def write_stubs(kind: str, name: str, setting: str | None, out: Path, *, as_json: bool) -> None:
    """Write the stubs of one kind, and print their paths; no file is overwritten."""
    templates = resources.files("keyhole.cli") / "templates"
    check_choice("KIND", kind, sorted([_POLICY, *(folder.name for folder in templates.iterdir())]))
    if setting is not None and kind != _POLICY:
        raise ValueError(f"--setting must be left out for a new {kind}, got {setting!r}")
    if kind == _POLICY:
        name_of_setting = setting or _DEFAULT_SETTING
        folder = _policy_stubs(setting_registry.find_setting(name_of_setting, "--setting"))
    else:
        folder = templates / kind
    snake, camel = _spellings(name)
    stubs = {
        out / path.replace("name", snake): Template(file.read_text(encoding="utf-8")).substitute(
            name=snake, Name=camel
        )
        for path, file in list_templates(folder)
    }
    # All are checked before the first is written, so that a refused call leaves nothing behind.
    check_absent(stubs, advice="choose another NAME or --out")
    write_files(stubs, as_json=as_json)


def _policy_stubs(registered: setting_registry.RegisteredSetting) -> Traversable:
    """Return the folder `stubs` beside the module of a setting."""
    if (folder := setting_folder(registered, "stubs")) is not None:
        return folder
    file = inspect.getfile(next(iter(registered.policies.values()), registered.module))
    raise ValueError(
        f"--setting: {registered.package} has no stubs of a policy for its setting "
        f"{registered.name!r}; begin from what is in {file}, and test yours with "
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
