"""What is Dask's own; what all clusters keep to is in test_contract.py."""

import os
import signal
import time
from functools import partialmethod

import pytest

from keyhole.clusters import ClusterLostError, connect
from keyhole.play.cluster_simulation import package_versions
from tests.clusters.conftest import dask_cluster, results, until

# Each of its waits may be as long as all of another test.
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """Yield a cluster with one worker; the last test kills its scheduler."""
    with dask_cluster(tmp_path_factory.mktemp("dask") / "it", workers=1) as there:
        yield there


def test_what_is_closed_leaves_nothing_at_work(tmp_path, monkeypatch):
    from distributed import Nanny  # takes half a second: not whenever tests are collected

    # It is given this long to end by itself, which it does not.
    monkeypatch.setattr(Nanny, "close", partialmethod(Nanny.close, timeout=0.5))
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


LACKING = "import sys; sys.modules['keyhole'] = None"


def test_workers_without_keyhole_are_refused(tmp_path):
    words = r"^the workers of dask=.* cannot import keyhole"
    with (
        dask_cluster(tmp_path / "it", LACKING, workers=1) as there,
        connect(there.on) as cluster,
        pytest.raises(ImportError, match=words),
    ):
        list(results(cluster, [cluster.submit(package_versions)]))


def test_a_scheduler_that_stands_still_is_gone_after_a_while(there, monkeypatch):
    monkeypatch.setattr("keyhole.clusters.dask._TIMEOUT", 1.0)
    monkeypatch.setattr("keyhole.clusters.dask._CLOSE_SECONDS", 0.5)
    with connect(there.on) as cluster:
        task = cluster.submit(time.sleep, 60)
        there.scheduler.send_signal(signal.SIGSTOP)
        try:
            with pytest.raises(ClusterLostError, match="does not answer any more"):
                until(lambda: cluster.completed([task], 0.1))
        finally:
            there.scheduler.send_signal(signal.SIGCONT)


def test_a_scheduler_that_is_killed_is_gone_at_once(there):
    """It comes last of those, since it kills."""
    with connect(there.on) as cluster:
        until(cluster.capacity)
        task = cluster.submit(time.sleep, 60)
        there.scheduler.kill()
        with pytest.raises(ClusterLostError, match=f"^{there.on} does not answer any more"):
            list(results(cluster, [task]))
    with pytest.raises(ClusterLostError, match=f"there is no scheduler of Dask at {there.address}"):
        connect(there.on)


@pytest.mark.parametrize(
    "address", ["tpc://127.0.0.1:1", "http://127.0.0.1:1", "127.0.0.1", "inproc://x"]
)
def test_what_is_no_address_is_refused(address):
    with pytest.raises(ValueError, match=f"must be one such as tcp://HOST:PORT, got '{address}': "):
        connect(f"dask={address}")
