"""Experiments: files (specs) that describe simulations, their runs, run folders and reports."""

from importlib import import_module
from typing import TYPE_CHECKING

from keyhole.experiment.spec import Spec
from keyhole.extras import require_extra
from keyhole.former_names import add_former_names

if TYPE_CHECKING:
    from keyhole.experiment.run_folder import RunFolder, load_run, load_run_folder
    from keyhole.experiment.runner import run

__all__ = ["RunFolder", "Spec", "load_run", "load_run_folder", "run"]


# Imported when first used: they need packages that specs do not need.
def __getattr__(name: str) -> object:
    if name in __all__:
        require_extra("files,plots,scipy", f"keyhole.experiment.{name}")
        home = "runner" if name == "run" else "run_folder"
        return getattr(import_module(f"keyhole.experiment.{home}"), name)
    raise AttributeError(f"module 'keyhole.experiment' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


add_former_names(__name__)
