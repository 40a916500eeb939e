"""Shell syntax in a command that is run without a shell: find it, and say what to write instead."""

import re
from typing import Final

from keyhole.validate import short_repr

_QUOTED: Final = re.compile(r"""\\(?:\r\n|.)|'[^']*'|"(?:\\.|[^"\\])*\"""", re.DOTALL)
_CONTINUATIONS: Final = ("\\\n", "\\\r\n")
_FORMAT: Final = re.compile(r":[^{}]*(?=\})")  # of a field, such as {limit:>5}
# Operators, the end of a line, expansions such as $HOME and $(date), patterns of files, and at the
# beginning of a word a home folder or a comment. `?` and `[` are mostly arguments, as in a URL.
_SYNTAX: Final = re.compile(
    r"\|\||&&|>>|<<|[|&;<>`*\n]|\$\(|\$\{?[A-Za-z_]\w*\}?|(?:^|(?<=\s))(?:~(?=/|\s|$)|#)"
)
_OTHER_ADVICE: Final = {
    "\n": "which a second line needs: write sh -c '...', or end a line with \\ if the command goes "
    "on in the next",
    "#": "which a comment needs: write the comment outside the command, or quote # if it begins "
    "an argument",
}
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
    found = _SYNTAX.search(_FORMAT.sub("", _QUOTED.sub("''", text.strip())))
    return found[0] if found else ""


def join_lines(text: str) -> str:
    r"""Return a command without backslashes at line ends, by which it goes on in the next line.

    Examples
    --------
    >>> join_lines("solve \\\n  --fast")
    'solve   --fast'
    """
    return _QUOTED.sub(lambda match: "" if match[0] in _CONTINUATIONS else match[0], text)


def explain_shell_syntax(path: str, text: str) -> str:
    """Return the error about shell syntax in a command: what to write instead; "" for none."""
    syntax = find_shell_syntax(text)
    advice = _OTHER_ADVICE.get(
        syntax, f"which {syntax} needs: write sh -c '...', or quote it if it is an argument"
    )
    return f"{path} is run without a shell, {advice}; got {short_repr(text)}" if syntax else ""


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
