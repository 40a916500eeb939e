"""Tasks under Dask; experiments on it are in test_experiments.py."""

import os
import signal
import time

import pytest

from keyhole.clusters import GoneError, connect
from tests.clusters.conftest import dask_cluster, until


def all_of(cluster, count):
    """Return how so many tasks ended, by ticket."""
    found = {}
    until(lambda: found.update({e.ticket: e for e in cluster.ended(0.1)}) or len(found) == count)
    return found


def refuse():
    raise ValueError("horizon must be at least 1, got 0")


class OwnError(Exception):
    pass


def fail():
    raise OwnError("in words")


def end_worker():
    os.kill(os.getpid(), signal.SIGKILL)


def length(data):
    return len(data)


@pytest.fixture(scope="module")
def cluster():
    with connect("dask", workers=2) as cluster:
        yield cluster


def test_processors_are_slots(cluster):
    assert cluster.slots() == 2
    assert cluster.name == "dask"


def test_tasks_come_back_with_what_they_return(cluster):
    data = cluster.share(b"abc" * 1000)
    tickets = {cluster.submit(pow, base, 2): base for base in range(20)}
    tickets[cluster.submit(length, data)] = None
    found = all_of(cluster, 21)
    assert {tickets[ticket]: ended.value for ticket, ended in found.items()} == {
        None: 3000, **{base: base**2 for base in range(20)}
    }  # fmt: skip


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (refuse, ValueError, "horizon must be at least 1, got 0"),
        (fail, RuntimeError, "OwnError: in words"),
        (end_worker, RuntimeError, "4 workers died at the same task: each may have run out of mem"),
    ],
)
def test_errors_come_back_in_words(cluster, function, kind, words):
    ticket = cluster.submit(function)
    ended = all_of(cluster, 1)[ticket]
    assert type(ended.error) is kind
    assert str(ended.error).startswith(words)


def test_what_is_closed_leaves_nothing_at_work(tmp_path):
    pid = tmp_path / "pid"
    with connect("dask", workers=1) as cluster:
        cluster.submit(loop, str(pid))
        until(lambda: pid.is_file() and pid.read_text())
    worker = int(pid.read_text())
    until(lambda: not is_alive(worker))


def loop(path):
    with open(path, "w") as file:
        file.write(str(os.getpid()))
    while True:
        time.sleep(0.1)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_scheduler_that_is_killed_is_gone_at_once(tmp_path):
    with dask_cluster(tmp_path / "it", workers=1) as there, connect(there.on) as cluster:
        until(cluster.slots)
        cluster.submit(time.sleep, 60)
        there.scheduler.kill()
        with pytest.raises(
            GoneError, match=f"the scheduler of {there.on} does not answer any more"
        ):
            until(lambda: cluster.ended(0.1))
    with pytest.raises(GoneError, match=f"there is no scheduler of Dask at {there.address}"):
        connect(there.on)


def test_a_scheduler_that_stands_still_is_gone_after_a_while(tmp_path, monkeypatch):
    monkeypatch.setattr("keyhole.clusters.dask._PATIENCE", 2.0)
    monkeypatch.setattr("keyhole.clusters.dask._TO_CLOSE", 1.0)
    with dask_cluster(tmp_path / "it", workers=1) as there, connect(there.on) as cluster:
        cluster.submit(time.sleep, 60)
        there.scheduler.send_signal(signal.SIGSTOP)
        with pytest.raises(GoneError, match="does not answer any more"):
            until(lambda: cluster.ended(0.1))


def test_a_result_that_is_lost_with_its_worker_is_computed_again(tmp_path, monkeypatch):
    monkeypatch.setattr("keyhole.clusters.dask._PATIENCE", 1.0)
    with dask_cluster(tmp_path / "it", workers=1) as there, connect(there.on) as cluster:
        ticket = cluster.submit(os.system, "sleep 3; exit 7")
        until(lambda: not cluster._done.empty())
        there.kill_a_worker()
        assert all_of(cluster, 1)[ticket].value == 7 << 8


def test_what_is_closed_says_so():
    with connect("dask", workers=1) as cluster:
        assert repr(cluster) == "Dask(dask: 1 slots)"
    for use in (cluster.slots, lambda: cluster.submit(os.getpid), lambda: cluster.ended(0.1)):
        with pytest.raises(RuntimeError, match="the cluster dask has been closed"):
            use()


def test_an_address_of_no_kind_is_refused_at_once():
    with pytest.raises(GoneError, match=r"no scheduler of Dask at tpc://.* unknown"):
        connect("dask=tpc://127.0.0.1:1")
