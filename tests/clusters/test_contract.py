"""What every cluster keeps to, started on this machine with two workers."""

import os
import signal
import time
from pathlib import Path
from threading import Thread
from types import SimpleNamespace

import pytest

from keyhole import simulate
from keyhole.clusters import Cluster, connect
from keyhole.clusters.cluster import TaskResult, iterate_results
from keyhole.clusters.cluster_connection import check_address
from keyhole.thresholding import LSA, Problem, Uniform
from tests.clusters.conftest import until

# Each of its waits may be as long as all of another test.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module", params=["dask", "ray"])
def cluster(request):
    with connect(request.param, workers=2) as cluster:
        yield cluster


def result(cluster, function, *args):
    """Return what a task returned, or raise what it ended with."""
    (found,) = iterate_results(cluster, [cluster.submit(function, *args)])
    return found


def test_it_has_a_name_and_a_capacity(cluster):
    assert isinstance(cluster, Cluster)
    assert cluster.name in ("dask", "ray")
    assert cluster.capacity() == 2


def test_tasks_come_back_with_what_they_return(cluster):
    tickets = {cluster.submit(pow, base, 2): base**2 for base in range(100)}
    found = {}
    until(
        lambda: (
            found.update({e.ticket: e.value for e in cluster.as_completed(0.5)}) or len(found) > 99
        )
    )
    assert found == tickets
    assert cluster.as_completed(0.0) == []


def test_what_is_shared_is_there_for_every_task_in_its_place(cluster):
    data = os.urandom(2_000_000)
    first, second = cluster.broadcast(data), cluster.broadcast(b"more")
    assert result(cluster, listed, 1, second, 2, first) == [1, b"more", 2, data]
    assert result(cluster, listed, first, first) == [data, data]
    cluster.release(first)
    assert result(cluster, listed, second) == [b"more"]


def listed(*args):
    return list(args)


class OwnError(Exception):
    pass


def fail(kind):
    raise kind("field must be small, got 3")


@pytest.mark.parametrize("kind", [ValueError, FileNotFoundError])
def test_errors_come_back_as_they_were_raised(cluster, kind):
    with pytest.raises(kind, match=r"^field must be small, got 3$"):
        result(cluster, fail, kind)


def test_an_error_of_a_users_class_comes_back_with_its_message(cluster):
    with pytest.raises(RuntimeError, match=r"^OwnError: field must be small, got 3$"):
        result(cluster, fail, OwnError)


def test_an_error_that_is_made_of_more_than_words_comes_back_in_words(cluster):
    with pytest.raises(RuntimeError, match=r"^UnicodeDecodeError: 'utf-8' codec can't decode byte"):
        result(cluster, b"\xff".decode, "utf-8")


def test_what_cannot_travel_back_is_an_error(cluster):
    with pytest.raises((AttributeError, TypeError, RuntimeError), match=r"(?i)pickle"):
        result(cluster, eval, "lambda: 3")
    assert result(cluster, abs, -3) == 3


def test_a_module_that_workers_lack_is_named(cluster, tmp_path, monkeypatch):
    (tmp_path / "nowhere_else.py").write_text("def f(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import nowhere_else

    with pytest.raises(ModuleNotFoundError, match=r"^No module named 'nowhere_else'$"):
        result(cluster, nowhere_else.f)


def test_a_cancelled_task_does_not_end_and_what_no_worker_has_never_begins(cluster, tmp_path):
    until(lambda: cluster.capacity() == 2)
    first = []
    for i in range(2):  # one for each thread, so that the others cannot begin yet
        first.append(cluster.submit(begin_and_wait_for, tmp_path / f"first{i}", tmp_path / "go"))
        until((tmp_path / f"first{i}").exists)
    later = [cluster.submit(Path.touch, tmp_path / f"begun{i}") for i in range(8)]
    cluster.cancel([*first, *later])
    (tmp_path / "go").touch()
    kept = cluster.submit(abs, -1)
    (ended,) = until(lambda: cluster.as_completed(0.5))
    assert (ended.ticket, ended.value) == (kept, 1)
    assert cluster.as_completed(0.2) == []
    # A worker may have one at hand for each of its threads, and begin it before it is told.
    assert len(list(tmp_path.glob("begun*"))) <= 2


@pytest.mark.parametrize("cluster", ["ray"], indirect=True)
def test_cancel_returns_after_the_driver_has_cancelled(cluster):
    ticket = cluster.submit(time.sleep, 60.0)  # which no signal ends, other than `signal.pause`
    cancel = Thread(target=cluster.cancel, args=([ticket],))
    driver = cluster._driver.pid
    os.kill(driver, signal.SIGSTOP)
    try:
        os.waitid(os.P_PID, driver, os.WSTOPPED | os.WNOWAIT)
        cancel.start()
        cancel.join(0.3)
        assert cancel.is_alive()
    finally:
        os.kill(driver, signal.SIGCONT)
    cancel.join()
    assert cluster.as_completed(0.2) == []


def begin_and_wait_for(mark, go):
    mark.touch()
    until(go.exists)


def test_a_task_whose_worker_is_killed_is_begun_again(cluster, tmp_path):
    assert result(cluster, end_worker_once, str(tmp_path / "mark")) == "begun again"


def end_worker():
    os.kill(os.getpid(), signal.SIGKILL)


def end_worker_once(mark):
    """End it, unless that was done before."""
    try:
        Path(mark).touch(exist_ok=False)
    except FileExistsError:
        return "begun again"
    end_worker()


@pytest.mark.slow
def test_a_task_that_kills_its_workers_ends_in_one_line(cluster):
    with pytest.raises(RuntimeError, match=r"^4 workers died at the same task: .*memory.*$"):
        result(cluster, end_worker)


class Greedy(Uniform):
    def select(p, s, t):
        return 7


def test_a_call_that_is_refused_leaves_a_cluster_that_serves_others(cluster):
    problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    size = {"horizon": 200, "replications": 400}
    policies = [Greedy(), LSA(1.0), LSA(1.1), LSA(1.2)]
    with pytest.raises(ValueError, match="round 1 of replication 0"):
        simulate(problem, policies, **size, on=cluster)
    there, here = (simulate(problem, {"it": LSA()}, **size, **on) for on in ({"on": cluster}, {}))
    assert (there.values("it", "simple_regret") == here.values("it", "simple_regret")).all()


def test_who_wants_no_more_results_cancels_what_is_left():
    cancelled = []
    cluster = SimpleNamespace(
        as_completed=lambda seconds: [TaskResult(2, "two")], cancel=cancelled.extend
    )
    found = iterate_results(cluster, [1, 2, 3])
    assert next(found) == "two"
    found.close()
    assert sorted(cancelled) == [1, 3]


def test_a_cluster_elsewhere_has_workers_of_its_own():
    check_address("dask", 2)
    check_address("dask=tcp://host:8786", None)
    for on in ("dask=tcp://host:8786", "ray=auto"):
        with pytest.raises(ValueError, match=f"workers must be left out: {on} has workers"):
            check_address(on, 2, name="workers")


def test_what_is_closed_says_so(cluster):
    """It comes last, since it closes."""
    cluster.close()
    cluster.close()
    for use in (
        cluster.capacity,
        lambda: cluster.broadcast(b"more"),
        lambda: cluster.submit(os.getpid),
        lambda: cluster.as_completed(0.1),
    ):
        with pytest.raises(RuntimeError, match=f"the cluster {cluster.name} has been closed"):
            use()
