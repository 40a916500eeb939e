"""The identity (device, inode) of a database file, and of its files ``-wal`` and ``-shm``.

It tells when another file has been put in the place of one that is open.
"""

import errno
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import Final

_MOUNTS: Final = Path("/proc/self/mountinfo")  # of Linux
_ESCAPED: Final = re.compile(rb"\\([0-7]{3})")


def has_access(path: Path, mode: int) -> bool:
    """Return whether this process may read (`os.R_OK`) or write (`os.W_OK`) a file or folder."""
    ids = {"effective_ids": True} if os.access in os.supports_effective_ids else {}
    return os.access(path, mode, **ids)


def file_identity(path: Path | str) -> tuple[int, int]:
    """Return device and inode of a file: they differ if it was replaced."""
    found = os.stat(path)
    return found.st_dev, found.st_ino


def explain_hard_links(path: Path) -> str:
    """Return why a file with hard links is refused; "" if it has none."""
    names = os.stat(path).st_nlink
    if names <= 1:
        return ""
    return (
        f"storage must be a file with one name, got {path}, which has {names} (hard links): "
        "commits would not be seen by another name; remove the other names, or copy the file"
    )


def check_location(path: Path) -> None:
    """Refuse a file that can be reached by another path, where it would have another `-wal`.

    Raises
    ------
    ValueError
        With what to do.
    """
    if why := explain_hard_links(path):
        raise ValueError(why)
    if _is_mounted(path):
        raise ValueError(
            f"storage must not be a file that is mounted by itself, got {path}: all users must "
            "share the files beside it; mount its folder"
        )


def _is_mounted(path: Path) -> bool:
    try:
        lines = _MOUNTS.read_bytes().splitlines()
    except OSError:
        return False
    points = (
        _ESCAPED.sub(lambda code: bytes([int(code[1], 8)]), line.split()[4]) for line in lines
    )
    return os.fsencode(path) in points


def open_queue(path: Path) -> int:
    """Open the file at which writers queue, with the permissions of the database."""
    # As SQLite does with `-wal` and `-shm`: else the first writer, perhaps root, would lock out
    # all others who may write to the database. A reader would do so for good.
    if not has_access(path, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))
    queue = os.open(f"{path}-queue", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    wanted, found = os.stat(path), os.fstat(queue)
    if found.st_uid == os.geteuid() and found.st_mode & 0o777 != wanted.st_mode & 0o777:
        os.fchmod(queue, wanted.st_mode & 0o777)
    if os.geteuid() == 0 and (found.st_uid, found.st_gid) != (wanted.st_uid, wanted.st_gid):
        os.fchown(queue, wanted.st_uid, wanted.st_gid)
    share_with_group(path)
    return queue


def share_with_group(path: Path | str) -> None:
    """Give what this user has made beside a database the group of the database."""
    for name in (f"{path}-wal", f"{path}-shm", f"{path}-queue"):
        with suppress(OSError, AttributeError):  # not its group, no such file; Windows
            if os.stat(name).st_uid == os.geteuid() != 0:
                os.chown(name, -1, os.stat(path).st_gid, follow_symlinks=False)
