"""The entry point, which imports the command line so that Ctrl-C during imports exits cleanly."""

import sys


def main() -> None:
    """Run the command line and exit: see `keyhole.cli.app`."""
    try:
        from keyhole.cli.app import main as begin
    except KeyboardInterrupt:
        sys.exit(130)
    begin()
