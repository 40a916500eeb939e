"""The entry point, which imports the command line so that Ctrl-C during imports exits cleanly."""

import sys


def main() -> None:
    """Run the command line and exit: see `error_handling`."""
    try:
        from keyhole.cli.error_handling import main as begin
    except KeyboardInterrupt:
        sys.exit(130)
    begin()
