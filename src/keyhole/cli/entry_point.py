"""How the command line starts: what it needs is loaded in here, so that Ctrl-C meanwhile is one."""

import sys


def main() -> None:
    """Run the command line and exit: see `keyhole.cli.app`."""
    try:
        from keyhole.cli.app import main as begin
    except KeyboardInterrupt:
        sys.exit(130)
    begin()
