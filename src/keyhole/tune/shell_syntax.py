"""Shell syntax in a command that is run without a shell: find it, and say what to write instead."""

import re
from typing import Final

from keyhole.validate import short_repr

_QUOTED: Final = re.compile(r"""\\.|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_FORMAT: Final = re.compile(r":[^{}]*(?=\})")  # of a field, such as {limit:>5}
# Operators, expansions such as $HOME and $(date), and a home folder at the beginning of a word.
_SYNTAX: Final = re.compile(
    r"\|\||&&|>>|<<|[|&;<>`]|\$\(|\$\{?[A-Za-z_]\w*\}?|(?:^|(?<=\s))~(?=/|\s|$)"
)
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_]\w*)=.*", re.DOTALL)
_BUILTINS: Final = frozenset(
    ("alias", "cd", "eval", "exec", "export", "set", "source", "ulimit", "unset", ".")
)


def find_shell_syntax(text: str) -> str:
    """Return the first piece of a command that only a shell would interpret; "" for none.

    What is quoted is an argument, also `$HOME` in double quotes, which a shell would expand: `sh -c
    "echo $HOME"` works.

    Examples
    --------
    >>> find_shell_syntax("echo hi | tee log"), find_shell_syntax("sh -c 'echo hi | tee log'")
    ('|', '')
    """
    found = _SYNTAX.search(_FORMAT.sub("", _QUOTED.sub("''", text)))
    return found[0] if found else ""


def explain_shell_syntax(path: str, found: str, text: str) -> str:
    """Return the error about shell syntax: what to write instead."""
    return (
        f"{path} is run without a shell, which {found} needs: write sh -c '...', or quote it if it "
        f"is an argument; got {short_repr(text)}"
    )


def explain_missing_program(path: str, program: str) -> str:
    """Return the error about a program that is not found, and may be a word of the shell."""
    if assigned := _ASSIGNMENT.fullmatch(program):
        return (
            f"{path} must begin with a program, got {short_repr(program)}: set {assigned[1]} in "
            f"the entry environment of the spec, or write env {short_repr(program)[1:-1]} ..."
        )
    if program in _BUILTINS:
        return f"{path} is run without a shell, which {program} needs: write sh -c '...'"
    return f"{path}: the program {program!r} was not found, or is not executable"
