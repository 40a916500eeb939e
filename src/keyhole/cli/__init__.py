"""Words on a terminal."""

import sys


def main() -> None:
    """Run the command line and exit: see `keyhole.cli.app`."""
    try:
        from keyhole.cli.app import main as begin
    except KeyboardInterrupt:  # while it loads, which takes a while
        sys.exit(130)
    begin()


__all__ = ["main"]
