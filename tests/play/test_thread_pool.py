import _thread
import math
import threading

import pytest

from keyhole.play.thread_pool import DaemonThreadPool


def wait_for(pool):
    while not pool.wait_for_next(0.1):
        pass


def test_every_task_is_done_once_by_no_more_threads_than_wanted():
    done, workers = [], set()

    def task(i):
        workers.add(threading.get_ident())
        done.append(i)

    wait_for(DaemonThreadPool([lambda i=i: task(i) for i in range(200)], 3))
    assert sorted(done) == list(range(200))
    assert len(workers) <= 3


def test_what_a_task_raises_is_raised_where_it_is_waited_for():
    def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        wait_for(DaemonThreadPool([fail], 1))


def test_an_abandoned_pool_begins_no_further_task():
    begun, go_on = threading.Event(), threading.Event()
    later = []

    def first():
        begun.set()
        go_on.wait()

    pool = DaemonThreadPool([first, lambda: later.append(1)], 1)
    begun.wait()
    assert not pool.shut_down(0.01)
    go_on.set()
    assert pool.shut_down(10.0)
    assert later == []


def test_who_does_not_end_is_left_behind():
    for_ever = threading.Event()
    pool = DaemonThreadPool([for_ever.wait], 1)
    assert not pool.shut_down(0.05)  # comes back
    for_ever.set()


def test_a_further_ctrl_c_ends_the_wait_for_threads():
    for_ever = threading.Event()
    pool = DaemonThreadPool([for_ever.wait], 1)
    threading.Timer(0.1, _thread.interrupt_main).start()
    assert not pool.shut_down(math.inf)
    for_ever.set()
    assert pool.shut_down(10.0)


def test_where_no_thread_can_be_had_the_others_do_the_work(monkeypatch):
    real, started = threading.Thread.start, []

    def start(self):
        if started:
            raise RuntimeError("can't start new thread")
        started.append(self)
        real(self)

    monkeypatch.setattr(threading.Thread, "start", start)
    done = []
    wait_for(DaemonThreadPool([lambda: done.append(1)] * 5, 4))
    assert len(done) == 5
