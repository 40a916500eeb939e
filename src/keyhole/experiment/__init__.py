"""Experiments: files (specs) that describe simulations, their runs, run folders and reports."""

from importlib import import_module
from typing import TYPE_CHECKING, Final

from keyhole.experiment.spec import Spec
from keyhole.extras import require_extra

if TYPE_CHECKING:
    from keyhole.experiment.run_folder import RunFolder, load_run, open_run
    from keyhole.experiment.runner import run

__all__ = ["RunFolder", "Spec", "load_run", "open_run", "run"]

# Imported when first used: they need packages that specs do not need.
_HOMES: Final = {
    "RunFolder": "run_folder",
    "load_run": "run_folder",
    "open_run": "run_folder",
    "run": "runner",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        require_extra("files,plots,scipy", f"keyhole.experiment.{name}")
        return getattr(import_module(f"keyhole.experiment.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'keyhole.experiment' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
