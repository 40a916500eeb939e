"""Users' policies, given on the command line as ``file.py:Class``."""

from pathlib import Path
from typing import Any

from keyhole.validate import short_repr


def own_policies(names: list[str] | None) -> list[Any]:
    """Return the classes given as ``file.py:Class``; import the packages that add settings."""
    from keyhole.experiment import settings

    settings.import_plugins()
    for name in names or []:
        if ":" not in name:
            raise ValueError(f"--policy must be FILE.py:CLASS, got {short_repr(name)}")
    return [users_policy("--policy", name) for name in names or []]


def users_policy(said: str, name: str) -> Any:
    """Return the class given as ``file.py:Class``; errors call it `said`."""
    from keyhole.experiment import factories

    try:
        return factories.users_policy(name, Path())
    except (FileNotFoundError, ValueError) as error:
        raise type(error)(f"{said}{str(error).removeprefix('name')}") from error
