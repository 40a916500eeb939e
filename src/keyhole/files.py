"""Files that are complete or absent, and folders in which one process is at work."""

import hashlib
import json
import os
import re
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

_DRAFT: Final = re.compile(r"\..+\.[0-9a-f]{32}")
_DRAFT_SECONDS: Final = 60.0


def read_file(path: Path, wanted: str) -> bytes:
    """Return what is in a file that a user named; `wanted` is what the file must be.

    Examples
    --------
    >>> read_file(Path("nowhere.json"), "a saved learner")
    Traceback (most recent call last):
    FileNotFoundError: nowhere.json must be a saved learner; there is no such file
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} must be {wanted}; there is no such file") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path} must be {wanted}, got a folder") from None


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that it is complete or absent, whatever happens on the way."""
    with open_draft(path) as file:
        file.write(data)


@contextmanager
def open_draft(path: Path) -> Iterator[BinaryIO]:
    """Give a file to be written; it is in its place when it is complete, and absent till then."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} must be a file, got a folder")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path} must be in a folder that there is; {path.parent} is none")
    file, draft = _new_draft(path)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
            if sys.platform != "win32":  # where open files cannot be renamed
                os.replace(draft, path)  # while it is locked, so that nobody takes it for left
        if sys.platform == "win32":
            os.replace(draft, path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _new_draft(path: Path) -> tuple[BinaryIO, Path]:
    """Begin a draft of a file, locked for as long as it is open."""
    while True:
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        file = draft.open("xb")
        # Before it is locked another process may take it for left, and remove it.
        if _lock(file.fileno()) is not False and draft.exists():
            return file, draft
        file.close()


def _lock(handle: int) -> bool | None:
    """Lock a file or folder until it is closed; return False if another has it, None if none can.

    The lock belongs to what was opened, not to the process: it is gone when that ends, however it
    ends.
    """
    if sys.platform == "win32":
        return None
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # no locks on this drive
        return None
    return True


def flush_folder(folder: Path) -> None:
    """Make the names of a folder's files durable; Windows does so by itself."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def has_content(folder: Path) -> bool:
    """Return whether there is something in a folder for results, which need not be there yet.

    Drafts that a killed process left are nothing.

    Raises
    ------
    ValueError
        If a file is in its place.
    """
    if folder.is_dir():
        return any(not path.name.startswith(".") for path in folder.iterdir())
    if folder.exists() or folder.is_symlink():
        raise ValueError(f"out must be a folder, got the file {folder}")
    return False


def remove_drafts(folder: Path) -> None:
    """Remove what killed processes left of files that `write_atomically` had begun.

    A draft that a living process has open is locked, and stays; where there are no locks, one of
    the last minute.
    """
    for path in folder.glob(".*"):
        if _DRAFT.fullmatch(path.name):
            with suppress(OSError), path.open("rb") as file:
                age = time.time() - os.fstat(file.fileno()).st_mtime
                locked = _lock(file.fileno())
                if locked or (locked is None and age > _DRAFT_SECONDS):
                    path.unlink()


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Hold a folder while work goes on in it.

    The system lets go of it when the process ends, however it ends; nothing is written to the
    folder. Where there is no such lock (on Windows, on some network drives), nothing is held. A
    folder that another process holds is refused with a ValueError.
    """
    if sys.platform == "win32":  # which opens no folders
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        if _lock(handle) is False:
            raise ValueError(
                f"another process is at work in {folder}; wait for it, or choose another folder"
            )
        yield
    finally:
        os.close(handle)


def content_checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a table as JSON with sorted keys and no spaces."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
