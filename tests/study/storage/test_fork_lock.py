"""The fork lock, with interrupts in each of its hooks."""

import _thread
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from keyhole.kernels import compiler_fork_locks
from keyhole.study.storage import fork_lock
from keyhole.study.storage.fork_lock import FORK_LOCK
from tests.forks import ENOUGH, in_child

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning"),
]


def fork_with_an_interrupt(monkeypatch, name, step):
    """Fork, and be interrupted at a call in a hook, where Python looks; return if that came."""
    found, parent = [], os.getpid()

    def trace(frame, event, _):
        while frame is not None and frame.f_code.co_name != name:
            frame = frame.f_back
        is_hook = frame is not None and frame.f_code.co_filename == fork_lock.__file__
        if is_hook and os.getpid() == parent:
            found.append(event)
            if len(found) == step:
                raise KeyboardInterrupt

    before = sys.gettrace()
    with monkeypatch.context() as patch:
        patch.setattr(sys, "unraisablehook", lambda _: None)
        sys.settrace(trace)
        try:
            child = os.fork()
            if not child:
                os._exit(0)
        finally:
            sys.settrace(before)
    os.waitpid(child, 0)
    return len(found) >= step


def use():
    """Use what forks wait for, in another thread."""
    with FORK_LOCK.shared(), compiler_fork_locks.compiler_lock():
        return threading.get_ident()


class Idle:
    """An owner of which nobody wants anything."""

    def before_fork(self):
        pass

    def after_fork(self, mine):
        pass


def interrupt_each_step(monkeypatch, name):
    """Fork with an interrupt at each call in a hook; return how many there were."""
    owner, step = Idle(), 1
    FORK_LOCK.add(owner)
    with ThreadPoolExecutor(1) as pool:
        while fork_with_an_interrupt(monkeypatch, name, step):
            assert pool.submit(use).result(ENOUGH)
            assert in_child(lambda: use() > 0) == "True"
            step += 1
    return step - 1


@pytest.mark.parametrize(("name", "steps"), [("before_fork", 20), ("after_fork_in_parent", 3)])
def test_an_interrupt_in_a_hook_of_a_fork_leaves_nothing_locked(monkeypatch, name, steps):
    """Python goes on with the fork, and nobody else would give anything back.

    In a child, since it begins without what other tests have left open.
    """
    assert int(in_child(lambda: interrupt_each_step(monkeypatch, name))) >= steps


class Owner:
    """An owner of which others want something while a fork closes it."""

    def __init__(self):
        self.closing, self.said = threading.Event(), []

    def before_fork(self):
        self.closing.set()
        time.sleep(0.1)  # for others to begin, if they may
        self.said.append("closed")

    def after_fork(self, mine):
        pass


@pytest.mark.parametrize("others", ["operations", "forks"])
def test_others_wait_while_a_fork_closes_what_is_open(others):
    owner = Owner()
    FORK_LOCK.add(owner)

    def other():
        assert owner.closing.wait(ENOUGH)
        if others == "forks":
            assert in_child(lambda: len(owner.said)) == "2"  # each fork closes all
            return
        with FORK_LOCK.shared():
            owner.said.append("begun")

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(other)
        assert in_child(lambda: owner.said) == "['closed']"
        done.result(ENOUGH)
    assert owner.said[0] == "closed"


def fork_without_a_frame(owner):
    """Fork in a thread that runs no Python; return what the owner was asked."""
    FORK_LOCK.add(owner)
    _thread.start_new_thread(os.fork, ())
    assert owner.closing.wait(ENOUGH)
    with FORK_LOCK.shared():  # after the fork
        os.wait()
        return owner.said


def test_a_fork_that_no_frame_calls_for_closes_what_is_open():
    # In a new process: the fork ends by `exit`, where the library of Ray hangs that others load.
    program = f"from {__name__} import *; print(fork_without_a_frame(Owner()))"
    result = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=ENOUGH
    )
    assert result.stdout == "['closed']\n"
