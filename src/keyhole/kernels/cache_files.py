"""The files of the compile cache (machine code): folder, permissions, checksums, size limit."""

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

from keyhole.validation import Range, check_integer

_FOLDER_VARIABLE: Final = "KEYHOLE_CACHE_DIR"
_SIZE_VARIABLE: Final = "KEYHOLE_CACHE_MB"
_DEFAULT_MEGABYTES: Final = 500  # enough for some 4,000 pairs of policy and environment
# Matches the names of files of code, locks and drafts. Only such files, and files with
# `DIGEST_SUFFIX`, are ever removed. Locks and drafts exist while a process compiles or writes.
_FILE_NAME: Final = re.compile(r"[0-9a-f]{64}(\.code|\.lock|-.*\.draft)")
_CHECKSUM_BYTES: Final = 32
CODE_SUFFIX: Final = ".code"
DIGEST_SUFFIX: Final = ".sources"
"""The suffix of stored digests of sources, which are too small to count towards the limit."""


def cache_folder() -> Path:
    """Return the folder of compiled code: `$KEYHOLE_CACHE_DIR`, else `keyhole` in the user's cache.

    The folder may be deleted at any time; the next run compiles again.

    Examples
    --------
    >>> cache_folder().is_absolute()
    True
    """
    if folder := os.environ.get(_FOLDER_VARIABLE):
        return Path(folder).absolute()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME", ""))
        if not base.is_absolute():  # the XDG standard ignores relative paths
            base = Path.home() / ".cache"
    return base / "keyhole"


def cache_limit() -> int:
    """Return how many bytes the folder may hold: `$KEYHOLE_CACHE_MB` megabytes, else 500."""
    megabytes = os.environ.get(_SIZE_VARIABLE) or str(_DEFAULT_MEGABYTES)
    if not megabytes.isascii() or not megabytes.isdigit():
        raise ValueError(f"{_SIZE_VARIABLE} must be a whole number of megabytes, got {megabytes!r}")
    return check_integer(_SIZE_VARIABLE, int(megabytes), Range(ge=1)) * 10**6


def cached_files() -> list[tuple[Path, os.stat_result]]:
    """Return each file of code, lock and draft with its status, the least recently used first.

    If the folder cannot be read, the list is empty.
    """
    files = []
    with contextlib.suppress(OSError):
        for path in cache_folder().iterdir():
            with contextlib.suppress(OSError):  # another process may remove it
                if _FILE_NAME.fullmatch(path.name) and stat.S_ISREG(
                    (status := path.stat()).st_mode
                ):
                    files.append((path, status))
    return sorted(files, key=lambda item: (item[1].st_mtime_ns, item[0].name))


def clear_cache() -> int:
    """Remove all compiled code and files of digests; return how many `cached_files` there were."""
    files = cached_files()
    digest_files = cache_folder().glob(f"{'[0-9a-f]' * 64}{DIGEST_SUFFIX}")
    for path in (*(path for path, _ in files), *digest_files):
        path.unlink(missing_ok=True)
    return len(files)


def _is_trusted(status: os.stat_result) -> bool:
    """Return whether a file or folder belongs to the user, and nobody else may write to it."""
    if sys.platform == "win32":
        return True
    return status.st_uid == os.geteuid() and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


@cache
def prepare_folder(folder: Path) -> bool:
    """Create a folder if it is missing; return whether its code can be trusted.

    It can if the folder belongs to the user, and nobody else may write to it; otherwise a warning
    says so. The result is also True for a folder that cannot be created, since it has no files.
    """
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_trusted(folder.stat()):
            warnings.warn(
                f"{folder} is not used for compiled code: it must belong to you, and nobody else "
                f"may write to it; set {_FOLDER_VARIABLE} to such a folder",
                stacklevel=2,
            )
            return False
    return True


# The functions below raise no error for an unwritable folder or a truncated file: the caller then
# compiles the code, since a cache may miss, but must not fail.


def read_cache_file(path: Path) -> bytes | None:
    """Return what `write_cache_file` wrote; None if the file is missing, damaged or not trusted."""
    with contextlib.suppress(OSError):
        # Owner and mode are read from the open file, since another file may take its path.
        with open(path, "rb", opener=_open_nonblocking) as file:
            status = os.fstat(file.fileno())
            if not (stat.S_ISREG(status.st_mode) and _is_trusted(status)):
                return None
            data = file.read()
        if _checksum(path, data[_CHECKSUM_BYTES:]) != data[:_CHECKSUM_BYTES]:
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the time of last use, for `_remove_least_recently_used`
        return data[_CHECKSUM_BYTES:]
    return None


def _open_nonblocking(path: str, flags: int) -> int:
    """Open a file without blocking, since a named pipe would wait for a writer."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _checksum(path: Path, payload: bytes) -> bytes:
    """Return a digest of a file's name and content, so that a renamed file does not match."""
    return hashlib.sha256(path.name.encode() + payload).digest()


def write_cache_file(path: Path, payload: bytes) -> None:
    """Write a file atomically, with its checksum."""
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
        _remove_least_recently_used()


def _remove_least_recently_used() -> None:
    """Remove the least recently used files until the rest is within the limit."""
    files = cached_files()
    excess = sum(status.st_size for _, status in files) - cache_limit()
    for path, status in files:
        if excess <= 0:
            return
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            excess -= status.st_size
