"""What every cluster keeps to, started on this machine with two workers."""

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from keyhole import simulate
from keyhole.clusters import Cluster, connect
from keyhole.clusters.cluster import check_cluster_address
from keyhole.thresholding import LSA, Problem, RoundRobin
from tests.clusters.conftest import results, until

# Each of its waits may be as long as all of another test.
pytestmark = pytest.mark.timeout(900)


# To start Ray takes most of the time; what is looked at of it otherwise is in test_ray.py.
@pytest.fixture(scope="module", params=["dask", pytest.param("ray", marks=pytest.mark.slow)])
def cluster(request):
    with connect(request.param, workers=2) as cluster:
        yield cluster


def result(cluster, function, *args):
    """Return what a task returned, or raise what it ended with."""
    (value,) = results(cluster, [cluster.submit(function, *args)])
    return value


def test_it_has_a_name_and_a_capacity(cluster):
    assert isinstance(cluster, Cluster)
    assert cluster.name in ("dask", "ray")
    assert cluster.capacity() == 2


def test_tasks_come_back_with_what_they_return(cluster):
    tasks = [cluster.submit(pow, base, 2) for base in range(100)]
    assert sorted(results(cluster, tasks)) == [base**2 for base in range(100)]


def test_what_is_shared_is_there_for_every_task_in_its_place(cluster):
    data = os.urandom(2_000_000)
    first, second = cluster.share(data), cluster.share(b"more")
    assert result(cluster, listed, 1, second, 2, first) == [1, b"more", 2, data]
    assert result(cluster, listed, first, first) == [data, data]


def listed(*args):
    return list(args)


def fail(kind):
    raise kind("field must be small, got 3")


@pytest.mark.parametrize("kind", [ValueError, FileNotFoundError])
def test_errors_come_back_as_they_were_raised(cluster, kind):
    with pytest.raises(kind, match=r"^field must be small, got 3$"):
        result(cluster, fail, kind)


def test_what_cannot_travel_back_is_an_error(cluster):
    with pytest.raises(Exception, match=r"(?i)pickle|seriali"):
        result(cluster, threading.Lock)
    assert result(cluster, abs, -3) == 3


def test_a_module_that_workers_lack_is_named(cluster, tmp_path, monkeypatch):
    (tmp_path / "nowhere_else.py").write_text("def f(): pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    import nowhere_else

    with pytest.raises(ImportError, match=f"^the workers of {cluster.name} cannot import nowhere_"):
        result(cluster, nowhere_else.f)


def test_what_no_worker_has_begun_never_begins_once_it_is_cancelled(cluster, tmp_path):
    until(lambda: cluster.capacity() == 2)
    first = []
    for i in range(2):  # one for each thread, so that the others cannot begin yet
        first.append(cluster.submit(begin_and_wait_for, tmp_path / f"first{i}", tmp_path / "go"))
        until((tmp_path / f"first{i}").exists)
    end = tmp_path / "end"
    later = [cluster.submit(begin_and_hold, tmp_path / f"begun{i}", end) for i in range(8)]
    cluster.cancel([*later, *first])
    assert all(task.cancelled() for task in later)
    (tmp_path / "go").touch()
    assert result(cluster, abs, -1) == 1
    end.touch()
    # A worker may have one at hand for each of its threads, and begin it before it is told.
    assert len(list(tmp_path.glob("begun*"))) <= 2


def begin_and_wait_for(mark, go):
    mark.touch()
    until(go.exists)


def begin_and_hold(mark, end):
    """Hold the thread until the test ends, or long enough for a busy scheduler to be told."""
    mark.touch()
    deadline = time.monotonic() + 10.0
    while not end.exists() and time.monotonic() < deadline:
        time.sleep(0.01)


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


class Greedy(RoundRobin):
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


def test_a_cluster_elsewhere_has_workers_of_its_own():
    check_cluster_address("dask", 2)
    check_cluster_address("dask=tcp://host:8786", None)
    for on in ("dask=tcp://host:8786", "ray=auto"):
        with pytest.raises(ValueError, match=f"workers must be left out: {on} has workers"):
            check_cluster_address(on, 2, name="workers")


@pytest.mark.parametrize("on", ["slurm", "threads", "threads=2", "dask="])
def test_connect_takes_schedulers_alone(on):
    complaint = rf"^on must be dask\[=ADDRESS\] or ray\[=ADDRESS\], got {on!r}$"
    with pytest.raises(ValueError, match=complaint):
        connect(on)


def test_connect_takes_no_executor():
    with pytest.raises(TypeError, match=r"^on must be a text, got <concurrent"):
        connect(ThreadPoolExecutor())


def test_what_is_closed_has_no_capacity(cluster):
    """It comes last, since it closes; also of what was counted just before."""
    assert cluster.capacity() > 0
    cluster.shutdown()
    cluster.shutdown()
    with pytest.raises(RuntimeError):
        cluster.capacity()
