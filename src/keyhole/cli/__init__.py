"""Words on a terminal."""

from keyhole.cli.app import main

__all__ = ["main"]
