"""The command line `keyhole`, with a module for each group of its commands."""

from keyhole.cli.entry_point import main

__all__ = ["main"]
