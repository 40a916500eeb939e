"""Command `new`: write stubs of a policy, setting, problem or entry from templates."""

import inspect
import keyword
import re
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Annotated, Final

from typer import Argument, Option

from keyhole.cli.options import AsJson, examples_epilog
from keyhole.cli.output import print_result
from keyhole.validation import check_choice

EXAMPLES: Final = examples_epilog(
    "keyhole new policy Mine --setting thresholding",
    "keyhole new problem narrow_gap --out problems",
)
_POLICY: Final = "policy"
_DEFAULT_SETTING: Final = "thresholding"
_SUFFIX: Final = ".tmpl"
_WORD_START: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")  # in a name in camel case


def new(
    stub_kind: Annotated[str, Argument(metavar="KIND", help="policy, setting, entry or problem.")],
    name: Annotated[str, Argument(metavar="NAME", help="Such as NarrowGap or narrow_gap.")],
    setting: Annotated[str | None, Option(help="The setting of a policy.")] = None,
    out: Annotated[Path, Option(metavar="DIR", help="Folder for the new files.")] = Path(),
    as_json: AsJson = False,
) -> None:
    """Write a stub with its test, to extend Keyhole.

    It is code of a policy, setting, problem or entry of your own. For a file that uses Keyhole as
    it is (an experiment, a study, or the spec of a tune), there is keyhole init.
    """
    folders = {path.name: path for path in (Path(__file__).parent / "templates").iterdir()}
    check_choice("KIND", stub_kind, sorted([_POLICY, *folders]))
    if setting is not None and stub_kind != _POLICY:
        raise ValueError(f"--setting must be left out for a new {stub_kind}, got {setting!r}")
    folder = folders.get(stub_kind) or _find_policy_stubs(setting or _DEFAULT_SETTING)
    snake, camel = _spell_in_both_cases(name)
    texts = {}
    for template in folder.rglob(f"*{_SUFFIX}"):
        target = str(template.relative_to(folder)).removesuffix(_SUFFIX)
        texts[out / target.replace("name", snake)] = fill_template(template, name=snake, Name=camel)
    # All paths are checked before the first file is written: a refused call leaves nothing behind.
    for path in texts:
        check_writable(path, advice="choose another NAME or --out")
    write_files(texts, as_json=as_json)


def _find_policy_stubs(setting: str) -> Path:
    """Return the folder `stubs` in the package of a setting."""
    from keyhole.experiment.setting_registry import find_setting

    registered = find_setting(setting, "--setting")
    # A setting of another package may be a single module, which has no folder.
    for folder in getattr(registered.module, "__path__", ()):
        if (stubs := Path(folder) / "stubs").is_dir():
            return stubs
    file = inspect.getfile(next(iter(registered.policies.values()), registered.module))
    raise ValueError(
        f"--setting: {registered.package} has no stubs of a policy for its setting "
        f"{registered.name!r}; begin with a copy of {file}, and test your policy with "
        "keyhole.testing.check_policy"
    )


def _spell_in_both_cases(name: str) -> tuple[str, str]:
    """Return a name in snake case, for files and functions, and in camel case, for classes."""
    camel = name.replace("-", "").replace("_", "")
    snake = name.replace("-", "_")
    if not name.islower():  # UCB-V and UCBV name one class, UCBV, and so one file, ucbv
        snake = _WORD_START.sub("_", camel).lower()
    if not re.fullmatch(r"[a-z][a-z0-9_]*", snake) or keyword.iskeyword(snake):
        raise ValueError(f"NAME must be a name such as NarrowGap or narrow_gap, got {name!r}")
    if not name[0].isupper():
        camel = "".join(word.capitalize() for word in snake.split("_"))
    return snake, camel


def fill_template(template: Path, **values: str) -> str:
    """Return the text of a template with its values."""
    return Template(template.read_text(encoding="utf-8")).substitute(values)


def check_writable(path: Path, *, advice: str, force: bool = False) -> None:
    """Refuse a path for a new file if it is a folder, lies below a file, or exists.

    With `force`, an existing file is allowed.
    """
    if path.is_dir() or (path.exists() and not force):
        raise FileExistsError(f"{path} exists already; {advice}")
    parent = next(folder for folder in path.parents if folder.exists())
    if not parent.is_dir():
        raise NotADirectoryError(f"--out must lie in a folder, got {path}: {parent} is a file")


def write_files(texts: Mapping[Path, str], next_command: str = "", *, as_json: bool) -> None:
    """Write files; print their paths, and the command to type next if there is one."""
    paths = sorted(texts)
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
    content: dict[str, object] = {"files": paths}
    lines: list[object] = [*paths]
    if next_command:
        content["next"] = next_command
        lines.append(f"next: {next_command}")
    print_result(content, *lines, as_json=as_json)
