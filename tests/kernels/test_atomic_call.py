"""Interpreted calls that are atomic to threads, forks and Ctrl-C."""

import bdb
import os
import threading

import numpy as np
import pytest

from keyhole.kernels import compiler_fork_locks
from keyhole.kernels.interpreted_mode import AtomicCall
from keyhole.stochastic import UCB1
from tests.forks import ENOUGH, in_child


def test_an_interpreted_learner_is_called_atomically():
    assert isinstance(UCB1().learner(arms=2, interpreted=True)._step, AtomicCall)


@pytest.mark.parametrize(
    ("error", "left"),
    [
        (KeyboardInterrupt(), [0.0, 1.0]),
        (bdb.BdbQuit(), [0.0, 1.0]),  # the debugger was left
        (ValueError("of the kernel"), [0.0, 7.0]),  # as in compiled code, and for a debugger to see
    ],
)
def test_an_interrupted_call_changes_nothing(error, left):
    words = np.arange(2.0)

    def run(words):
        words[1] = 7.0
        raise error

    with pytest.raises(type(error)):
        AtomicCall("Mine", run)(words)
    assert words.tolist() == left


def test_a_call_does_not_wait_while_another_thread_compiles():
    holds, ends = threading.Event(), threading.Event()

    def compile_long():
        with compiler_fork_locks.compiler_lock():
            holds.set()
            ends.wait()

    compiling = threading.Thread(target=compile_long)
    compiling.start()
    holds.wait()
    found = []
    calling = threading.Thread(target=lambda: found.append(AtomicCall("Mine", lambda: 1)()))
    calling.start()
    calling.join(ENOUGH)
    ends.set()
    compiling.join()
    assert found == [1]


class Calling:
    """A thread in the midst of a call, until `end`; `ended` is what the call did."""

    def __init__(self):
        self.inside, self.go_on, self.ended = threading.Event(), threading.Event(), []
        self.step = AtomicCall("Mine", self._run)
        self.thread = threading.Thread(target=self.step)
        self.thread.start()
        self.inside.wait()

    def _run(self):
        if not self.inside.is_set():
            self.inside.set()
            self.go_on.wait()
        self.ended.append(threading.get_ident())
        return len(self.ended)

    def end(self):
        self.go_on.set()
        self.thread.join()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_waits_for_the_end_of_a_call(monkeypatch):
    monkeypatch.setitem(compiler_fork_locks._wait_for_call.keywords, "timeout", 60.0)
    calling = Calling()
    os.register_at_fork(before=calling.go_on.set)  # before the fork waits for locks
    assert in_child(calling.step) == "2"
    calling.end()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_thread_may_fork_during_its_own_call():
    parent, step = os.getpid(), AtomicCall("Mine", os.fork)
    try:
        child = step()
        code = int(compiler_fork_locks._calling._is_owned())
    except RuntimeError:
        code = 2
    if os.getpid() != parent:
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
@pytest.mark.filterwarnings("ignore:.*built-in method release")
def test_a_child_forked_during_a_call_refuses_it(monkeypatch):
    monkeypatch.setitem(compiler_fork_locks._wait_for_call.keywords, "timeout", 0.0)
    calling = Calling()

    def call():
        with pytest.raises(RuntimeError, match="in the midst of a call of Mine when this process"):
            calling.step()
        return AtomicCall("Mine", lambda: "another is whole")()

    assert in_child(call) == "another is whole"
    calling.end()
    assert calling.step() == 2
