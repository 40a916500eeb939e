"""Opening of the store at an address (an SQLite file or a PostgreSQL server), and backups."""

import os
import re
import shutil
import sys
import uuid
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from keyhole.files import add_path_to_errors, flush_folder, folder_lock
from keyhole.study.storage.postgres import Postgres
from keyhole.study.storage.sqlite import Sqlite
from keyhole.study.storage.store import Store
from keyhole.validation import check_choice, short_repr

_SCHEME: Final = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_POSTGRES: Final = ("postgresql", "postgres")


def open_store(
    address: str | os.PathLike[str], *, durability: str = "power_loss", make: bool = True
) -> Store:
    """Open the store at an address.

    Parameters
    ----------
    address
        A path (SQLite), or `postgresql://user@host/database`, which needs the extra `postgres`.
    durability
        What committed rows survive: `"power_loss"`, or only `"process_crash"`, with which commits
        to SQLite are faster.
    make
        Whether to create the file if it does not exist.

    Examples
    --------
    >>> open_store("mysql://localhost/studies")
    Traceback (most recent call last):
    ValueError: storage must be a path or begin with postgresql://, got 'mysql://localhost/studies'
    """
    check_choice("durability", durability, ("power_loss", "process_crash"))
    if not isinstance(address, str | os.PathLike):
        raise TypeError(f"storage must be a path or an address, got {short_repr(address)}")
    if not isinstance(address, str) or not (scheme := _SCHEME.match(address)):
        if str(address) in ("", ".", ":memory:") or str(address).startswith("file:"):
            raise ValueError(f"storage must be the path of a file, got {short_repr(str(address))}")
        if not make and not Path(address).exists():
            raise ValueError(
                f"storage must be an existing file, got {short_repr(str(address))}; to create a "
                "study (Study.create, keyhole study create) creates it"
            )
        return Sqlite(Path(address), flush=durability == "power_loss")
    if scheme[1].lower() not in _POSTGRES:
        raise ValueError(
            f"storage must be a path or begin with postgresql://, got {short_repr(address)}"
        )
    if durability != "power_loss":
        raise ValueError(
            f"durability must be 'power_loss' on a server, got {short_repr(durability)}"
        )
    return Postgres(address)


def normalize_address(address: str | os.PathLike[str]) -> str:
    """Return an address that stays valid if the working directory changes."""
    if isinstance(address, str) and _SCHEME.match(address):
        return address
    return os.path.abspath(address)


def backup(storage: str | os.PathLike[str], path: str | os.PathLike[str]) -> list[str]:
    """Write a consistent copy of all studies to a new file, while others may go on writing.

    The new file is an SQLite database, even if the studies are on a server. To use it, open it, or
    put it in the place of a file that no process has open. The new file is complete or absent.

    Parameters
    ----------
    storage : str or Path
        The database: a file, or ``postgresql://...``.
    path : str or Path
        The new file, in an existing folder.

    Returns
    -------
    list of str
        The names of the studies.

    Raises
    ------
    ValueError
        If there is no such database, if the path exists, or if its folder does not exist.
    StoreError
        If the database cannot be read, or the file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> from keyhole.study import Study, backup
    >>> from keyhole.thresholding import LSA
    >>> folder = tempfile.TemporaryDirectory()
    >>> with Study.create(f"{folder.name}/a.db", "labels", LSA(), ["cat", "dog"], threshold=0.5):
    ...     backup(f"{folder.name}/a.db", f"{folder.name}/copy.db")
    ['labels']
    >>> folder.cleanup()
    """
    path = Path(os.path.abspath(path))
    _refuse_existing_path(path)
    _remove_backup_drafts(path)
    # The draft is renamed once it is complete, so a backup that is killed leaves no file at `path`.
    # Until then the draft's folder is locked, since another backup to `path` removes unlocked
    # drafts.
    folder = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with add_path_to_errors(path):
        folder.mkdir()
    try:
        with folder_lock(folder):
            draft = folder / path.name
            with closing(open_store(storage, make=False)) as store:
                store.copy(draft)
            with closing(open_store(draft, make=False)) as copy:
                names = [name for name, _ in copy.studies()]
            _refuse_existing_path(path)
            draft.rename(path)
    finally:
        shutil.rmtree(folder)
    flush_folder(path.parent)
    return names


def _refuse_existing_path(path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"path must be in an existing folder, got {path}")
    if path.exists() or path.is_symlink():
        raise ValueError(f"path must be new, got {path}, which exists")


def _remove_backup_drafts(path: Path) -> None:
    """Remove drafts of backups that were killed; a running backup has the lock of its folder."""
    if sys.platform == "win32":  # folders cannot be locked there
        return
    name_pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{32}}")
    for folder in path.parent.iterdir():
        if name_pattern.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            with suppress(ValueError, OSError), folder_lock(folder):
                shutil.rmtree(folder)
