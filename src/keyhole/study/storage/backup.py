"""Backup of a database of studies while others write to it: a consistent copy in one file."""

import os
import re
import shutil
import sys
import uuid
from contextlib import closing, suppress
from pathlib import Path

from keyhole.files import errors_with_path, flush_folder, folder_lock
from keyhole.study.storage.store_factory import open_store


def backup(storage: str | os.PathLike[str], path: str | os.PathLike[str]) -> list[str]:
    """Write a consistent copy of all studies into a new file, while others go on writing.

    The file is an SQLite database, whatever the database is; to use it, open it, or put it in the
    place of a file that no process has open. It is complete or absent.

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
        If there is no such database, or the path exists or is in no folder.
    StoreError
        If the database cannot be read, or the file not be written.

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
    _check_new(path)
    _remove_drafts(path)
    # A complete draft is renamed, so a backup that is killed leaves no file that looks like one.
    # Its folder is locked while it is at work: the next backup removes unlocked drafts.
    folder = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    with errors_with_path(path):
        folder.mkdir()
    try:
        with folder_lock(folder):
            draft = folder / path.name
            with closing(open_store(storage, make=False)) as store:
                store.copy(draft)
            with closing(open_store(draft, make=False)) as copy:
                names = [name for name, _ in copy.studies()]
            _check_new(path)
            draft.rename(path)
    finally:
        shutil.rmtree(folder)
    flush_folder(path.parent)
    return names


def _check_new(path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"path must be in an existing folder, got {path}")
    if path.exists() or path.is_symlink():
        raise ValueError(f"path must be new, got {path}, which exists")


def _remove_drafts(path: Path) -> None:
    """Remove drafts of backups that were killed; a living backup holds a lock on its folder."""
    if sys.platform == "win32":  # where no folder is held
        return
    ours = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{32}}")
    for folder in path.parent.iterdir():
        if ours.fullmatch(folder.name) and folder.is_dir() and not folder.is_symlink():
            with suppress(ValueError, OSError), folder_lock(folder):
                shutil.rmtree(folder)
