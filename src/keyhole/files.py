"""Reads of users' files with plain errors, atomic writes, and locks of folders."""

import codecs
import errno
import hashlib
import io
import json
import os
import re
import sys
import time
import tomllib
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Final

# A draft is written beside a file, and replaces it once the draft is complete: see `open_draft`.
_DRAFT_NAME: Final = re.compile(r"\..+\.[0-9a-f]{32}")
_DRAFT_SECONDS: Final = 3600.0  # if a draft is not written to for this long, its writer was killed
# By the errno of a limit of the system: the command that shows and raises that limit.
_LIMIT_COMMANDS: Final = {
    errno.EMFILE: " (ulimit -n)",
    errno.EFBIG: " (ulimit -f)",
}


def read_file(path: Path, description: str) -> bytes:
    """Return the content of a file that a user named; errors say what the file must be.

    Examples
    --------
    >>> read_file(Path("nowhere.json"), "a saved learner")
    Traceback (most recent call last):
    FileNotFoundError: nowhere.json must be a saved learner; there is no such file
    """
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"{path} must be {description}; there is no such file") from None
    except IsADirectoryError:
        raise IsADirectoryError(f"{path} must be {description}, got a folder") from None


def explain_os_error(error: Exception) -> str:
    """Return why a file cannot be read or written, as text without the number of the error.

    Examples
    --------
    >>> explain_os_error(IsADirectoryError(21, "Is a directory", "results"))
    'Is a directory'
    """
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}{_LIMIT_COMMANDS.get(error.errno or 0, '')}"
    # Arrow's messages may have several lines, and may hold bytes of the file.
    text = " ".join(str(error).split())
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def check_no_device(path: Path) -> None:
    """Refuse a device, a named pipe or a socket, since reading it might never end."""
    if path.exists() and not path.is_file() and not path.is_dir():
        raise ValueError(f"{path} must be a file, got a device, a named pipe or a socket")


def read_results_file(path: Path) -> bytes:
    """Return the content of a file in a folder of results, which may be somebody else's."""
    check_no_device(path)
    return path.read_bytes()


def decode_text(data: bytes, name: object) -> str:
    r"""Return the text of a file that a person may have written, in UTF-8; errors name the file.

    A byte order mark at the beginning, which editors on Windows write, is left out.

    Examples
    --------
    >>> decode_text(b"\xef\xbb\xbfarm,reward", "log.csv")
    'arm,reward'
    >>> decode_text("arm,reward".encode("utf-16"), "log.csv")
    Traceback (most recent call last):
    ValueError: log.csv is UTF-16: save it as UTF-8
    """
    refuse_utf_16(data, name)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        # With the added byte, `splitlines` counts a line that begins with the error.
        line = len((data[: error.start] + b".").splitlines())
        raise ValueError(
            f"{name}, line {line}: the text must be UTF-8, got byte {data[error.start]:#x}"
        ) from None


def refuse_utf_16(data: bytes, name: object) -> None:
    """Refuse text in UTF-16, as Notepad's "Unicode" and PowerShell's ``>`` write it."""
    # Without a byte order mark, one of the first two bytes is 0 if the text begins in English.
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in data[:2]:
        raise ValueError(f"{name} is UTF-16: save it as UTF-8")


def read_text_file(path: Path) -> str:
    r"""Return the text of a user's file, with all line ends as ``\n``; errors name the file."""
    try:
        return io.StringIO(decode_text(path.read_bytes(), path), newline=None).read()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {explain_os_error(error)}") from error


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; errors name the file."""
    text = read_text_file(path)
    try:
        return tomllib.loads(text)
    # tomllib parses by recursion, so deep nesting would otherwise end in a traceback.
    except RecursionError:
        raise ValueError(f"{path} is not valid TOML: it is nested too deeply") from None
    except ValueError as error:
        raise ValueError(f"{path} is not valid TOML: {error}") from error


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file atomically: after a crash it is either complete or unchanged."""
    with open_draft(path) as file:
        file.write(data)


@contextmanager
def open_draft(path: Path) -> Iterator[BinaryIO]:
    """Yield a draft file to write to; the draft then replaces the file at `path` atomically.

    If `path` is a symbolic link, the file to which it leads is replaced. If the block fails, no
    file is replaced.
    """
    user_path = path  # the path that errors name
    if path.is_symlink():
        path = Path(os.path.realpath(path))  # a loop of links stays a symbolic link
    # `os.replace` would refuse a folder, too, but only after all is written.
    if path.is_dir():
        raise IsADirectoryError(f"{user_path} must be a file, got a folder")
    if path.is_symlink():
        raise ValueError(f"{user_path} must be a file, got a loop of symbolic links")
    # `os.replace` would replace a device or a named pipe, and its readers would get nothing.
    check_no_device(user_path)
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{user_path} must be in an existing folder; {path.parent} is none")
    # The folder is not flushed: after a power loss the former file may be back, but complete.
    with add_path_to_errors(user_path):
        draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
        file = draft.open("xb")
        try:
            with file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise


@contextmanager
def add_path_to_errors(path: Path) -> Iterator[None]:
    """Name a file in system errors that name no file, or only the file's draft."""
    try:
        yield
    except OSError as error:
        name = os.path.basename(os.fspath(error.filename or ""))
        if error.strerror and (not name or _DRAFT_NAME.fullmatch(name)):
            error.filename = str(path)
            error.filename2 = None
        raise


def flush_folder(folder: Path) -> None:
    """Flush a folder, so that renames in it survive a power loss; Windows needs no flush."""
    if sys.platform == "win32":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def refuse_non_folder(folder: Path) -> None:
    """Refuse a path for a folder of results if there is something other than a folder."""
    if not folder.is_dir() and (folder.exists() or folder.is_symlink()):
        raise ValueError(f"out must be a folder, got the file {folder}")


def has_content(folder: Path) -> bool:
    """Return whether a folder for results has content; refuse a file in its place.

    Hidden files, such as the drafts of killed processes, do not count.
    """
    refuse_non_folder(folder)
    return folder.is_dir() and any(not path.name.startswith(".") for path in folder.iterdir())


def refuse_newer_format(folder: Path, version: object, newest: int) -> None:
    """Refuse a folder of results whose format has a later version than `newest`."""
    if isinstance(version, int) and version > newest:
        raise ValueError(f"{folder} was written by a newer version of Keyhole: use that to open it")


def remove_drafts(folder: Path) -> None:
    """Remove drafts that killed processes left: nothing was written to them for an hour."""
    for path in folder.glob(".*"):
        if _DRAFT_NAME.fullmatch(path.name):
            with suppress(OSError):
                if time.time() - path.stat().st_mtime > _DRAFT_SECONDS:
                    path.unlink()


@contextmanager
def folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder during a block; raise a ValueError if another process has the lock.

    The system releases the lock when the process ends, even if it is killed. On Windows and on some
    network drives there are no such locks, and nothing is locked.
    """
    if sys.platform == "win32":  # a folder cannot be opened there
        yield
        return
    import fcntl

    # The folder itself is locked, so that no lock file is left in it.
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another process is at work in {folder}; wait for it, or choose another folder"
            ) from None
        except OSError:  # the drive has no locks
            pass
        yield
    finally:
        os.close(handle)


def json_checksum(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a table as JSON with sorted keys and no spaces."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
