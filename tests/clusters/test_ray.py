"""What is Ray's own; what all clusters keep to is in test_contract.py."""

import socket
import subprocess
import sys

import pytest

from keyhole.clusters import ClusterLostError, connect
from tests.clusters.conftest import TIMEOUT, results

pytest.importorskip("ray")

# Each of its waits may be as long as all of another test.
pytestmark = pytest.mark.timeout(900)


@pytest.mark.slow
def test_one_that_is_started_serves_tasks():
    with connect("ray", workers=1) as cluster:
        assert (cluster.name, cluster.capacity()) == ("ray", 1)
        tasks = [cluster.submit(len, cluster.share(b"bytes")), cluster.submit(int, "five")]
        assert list(results(cluster, tasks[:1])) == [5]
        with pytest.raises(ValueError, match="invalid literal"):
            list(results(cluster, tasks[1:]))
    with pytest.raises(RuntimeError):
        cluster.capacity()


OF_THE_USER = """
import ray
from keyhole.clusters import connect

ray.init("local", num_cpus=3, include_dashboard=False, log_to_driver=False)
with connect("ray") as cluster:
    print(cluster.capacity(), cluster.result(cluster.submit(pow, 2, 2)))
print(ray.get(ray.put(3)))
"""


@pytest.mark.slow
def test_what_the_user_has_initialised_is_used_and_left_alone():
    done = subprocess.run(
        [sys.executable, "-c", OF_THE_USER], capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["3", "4", "3"]


def test_what_is_no_address_is_refused():
    with pytest.raises(ValueError, match=r"^the address of Ray must be auto, HOST:PORT or ray://"):
        connect("ray=somewhere")


def test_an_address_where_nothing_listens_is_refused_at_once():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    words = f"^Ray at ray://127.0.0.1:{port} cannot be reached: .*refused$"
    with pytest.raises(ClusterLostError, match=words):
        connect(f"ray=ray://127.0.0.1:{port}")
