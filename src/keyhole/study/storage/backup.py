"""Backups: a copy of a live database, as it is at one moment, in one file."""

import os
import uuid
from contextlib import closing
from pathlib import Path

from keyhole.files import flush_folder
from keyhole.study.storage.opening import open_store


def backup(storage: str | os.PathLike[str], path: str | os.PathLike[str]) -> list[str]:
    """Copy all studies of a database into a new file, while others go on writing.

    The file is an SQLite database, whatever the database is; to use it, open it, or put it in the
    place of a file that no process has open. It is complete or absent.

    Parameters
    ----------
    storage : str or Path
        The database: a file, or ``postgresql://...``.
    path : str or Path
        The new file, in a folder that is there.

    Returns
    -------
    list of str
        The names of the studies.

    Raises
    ------
    ValueError
        If there is no such database, or the path is taken or lies in no folder.
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
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with closing(open_store(storage, make=False)) as store:
            store.copy(draft)
        with closing(open_store(draft, make=False)) as copy:
            names = [name for name, _ in copy.studies()]
        _check_new(path)
        draft.rename(path)
    finally:
        for end in ("", "-queue", "-journal", "-wal", "-shm"):
            Path(f"{draft}{end}").unlink(missing_ok=True)
    flush_folder(path.parent)
    return names


def _check_new(path: Path) -> None:
    if not path.parent.is_dir():
        raise ValueError(f"path must lie in a folder that is there, got {path}")
    if path.exists() or path.is_symlink():
        raise ValueError(f"path must be new, got {path}, which is there already")
