"""Interpreted copies of kernels."""

import threading

from keyhole.kernels import compiler_fork_locks
from keyhole.kernels.interpreter import kernel_copies


def test_a_fork_waits_until_a_copy_is_made(monkeypatch):
    """A lock that a fork does not wait for would stay locked in the child."""
    found = []

    def look():
        if free := compiler_fork_locks._compiling.acquire(blocking=False):
            compiler_fork_locks._compiling.release()
        found.append(free)

    def copied(plain):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return plain

    def kernel():
        return 1

    monkeypatch.setattr(kernel_copies, "_make_interpreted_copy", copied)
    kernel_copies.interpreted_copy(kernel)
    assert found == [False]


class Own:
    LIMIT = 3

    def kernel():
        return Own.LIMIT


def test_a_function_may_name_the_class_that_it_stands_in():
    assert kernel_copies.interpreted_copy(Own.kernel)() == 3
