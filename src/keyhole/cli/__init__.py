"""The command line."""

from keyhole.cli.entry_point import main

__all__ = ["main"]
