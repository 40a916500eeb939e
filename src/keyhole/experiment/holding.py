"""One folder, one process at work in it."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold a folder while work goes on in it.

    The system lets go of it when the process ends, however it ends. Where there is no such lock
    (on Windows, on some network drives), nothing is held.

    Parameters
    ----------
    folder : Path
        The folder; nothing is written to it.

    Raises
    ------
    ValueError
        If another process holds it.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"another process is at work in {folder}; wait for it, or choose another folder"
            ) from None
        except OSError:  # no locks on this drive
            pass
        yield
    finally:
        os.close(handle)
