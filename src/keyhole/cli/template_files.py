"""Files made from templates, as `keyhole new` and `keyhole init` write them for users."""

from collections.abc import Iterable, Mapping
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

import typer

from keyhole.cli.output import print_json
from keyhole.experiment.setting_registry import RegisteredSetting

_SUFFIX: Final = ".tmpl"


def list_templates(folder: Traversable, above: str = "") -> list[tuple[str, Traversable]]:
    """Return the templates of a folder with their paths."""
    found = []
    for file in folder.iterdir():
        if file.is_dir():
            found += list_templates(file, f"{above}{file.name}/")
        else:
            found.append((f"{above}{file.name.removesuffix(_SUFFIX)}", file))
    return found


def setting_folder(registered: RegisteredSetting, name: str) -> Traversable | None:
    """Return a folder of templates beside the module of a setting, or None if it has none."""
    # A setting of another package may be a single module, which has no folder.
    for folder in getattr(registered.module, "__path__", ()):
        if (Path(folder) / name).is_dir():
            return Path(folder) / name
    return None


def check_absent(paths: Iterable[Path], *, advice: str, force: bool = False) -> None:
    """Refuse files that exist, with `force` only folders of that name; and those below a file."""
    for path in paths:
        if path.is_dir() or (path.exists() and not force):
            raise FileExistsError(f"{path} exists already; {advice}")
        above = next(folder for folder in path.parents if folder.exists())
        if not above.is_dir():
            raise NotADirectoryError(f"--out must lie in a folder, got {path}: {above} is a file")


def write_files(
    texts: Mapping[Path, str], *, next_command: str | None = None, as_json: bool = False
) -> None:
    """Write files; print their paths, and the command to type next if there is one."""
    paths = sorted(texts)
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(texts[path], encoding="utf-8")
    if as_json:
        print_json({"files": paths} | ({"next": next_command} if next_command else {}))
        return
    for path in paths:
        typer.echo(path)
    if next_command:
        typer.echo(f"next: {next_command}")
