"""Index of the shipped entries, and the reading of their files into unchecked tables."""

import tomllib
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Final

from keyhole.files import decode_text
from keyhole.validate import check_choice, check_sequence, short_repr

_STEMS: Final[dict[str, list[str]]] = tomllib.loads(
    (resources.files("keyhole.papers") / "entries.toml").read_text("utf-8")
)
FILES: Final = {
    path.replace("/", "-").replace("_", "-"): f"{path}.toml"
    for folder, stems in _STEMS.items()
    for path in (f"{folder}/{stem}".strip("/") for stem in stems)
}
"""Every entry and its file, in the order in which they are listed."""

TomlTable = dict[str, Any]
"""A table of an entry's file, not checked yet."""

PAPERS: Final = tuple(folder for folder in _STEMS if folder)
"""Every paper, by the folder of its entries."""


def entry_folder(name: str) -> tuple[Traversable, str]:
    """Return the folder and the file of an entry, by name."""
    if name in PAPERS:
        raise ValueError(
            f"entry must be one of the paper {name} (see keyhole reproduce --list), got the paper; "
            f"run all of its entries with --paper {name}"
        )
    path = FILES[check_choice("entry", name, FILES, "keyhole reproduce --list")]
    folder, _, file = path.rpartition("/")
    return resources.files("keyhole.papers") / folder, file


def read_tables(folder: Traversable, file: str) -> TomlTable:
    """Return the tables of an entry, with those of included files that it uses."""
    table = _read_toml(folder, file)
    problems: TomlTable = {}
    policies: list[TomlTable] = []
    for include in check_sequence("include", table.pop("include", []), "a list of files"):
        shared = _read_toml(folder, include)
        problems |= shared.get("problems", {})
        policies += shared.get("policies", [])
    # The entry's own tables come last, so that they replace included ones of the same name.
    problems |= table.pop("problems", {})
    policies += table.pop("policies", [])
    use = table.pop("use", {})
    try:
        table["problems"] = select_keys("use.problems", problems, use.get("problems"))
        labelled = select_keys("use.policies", policies_by_label(policies), use.get("policies"))
    except ValueError as error:
        raise ValueError(f"{file}: {error}") from error
    return table | {"policies": list(labelled.values())}


def _read_toml(folder: Traversable, file: str) -> TomlTable:
    try:
        return tomllib.loads(decode_text((folder / file).read_bytes(), "the text"))
    except (ValueError, RecursionError) as error:  # neither UTF-8, nor TOML, or nested too deeply
        raise ValueError(f"{file}: {error}") from error
    except OSError as error:
        raise ValueError(f"{file} cannot be read: {error.strerror}") from error


def select_keys(name: str, table: Mapping[str, object], keys: list[str] | None) -> TomlTable:
    """Return the values of keys, or all; `name` is what messages call the keys."""
    selected_keys = table if keys is None else keys
    return {
        check_choice(f"{name}[{i}]", key, table): table[key] for i, key in enumerate(selected_keys)
    }


def policies_by_label(policies: list[TomlTable]) -> dict[str, TomlTable]:
    """Return policies by their labels."""
    for i, policy in enumerate(policies):
        if not isinstance(label := policy.get("label"), str):
            raise ValueError(f"policies[{i}].label must be a text, got {short_repr(label)}")
    return {policy["label"]: policy for policy in policies}
