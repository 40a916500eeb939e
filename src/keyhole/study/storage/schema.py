"""The versions of the schema, and the SQL of `schema.toml` in the dialect of a database."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from keyhole.files import read_toml

_TABLES: Final = read_toml(Path(__file__).with_name("schema.toml"))
STEPS: Final[list[list[str]]] = _TABLES["steps"]
DIALECTS: Final[dict[str, dict[str, str]]] = _TABLES["dialects"]
POSTGRES: Final = _TABLES["postgres"]
OLDEST: Final = 3
"""The version of 0.2.0; earlier versions were not published."""
DELETIONS: Final = (
    "delete_events", "erase_metadata", "delete_snapshot", "delete_tail", "delete_study",
)  # fmt: skip
"""The names of the queries that delete all rows of a study."""


def check_version(where: str, version: int) -> None:
    """Refuse a database whose schema this package does not know."""
    if version > len(STEPS):
        raise ValueError(
            f"storage must have a schema of version at most {len(STEPS)}, got {version}: {where} "
            "was written by a newer Keyhole, which opens it; nothing was changed"
        )
    if 0 < version < OLDEST:
        raise ValueError(
            f"storage must have a schema of version {OLDEST} or later, got {version}: {where} was "
            "written by a Keyhole before 0.2.0, which was not published; nothing was changed"
        )


def migrate(execute: Callable[[str], object], version: int, dialect: Mapping[str, str]) -> None:
    """Run the migrations that follow a version."""
    for step in STEPS[version:]:
        for statement in step:
            execute(statement.format_map(dialect))


def translate_queries(dialect: Mapping[str, str]) -> dict[str, str]:
    """Return the queries in a dialect of SQL, by their names."""
    return {name: query.format_map(dialect) for name, query in _TABLES["queries"].items()}
