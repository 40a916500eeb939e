"""Reproductions of published experiments: entries, their claims, and a verdict on each claim."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from keyhole.papers.entry_files import FILES

if TYPE_CHECKING:
    from keyhole.papers.batch_reproduction import BatchReproduction, reproduce_all
    from keyhole.papers.entry import SCALES, Entry
    from keyhole.papers.reproduction import (
        Reproduction,
        demo,
        is_reproduction,
        report_again,
        reproduce,
    )

__all__ = [
    "FILES",
    "SCALES",
    "BatchReproduction",
    "Entry",
    "Reproduction",
    "demo",
    "is_reproduction",
    "report_again",
    "reproduce",
    "reproduce_all",
]

# Everything but the list of entries takes seconds to import: settings, data, compiled code.
_HOMES: Final = {
    "entry": ("SCALES", "Entry"),
    "batch_reproduction": ("BatchReproduction", "reproduce_all"),
    "reproduction": ("Reproduction", "demo", "is_reproduction", "report_again", "reproduce"),
}


def __getattr__(name: str) -> Any:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"keyhole.papers.{module}"), name)
    raise AttributeError(f"module 'keyhole.papers' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
