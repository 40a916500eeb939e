"""The exit codes of commands: see `command_execution`."""

from typing import Final

CLAIM_FAILED: Final = 1
BAD_INPUT: Final = 2
TRY_LATER: Final = 3
DONE: Final = 4
INTERRUPTED: Final = 130


def exit_code_of(error: Exception) -> int:
    """Return the code of an error: that of bad input, unless the error says otherwise."""
    if getattr(error, "done", False):
        return DONE
    return TRY_LATER if getattr(error, "later", False) else BAD_INPUT
