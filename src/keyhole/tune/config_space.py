"""Parameter spaces of ConfigSpace: its JSON files as the tables of a spec."""

from pathlib import Path
from typing import Any


def read_config_space(path: Path) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return the tables ``[parameters]`` and ``forbidden`` of a JSON file of ConfigSpace."""
    raise NotImplementedError
