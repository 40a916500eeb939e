"""The files of the compile cache: where they are, whom they belong to, how large they may get."""

import contextlib
import hashlib
import os
import re
import stat
import sys
import tempfile
import warnings
from functools import cache
from pathlib import Path
from typing import Final

from keyhole.validate import Range, check_integer

_FOLDER: Final = "KEYHOLE_CACHE_DIR"
_SIZE: Final = "KEYHOLE_CACHE_MB"
_DEFAULT_SIZE: Final = 500  # some 4,000 pairs of policy and world
# Nothing else in the folder is ever removed. Drafts and locks are there while somebody compiles.
_OURS: Final = re.compile(r"[0-9a-f]{64}(\.code|\.lock|-.*\.draft)")
_DIGEST: Final = 32
CODE: Final = ".code"
NOTE: Final = ".sources"
"""The ending of files in which some hundred bytes are noted; they are not counted."""


def cache_folder() -> Path:
    """Return the folder of compiled code: `$KEYHOLE_CACHE_DIR`, else `keyhole` in the user's cache.

    It may be deleted at any time; the next run compiles again.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    if chosen := os.environ.get(_FOLDER):
        return Path(chosen).absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not base.is_absolute():  # as the standard of these folders has it
            base = Path.home() / ".cache"
    return base / "keyhole"


def cache_limit() -> int:
    """Return how many bytes the folder may hold: `$KEYHOLE_CACHE_MB` megabytes, else 500."""
    given = os.environ.get(_SIZE) or str(_DEFAULT_SIZE)
    if not given.isascii() or not given.isdigit():
        raise ValueError(f"{_SIZE} must be a whole number of megabytes, got {given!r}")
    return check_integer(_SIZE, int(given), Range(ge=1)) * 10**6


def cached_files() -> list[tuple[Path, os.stat_result]]:
    """Return the files of compiled code, those used last at the end; none if unreadable."""
    found = []
    with contextlib.suppress(OSError):
        for path in cache_folder().iterdir():
            with contextlib.suppress(OSError):  # another process may remove it
                if _OURS.fullmatch(path.name) and stat.S_ISREG((state := path.stat()).st_mode):
                    found.append((path, state))
    return sorted(found, key=lambda item: (item[1].st_mtime_ns, item[0].name))


def has_code() -> bool:
    """Tell whether there may be any compiled code."""
    try:
        with os.scandir(cache_folder()) as entries:
            return any(entry.name.endswith(CODE) for entry in entries)
    except OSError:
        return False


def clear_cache() -> int:
    """Remove all compiled code; return how many files were removed."""
    files = cached_files()
    notes = cache_folder().glob(f"{'[0-9a-f]' * 64}{NOTE}")
    for path in (*(path for path, _ in files), *notes):
        path.unlink(missing_ok=True)
    return len(files)


def _is_trusted(found: os.stat_result) -> bool:
    """Tell whether a file or folder is the user's own, and nobody else may write to it."""
    if sys.platform == "win32":
        return True
    return found.st_uid == os.geteuid() and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def is_usable(folder: Path) -> bool:
    """Tell whether a folder may hold code that this process runs; warn if not."""
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_trusted(folder.stat()):
            warnings.warn(
                f"{folder} is not used for compiled code: it must belong to you, and nobody else "
                f"may write to it; set {_FOLDER} to such a folder",
                stacklevel=2,
            )
            return False
    return True


# A cache may lose, but never fail: whatever goes wrong below (an unwritable folder, a file cut
# short), what was to be found is made anew instead.


def read_file(path: Path) -> bytes | None:
    """Return what `write_file` wrote, or None if that is not there as it was."""
    with contextlib.suppress(OSError):
        with open(path, "rb", opener=_open_at_once) as file:
            found = os.fstat(file.fileno())
            if not (stat.S_ISREG(found.st_mode) and _is_trusted(found)):
                return None
            data = file.read()
        if _checksum(path, data[_DIGEST:]) != data[:_DIGEST]:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # what is used stays
        return data[_DIGEST:]
    return None


def _open_at_once(path: str, flags: int) -> int:
    """Open a file; a named pipe as well, which waits for whoever writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _checksum(path: Path, payload: bytes) -> bytes:
    """Return a digest that is right for this name alone."""
    return hashlib.sha256(path.name.encode() + payload).digest()


def write_file(path: Path, payload: bytes) -> None:
    """Write a file in one step, with its checksum."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=".draft", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_checksum(path, payload) + payload)
            os.replace(name, path)
        except OSError:
            os.unlink(name)
            raise
        _shrink()


def _shrink() -> None:
    """Remove what was not used for longest, until the rest fits."""
    files = cached_files()
    over = sum(found.st_size for _, found in files) - cache_limit()
    for path, found in files:
        if over <= 0:
            return
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            over -= found.st_size
