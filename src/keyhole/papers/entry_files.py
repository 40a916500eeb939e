"""Index of the shipped entries, and functions that read the tables of an entry's file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from keyhole.files import read_toml
from keyhole.validation import check_choice, check_sequence, short_repr

FOLDER: Final = Path(__file__).parent
"""The folder of the shipped entries."""
# By folder, the names of the files without their suffix; "" is `FOLDER` itself, of no paper.
_STEMS: Final[dict[str, list[str]]] = read_toml(FOLDER / "entries.toml")
ENTRY_FILES: Final = {
    path.replace("/", "-").replace("_", "-"): f"{path}.toml"
    for folder, stems in _STEMS.items()
    for path in (f"{folder}/{stem}".strip("/") for stem in stems)
}
"""The path of each shipped entry's file below `FOLDER`, by the entry's name, in listing order."""

TomlTable = dict[str, Any]
"""A table of an entry's file, not checked yet."""

PAPERS: Final = tuple(folder for folder in _STEMS if folder)
"""Every paper, by the name of its folder."""


def entry_path(name: str) -> Path:
    """Return the path of a shipped entry's file."""
    if name in PAPERS:
        raise ValueError(
            f"entry must name an entry of the paper {name} (see keyhole reproduce --list), got the "
            f"paper itself; run all of its entries with --paper {name}"
        )
    return (
        FOLDER / ENTRY_FILES[check_choice("entry", name, ENTRY_FILES, "keyhole reproduce --list")]
    )


def read_tables(path: Path) -> TomlTable:
    """Return the tables of an entry's file, with the problems and policies that it includes."""
    table = read_toml(path)
    problems: TomlTable = {}
    policies: list[TomlTable] = []
    for include in check_sequence("include", table.pop("include", []), "a list of files"):
        shared_table = read_toml(path.parent / include)
        problems |= shared_table.get("problems", {})
        policies += shared_table.get("policies", [])
    # The entry's own tables come last, so that they replace included ones of the same key or label.
    problems |= table.pop("problems", {})
    policies += table.pop("policies", [])
    use = table.pop("use", {})
    try:
        table["problems"] = select_keys("use.problems", problems, use.get("problems"))
        selection = select_keys("use.policies", policies_by_label(policies), use.get("policies"))
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error
    return table | {"policies": list(selection.values())}


def select_keys(name: str, table: Mapping[str, object], keys: list[str] | None) -> TomlTable:
    """Return the part of a table that has the given keys; the whole table if `keys` is None.

    An unknown key is refused; `name` is what the error calls the list of keys.
    """
    if keys is None:
        return dict(table)
    return {check_choice(f"{name}[{i}]", key, table): table[key] for i, key in enumerate(keys)}


def policies_by_label(policies: list[TomlTable]) -> dict[str, TomlTable]:
    """Return policies by label; of several with the same label, only the last."""
    for i, policy in enumerate(policies):
        if not isinstance(label := policy.get("label"), str):
            raise ValueError(f"policies[{i}].label must be a text, got {short_repr(label)}")
    return {policy["label"]: policy for policy in policies}
