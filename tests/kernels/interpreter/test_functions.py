"""Copies of kernels that Python runs."""

import threading

from keyhole.kernels import lock
from keyhole.kernels.interpreter import functions


def test_a_fork_waits_until_a_copy_is_made(monkeypatch):
    """A lock that a fork does not wait for would stay locked in the child."""
    found = []

    def look():
        if free := lock._lock.acquire(blocking=False):
            lock._lock.release()
        found.append(free)

    def copied(plain):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return plain

    def kernel():
        return 1

    monkeypatch.setattr(functions, "_copied", copied)
    functions.twin_of(kernel)
    assert found == [False]
