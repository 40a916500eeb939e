"""The software that computed a result: versions, commit, and a digest of Keyhole's sources."""

import hashlib
import platform
import subprocess
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

_ROOT: Final = Path(__file__).parent
_SOURCE_ENDINGS: Final = (".py", ".toml")
_DIGEST_DIGITS: Final = 16
_GIT_SECONDS: Final = 10.0  # the longest time that a command of Git may take


def describe_software(packages: Iterable[str] = ("keyhole", "numba", "numpy")) -> dict[str, Any]:
    """Describe the software that computes results, as JSON values that name no folders or users.

    Parameters
    ----------
    packages : iterable of str
        The packages whose versions are wanted.

    Returns
    -------
    dict
        `versions` by package; `python`; `system`; `sources`, the digest of Keyhole's sources; and
        `commit`. The commit ends in ``-dirty`` if tracked files were changed since. It is None if
        no Git repository tracks Keyhole's sources.
    """
    return {
        "versions": {package: version(package) for package in packages},
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "commit": _find_commit(),
        "sources": _compute_sources_digest(),
    }


def software_text(software: Mapping[str, Any]) -> str:
    """Return a result of `describe_software` as a line of text; ``commit`` may be missing.

    Examples
    --------
    >>> software = {"versions": {"keyhole": "0.2.0"}, "python": "3.12.1", "system": "Linux x86_64"}
    >>> software_text(software | {"commit": None, "sources": "0123456789abcdef"})
    'keyhole 0.2.0; Python 3.12.1; Linux x86_64; sources 0123456789abcdef'
    """
    versions = ", ".join(f"{name} {text}" for name, text in software["versions"].items())
    identities = [
        f"{name} {software[name]}" for name in ("commit", "sources") if software.get(name)
    ]
    return "; ".join([versions, f"Python {software['python']}", software["system"], *identities])


@cache
def _compute_sources_digest() -> str:
    """Return a digest of the names and bytes of all files with code, claims and problems."""
    digest = hashlib.sha256()
    paths = {path.relative_to(_ROOT).as_posix(): path for path in _ROOT.rglob("*")}
    for name in sorted(paths):
        if name.endswith(_SOURCE_ENDINGS):
            content = hashlib.sha256(paths[name].read_bytes()).hexdigest()
            digest.update(f"{name} {content}\n".encode())
    return digest.hexdigest()[:_DIGEST_DIGITS]


@cache
def _find_commit() -> str | None:
    """Return the commit of the repository that tracks this file, or None."""
    # If Keyhole is installed in a user's repository, that repository's commit says nothing of it.
    if _run_git("ls-files", "--error-unmatch", Path(__file__).name) is None:
        return None
    return _run_git("describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _run_git(*arguments: str) -> str | None:
    """Return the output of a command of Git; None if it fails, or if there is no Git."""
    try:
        result = subprocess.run(
            ["git", *arguments], cwd=_ROOT, capture_output=True, check=True, timeout=_GIT_SECONDS
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return result.stdout.decode().strip()
