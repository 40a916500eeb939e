"""Published experiments as data, each with its claims and a verdict on every one."""

from keyhole.papers.entry import FILES, SCALES, Entry
from keyhole.papers.everything import Everything, reproduce_all
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
    "Entry",
    "Everything",
    "Reproduction",
    "demo",
    "is_reproduction",
    "report_again",
    "reproduce",
    "reproduce_all",
]
