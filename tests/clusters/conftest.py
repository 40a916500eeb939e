"""Real clusters under Dask and Ray."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.dask_processes import DaskProcess

TIMEOUT = 300.0  # seconds that a machine full of other work may take for anything


def until(true, seconds=TIMEOUT):
    """Wait until something is true, and return it."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)
    return found


def results(cluster, tasks):
    """Yield what tasks return as they end."""
    unfinished = set(tasks)
    while unfinished:
        for task in cluster.completed(unfinished, 0.5):
            unfinished.remove(task)
            yield cluster.result(task)


class DaskCluster:
    """A scheduler and its workers, each a process of its own, in a folder."""

    def __init__(self, folder, preload, env):
        folder.mkdir()
        (folder / "preload.py").write_text(preload)
        self.folder, self.processes, self.workers = folder, [], []
        self.env = os.environ | env
        file = folder / "scheduler.json"
        words = ["--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file)]
        self.scheduler = self._start("scheduler", *words)
        self.address = until(lambda: _read_address(file))
        self.on = f"dask={self.address}"

    def add_worker(self):
        words = ["--no-nanny", "--nthreads", "1", "--preload", "preload.py"]
        words += ["--local-directory", "scratch"]
        self.workers.append(self._start("worker", self.address, *words))

    def kill_a_worker(self):
        """Kill one, and have another come in its place."""
        self.workers.pop().kill()
        self.add_worker()

    def _start(self, *words):
        process = DaskProcess(*words, "--no-dashboard", cwd=self.folder, env=self.env)
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            process.kill()


def _read_address(file):
    """Return what a scheduler has written, once it is there whole."""
    try:
        return json.loads(file.read_text())["address"]
    except (FileNotFoundError, json.JSONDecodeError):
        return None


@contextmanager
def dask_cluster(folder, preload="", workers=2, **env):
    """Yield a cluster, in whose environment these are; all its processes end with it."""
    cluster = DaskCluster(folder, preload, env)
    try:
        for _ in range(workers):
            cluster.add_worker()
        yield cluster
    finally:
        cluster.close()


@contextmanager
def ray_head(processors):
    """Yield the process of a head, which asks for a token, and its address."""
    folder = Path(tempfile.mkdtemp(prefix="kh-", dir="/tmp"))  # paths of sockets must be short
    words = ["start", "--head", "--block", "--port=0", f"--num-cpus={processors}"]
    words += ["--include-dashboard=false", f"--temp-dir={folder}"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "token")
        patch.setenv("RAY_AUTH_TOKEN", "that of the tests")
        process = subprocess.Popen(
            [sys.executable, "-m", "ray.scripts.scripts", *words],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        file = folder / "ray_current_cluster"
        try:
            yield process, until(lambda: file.is_file() and file.read_text().strip())
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            shutil.rmtree(folder, ignore_errors=True)
