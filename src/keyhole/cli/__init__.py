"""Words on a terminal."""

from keyhole.cli.starting import main

__all__ = ["main"]
