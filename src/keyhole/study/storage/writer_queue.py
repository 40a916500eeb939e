"""A file store whose writers queue at an advisory lock (`flock`) on the file `...-queue`.

Processes that wait for SQLite's own lock retry until a timeout, and one of them may never succeed;
`flock` lets them in as they came. A program that does not queue is still held off by SQLite's lock.
On Windows, without `flock`, the order is a matter of chance.
"""

import os
from pathlib import Path

from keyhole.study.storage.file_identity import open_queue
from keyhole.study.storage.fork_lock import FORK_LOCK
from keyhole.study.storage.store import Store

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


def has_queues() -> bool:
    """Return whether the operating system has `flock`."""
    return fcntl is not None


class QueuedFile(Store):
    """A store in one file whose writers take turns."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = Path(os.path.realpath(path))  # one file has one queue
        self.where = str(self.path)
        self._queue: int | None = None

    def _lock_queue(self) -> None:
        """Wait for the writers' lock."""
        if has_queues():
            fcntl.flock(self._queue_descriptor(), fcntl.LOCK_EX)

    def _try_lock_queue(self) -> bool:
        """Take the writers' lock if it is free; return whether it was."""
        try:
            fcntl.flock(self._queue_descriptor(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _queue_descriptor(self) -> int:
        if self._queue is None:
            # An flock belongs to the open file, which a fork shares: a child that does not know
            # of this descriptor would keep its parent's lock after the parent has ended.
            with FORK_LOCK.shared(self):
                self._queue = open_queue(self.path)
        return self._queue

    def _unlock_queue(self) -> None:
        if self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _close_queue(self) -> None:
        """Close the queue, which releases its lock unless a fork still has it open."""
        queue, self._queue = self._queue, None
        if queue is not None:
            os.close(queue)
