"""The command line `keyhole`, with a module for each group of its commands."""

import sys


def main() -> None:
    """Run the command line and exit: see `command_execution`."""
    # Imported here, so that Ctrl-C during the imports exits cleanly.
    try:
        from keyhole.cli.command_execution import main as begin
    except KeyboardInterrupt:
        sys.exit(130)
    begin()
