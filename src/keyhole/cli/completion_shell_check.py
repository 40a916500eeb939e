"""Check of the shell for which `--install-completion` and `--show-completion` are called."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from keyhole.validate import short_repr

_OPTIONS: Final = ("--install-completion", "--show-completion")
_SHELLS: Final = ("bash", "zsh", "fish", "powershell", "pwsh")


def check_shell(words: Sequence[str]) -> None:
    """Refuse to complete for a shell that cannot, if the first word asks for it.

    Typer would say so on standard output, and exit with 1; further words it would ignore.
    """
    if not words or words[0] not in _OPTIONS:
        return
    option, listed = words[0], ", ".join(_SHELLS)
    if len(words) > 1:
        raise ValueError(
            f"{option} must be the only word, got {short_repr(words[1])} behind it: it is for the "
            f"shell that it is called from, one of {listed}"
        )
    if (shell := _find_shell()) not in _SHELLS:
        raise ValueError(f"{option} must be called from one of {listed}; got {shell}")


def _find_shell() -> str:
    """Return the name of the shell from which this process was started."""
    # A dependency of Typer, which finds the shell by it.
    import shellingham

    with suppress(shellingham.ShellDetectionFailure):
        return str(shellingham.detect_shell()[0])
    return "no shell"
