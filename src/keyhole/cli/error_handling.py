"""Error handling of the command line: an error becomes one line and an exit code.

Exit codes: 0 done; 1 a claim does not hold, or a study is damaged; 2 bad input; 3 try again later
(a study waits for feedback, its database failed, a cluster does not answer); 4 a study is done, and
has no further decision; 130 interrupted. Codes 2 to 4 come with one line on standard error. Results
go to standard output, progress to standard error. A command whose reader ends early, as ``head``
does, ends with 0.
"""

import os
import sys
import warnings
from contextlib import redirect_stdout
from typing import Any, Final, TextIO, cast

import typer

from keyhole.cli import output
from keyhole.cli.app import app
from keyhole.cli.output import EscapedStream, error_text, one_line_text
from keyhole.status_output import print_status
from keyhole.validation import short_repr

# The name by which shells complete commands, also if the program is `python -m keyhole`.
_PROGRAM: Final = "keyhole"
# The commands that resume their work when they are called again.
_RESUMING_COMMANDS: Final = ("run", "reproduce", "demo", "bench", "compile", "tune")
# Our words for types of numbers in Pydantic's errors.
_NUMBERS: Final = {"int": "a whole number", "float": "a number"}


def main() -> None:
    """Run the command line and exit; see the module's docstring for the codes."""
    stream = None if sys.stdout is None else cast(TextIO, EscapedStream(sys.stdout))
    with warnings.catch_warnings(), redirect_stdout(stream):
        warnings.showwarning = lambda message, *_, **__: _show_warning(message)
        code = _run_app()
    sys.exit(code or 0)


def _run_app() -> int | None:
    """Run the command line; return its exit code."""
    try:
        # In standalone mode, Typer would print errors itself, on several lines, and exit with codes
        # of its own.
        code: int | None = app(prog_name=_PROGRAM, standalone_mode=False)
        if code == output.INTERRUPTED:  # Typer may return this code instead of raising an error
            raise KeyboardInterrupt
        return code
    except (KeyboardInterrupt, typer.Abort) as end:
        return _print_error(str(end) or _interruption_text(), output.INTERRUPTED)
    except BrokenPipeError:
        return _discard_output()
    except SystemExit as end:  # Typer turns a broken pipe into an exit with another code
        if not isinstance(end.__context__, BrokenPipeError):
            raise
        return _discard_output()
    except MemoryError as error:
        return _print_error(str(error) or "there is not enough memory")
    # These errors have a message for the user. Any other error, except Typer's own, is a fault of
    # Keyhole, and keeps its traceback.
    except (TypeError, ValueError, OSError, ArithmeticError, RuntimeError, ImportError) as error:
        return _print_error(error_text(error), output.exit_code_of(error))
    except Exception as error:
        # Typer's usage errors have no public base class, but all of them have this method.
        if not hasattr(error, "format_message"):
            raise
        return _print_error(_usage_message(error))


def _interruption_text() -> str:
    if sys.argv[1:2] and sys.argv[1] in _RESUMING_COMMANDS:
        return "interrupted; the same command resumes from here"
    return "interrupted"


def _usage_message(error: Any) -> str:
    """Return the message of a usage error, with words of our own if a number is wrong."""
    message: str = error.format_message()
    # Typer begins such a message with the name of the option or argument.
    argument = message.removeprefix("Invalid value for ").partition(": ")[0].strip("'")
    for detail in getattr(error.__cause__, "errors", list)():
        if number_text := _NUMBERS.get(detail["type"].partition("_")[0]):
            return f"{argument} must be {number_text}, got {short_repr(detail['input'])}"
    return message


def _show_warning(message: Warning | str) -> None:
    """Show a warning on one line, without the place in the code."""
    print_status(f"keyhole: warning: {one_line_text(str(message))}")


def _discard_output() -> int:
    """Discard all further output, since its reader has ended; return the exit code 0."""
    # If output were kept, Python's flush at the end of the process would fail again.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _print_error(message: str, code: int = output.BAD_INPUT) -> int:
    print_status(f"keyhole: {one_line_text(message)}")
    return code
