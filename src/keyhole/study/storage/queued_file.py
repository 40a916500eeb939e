"""A store in a file at which processes queue: whose turn it is to write.

SQLite lets those who wait for its lock try again and again, and one of them may wait for ever. So
they queue at a file beside it, `...-queue`, where the system lets them in as they came. Who passes
by it is held up by SQLite's own lock. Where the system has no such queue (Windows), whose turn
comes next is a matter of luck.
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
    """Return whether the system has queues."""
    return fcntl is not None


class QueuedFile(Store):
    """A store in one file that is written to in turn."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = Path(os.path.realpath(path))  # one file has one queue
        self.where = str(self.path)
        self._queue: int | None = None

    def _wait(self) -> None:
        """Wait for our turn."""
        if has_queues():
            fcntl.flock(self._opened_queue(), fcntl.LOCK_EX)

    def _has_turn_at_once(self) -> bool:
        """Return whether it is our turn without waiting: who only looks waits for nobody."""
        try:
            fcntl.flock(self._opened_queue(), fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True

    def _opened_queue(self) -> int:
        if self._queue is None:
            # A child forked before it is noted would keep it open, and with it its parent's turn.
            with FORK_LOCK.shared(self):
                self._queue = open_queue(self.path)
        return self._queue

    def _end_turn(self) -> None:
        if self._queue is not None:
            fcntl.flock(self._queue, fcntl.LOCK_UN)

    def _close_queue(self) -> None:
        """End our turn; in a fork, keep our parent's turn no longer than he does."""
        queue, self._queue = self._queue, None
        if queue is not None:
            os.close(queue)
