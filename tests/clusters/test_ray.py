"""What is Ray's own; what all clusters keep to is in test_contract.py."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from keyhole.clusters import ClusterLostError, connect
from keyhole.clusters.cluster import iterate_results
from tests.clusters.conftest import TIMEOUT, ray_head, until

pytest.importorskip("ray")
from keyhole.clusters import ray

# Each of its waits may be as long as all of another test.
pytestmark = pytest.mark.timeout(900)


@pytest.mark.slow
def test_a_task_that_ray_ends_for_want_of_memory_says_so(monkeypatch):
    monkeypatch.setenv("RAY_memory_usage_threshold", "0.001")
    with connect("ray", workers=1) as cluster, pytest.raises(MemoryError, match="ran out of mem"):
        list(iterate_results(cluster, [cluster.submit(wait)]))


def wait():
    while True:
        signal.pause()


CLIENT = """
from keyhole.clusters import connect
from keyhole.clusters.cluster import iterate_results
from tests.clusters.test_ray import head_address, wait

with connect("ray", workers=3) as cluster:
    (address,) = iterate_results(cluster, [cluster.submit(head_address)])
    print(cluster._driver.pid, cluster._folder.path, address, flush=True)
    cluster.submit(wait)
    while True:
        cluster.as_completed(1.0)
"""


def head_address():
    import ray

    return ray.get_runtime_context().gcs_address


@pytest.fixture(scope="module")
def client():
    """Yield a process that has started a Ray, the driver of that, its folder and its address."""
    words = [sys.executable, "-c", CLIENT]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", "that of the tests")
        with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as process:
            driver, folder, address = process.stdout.readline().split()
            try:
                yield process, int(driver), Path(folder), address
            finally:
                process.kill()


@pytest.mark.slow
def test_what_the_user_has_initialised_is_used_and_left_alone(client):
    done = subprocess.run(
        [sys.executable, "-c", OF_THE_USER, client[-1]],
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3", "True", "3"]


OF_THE_USER = """
import sys
import ray
from keyhole.clusters import connect

ray.init(sys.argv[1], log_to_driver=False)
with connect("ray") as cluster:
    cluster.submit(pow, 2, 2)
    print(cluster.capacity(), len(cluster.as_completed(60.0)) == 1)
print(ray.get(ray.put(3)))
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.slow
def test_a_client_that_is_killed_leaves_nothing_at_work_and_no_folder(client):
    """It comes last of those, since it kills; who uses that Ray, too, hears of it."""
    process, driver, folder, address = client
    until(lambda: "ray::run_serialized" in " ".join(in_session(driver).values()))
    with connect(f"ray={address}") as cluster:
        cluster.submit(wait)
        process.kill()
        until(lambda: not in_session(driver))
        until(lambda: not folder.exists())
        with pytest.raises(ClusterLostError, match=f"^{GONE.format(address)}$"):
            until(lambda: cluster.as_completed(0.5))
    with pytest.raises(ClusterLostError, match=f"^Ray at {address} cannot be reached: .*refused$"):
        connect(f"ray={address}")


GONE = "the head of ray={} does not answer any more"


def in_session(leader):
    """Return the commands of the processes that are alive in a session, by their ids."""
    found = {}
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state, _, _, session = (path / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(session) == leader and state not in "ZX":
                found[int(path.name)] = (path / "cmdline").read_text()
        except OSError:
            continue
    return found


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
@pytest.mark.parametrize(
    ("whose", "kind"),
    [
        ("raylet", signal.SIGKILL),
        ("raylet", signal.SIGSTOP),
        ("driver", signal.SIGSTOP),
    ],
)
@pytest.mark.slow
def test_whatever_dies_or_hangs_ray_is_gone_and_nothing_is_left(whose, kind, monkeypatch):
    # This is not what it takes: the driver is ended before.
    monkeypatch.setattr(ray, "_END_SECONDS", 9999.0)
    with connect("ray", workers=1) as cluster:
        driver, folder = cluster._driver.pid, Path(cluster._folder.path)
        cluster.submit(wait)
        until(lambda: "ray::run_serialized" in " ".join(in_session(driver).values()))
        raylets = [
            pid for pid in in_session(driver) if Path(f"/proc/{pid}/comm").read_text() == "raylet\n"
        ]
        os.kill(raylets[0] if whose == "raylet" else driver, kind)
        with pytest.raises(ClusterLostError, match="does not answer any more"):
            until(lambda: cluster.as_completed(0.5))
    until(lambda: not in_session(driver))
    assert not folder.exists()


STARTING = """
from keyhole.clusters import ray

class Said(ray._Folder):
    def __init__(self):
        super().__init__()
        print(self.path, flush=True)

ray._Folder = Said
ray.start("ray", None, 1)
"""


@pytest.mark.slow
def test_a_client_that_is_killed_as_it_starts_leaves_no_folder():
    with subprocess.Popen(
        [sys.executable, "-c", STARTING], stdout=subprocess.PIPE, text=True
    ) as it:
        folder = Path(it.stdout.readline().strip())
        assert folder.name.startswith("keyhole-ray-")
        until(lambda: list(folder.iterdir()))
        it.kill()
    until(lambda: not folder.exists())


@pytest.mark.slow
def test_a_head_that_is_killed_is_gone_within_seconds():
    with ray_head(processors=1) as (process, address), connect(f"ray={address}") as cluster:
        assert cluster.capacity() == 1
        cluster.submit(wait)
        os.killpg(process.pid, signal.SIGKILL)
        with pytest.raises(ClusterLostError, match=f"^{GONE.format(address)}$"):
            until(lambda: cluster.as_completed(0.5))
    with pytest.raises(ClusterLostError, match=f"^Ray at {address} cannot be reached: .*refused$"):
        connect(f"ray={address}")


def test_what_is_no_address_is_refused():
    with pytest.raises(ValueError, match=r"^Ray at somewhere cannot be used: an address is auto"):
        connect("ray=somewhere")


def test_folders_without_an_owner_are_removed_and_others_left(tmp_path, monkeypatch):
    monkeypatch.setattr(ray, "_SHORT_FOLDER", tmp_path)
    mine, hers = ray._Folder(), ray._Folder()
    os.close(hers.lock)
    for one in (mine, hers):
        os.utime(one.path, (0, 0))
    new = ray._Folder()
    left = {str(one) for one in tmp_path.iterdir()}
    assert left == {mine.path, new.path}
    mine.close()
    new.close()
    assert not list(tmp_path.iterdir())
