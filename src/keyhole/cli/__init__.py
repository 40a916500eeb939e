"""Words on a terminal."""

from keyhole.cli.entry_point import main

__all__ = ["main"]
