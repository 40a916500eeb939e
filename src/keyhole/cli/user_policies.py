"""Users' own policies (rules that choose), given on the command line as ``file.py:Class``."""

from pathlib import Path
from typing import Any

from keyhole.validate import short_repr


def load_user_policies(names: list[str] | None) -> list[Any]:
    """Return the classes given as ``file.py:Class``; import the packages that add settings."""
    from keyhole.experiment import setting_registry, spec_factories

    # Policies of installed packages are found by name only after their import.
    setting_registry.import_plugins()
    for name in names or []:
        if not spec_factories.is_policy_file(name):
            raise ValueError(f"--policy must be FILE.py:CLASS, got {short_repr(name)}")
    return [spec_factories.load_user_policy(name, Path(), field="--policy") for name in names or []]
