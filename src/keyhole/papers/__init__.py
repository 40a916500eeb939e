"""Reproductions: new simulations of published experiments judge what their papers claim.

An *entry* is a file with one experiment. Its *claims* are the statements that the experiment should
confirm. The *verdict* on a claim is that it holds, does not hold, or is undecided.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from keyhole.former_names import add_former_names
from keyhole.papers.entry_files import ENTRY_FILES

if TYPE_CHECKING:
    from keyhole.papers.entry import SCALES, Entry, problem
    from keyhole.papers.reproduction import (
        ReproducedEntries,
        Reproduction,
        demo,
        is_reproduction_folder,
        report_again,
        reproduce,
        reproduce_all,
    )

__all__ = [
    "ENTRY_FILES", "SCALES", "Entry", "ReproducedEntries", "Reproduction", "demo",
    "is_reproduction_folder", "problem", "report_again", "reproduce", "reproduce_all",
]  # fmt: skip


# Only the list of entries is imported at once. The rest takes seconds to import: it needs settings,
# data and compiled code.
def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module 'keyhole.papers' has no attribute {name!r}")
    module_name = "entry" if name in ("SCALES", "Entry", "problem") else "reproduction"
    return getattr(import_module(f"keyhole.papers.{module_name}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)


add_former_names(__name__)
