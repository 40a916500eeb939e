"""Experiments on real clusters, by the command line: what comes of them, whatever dies."""

import hashlib
import subprocess
import sys
from contextlib import contextmanager

import pytest

from tests.clusters.conftest import PATIENCE, dask_cluster, ray_head, until

# Each of its waits may be as long as all of another test.
pytestmark = pytest.mark.timeout(900)

SPEC = """
name = "small"
seed = 4
replications = {replications}
horizon = 2000
checkpoints = [200, 2000]
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "mine.py:Mine"
[[policy]]
name = "LSA"
"""
MINE = """
from keyhole.policy import FloatArray, parameter, per
from keyhole.thresholding import Policy


class Mine(Policy):
    times: int = parameter(default=1, ge=1, doc="pulls of an arm before the next")

    class State:
        pulls: FloatArray = per("arms")
        totals: FloatArray = per("arms")

    def select(p, t: int) -> int:
        return (t - 1) // p.times % p.arms

    def update(p, s: State, arm: int, reward: float) -> None:
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
"""
LONG = 60_000
"""Replications for some seconds of work."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a spec, a policy of one's own, and what threads make of them."""
    folder = tmp_path_factory.mktemp("experiments")
    (folder / "mine.py").write_text(MINE)
    for name, replications in (("short", 400), ("long", LONG)):
        (folder / f"{name}.toml").write_text(SPEC.format(replications=replications))
        done = keyhole(folder, "run", f"{name}.toml", "--out", f"{name}-here")
        assert done.returncode == 0, done.stderr
    return folder


def words(*given):
    return [sys.executable, "-m", "keyhole", *map(str, given)]


def keyhole(folder, *given):
    return subprocess.run(
        words(*given), cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE
    )


def sums(folder):
    """Return the SHA-256 of every Parquet file."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.parquet"))
    }


@pytest.fixture(scope="module")
def ray():
    """Yield the address of a Ray with two workers."""
    with ray_head(processors=2) as (_, address):
        yield f"ray={address}"


@pytest.fixture(params=["dask", "ray"])
def on(request):
    """Return a cluster that is there to play on."""
    there = request.getfixturevalue(request.param)
    return there.on if request.param == "dask" else there


@pytest.mark.parametrize("on", ["dask", "ray"])
def test_one_started_for_the_command_leaves_the_bytes_that_threads_leave(folder, on):
    out = folder / f"short-{on[:4]}"
    done = keyhole(folder, "run", "short.toml", "--out", out, "--on", on)
    assert done.returncode == 0, done.stderr
    assert len(sums(out)) == 2
    assert sums(out) == sums(folder / "short-here")
    assert not (out / "blocks").exists()


@contextmanager
def begun(folder, out, on):
    """Start a long run; yield its process once a block has come back."""
    command = words("run", "long.toml", "--out", out, "--on", on)
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(command, cwd=folder, stdout=log, stderr=log) as process,
    ):
        try:
            until(lambda: process.poll() is not None or list(out.glob("blocks/*.block")))
            assert process.poll() is None, (folder / "log").read_text()
            yield process
        finally:
            process.kill()


def test_a_killed_client_goes_on_where_it_was(folder, on):
    out = folder / f"killed-{on[:4]}"
    with begun(folder, out, on) as process:
        process.kill()
    kept = {path: path.stat().st_mtime_ns for path in out.glob("blocks/*.block")}
    assert kept
    with begun(folder, out, on) as again:
        left = {path: path.stat().st_mtime_ns for path in kept if path.exists()}
        assert left in (kept, {})  # nothing was played twice
        assert again.wait() == 0
    assert sums(out) == sums(folder / "long-here")


def test_a_worker_that_is_killed_changes_nothing(folder, dask):
    out = folder / "worker-killed"
    with begun(folder, out, dask.on) as process:
        dask.kill_a_worker()
        assert process.wait() == 0, (folder / "log").read_text()
    assert sums(out) == sums(folder / "long-here")


def test_a_scheduler_that_is_killed_ends_the_run_which_then_goes_on(folder, tmp_path):
    out = folder / "scheduler-killed"
    with dask_cluster(tmp_path / "it") as there, begun(folder, out, there.on) as process:
        there.scheduler.kill()
        assert process.wait() == 3
    said = [line for line in (folder / "log").read_text().splitlines() if " %" not in line]
    assert said == [f"keyhole: the scheduler of {there.on} does not answer any more"]
    done = keyhole(folder, "run", "long.toml", "--out", out)
    assert done.returncode == 0, done.stderr
    assert sums(out) == sums(folder / "long-here")


def test_what_a_worker_refuses_is_said_as_a_run_here_says_it(folder, on):
    (folder / "greedy.py").write_text(MINE.replace("% p.arms", "+ p.arms"))
    spec = (folder / "short.toml").read_text().replace("mine.py", "greedy.py")
    (folder / "greedy.toml").write_text(spec)
    here = keyhole(folder, "run", "greedy.toml", "--out", "greedy-here")
    there = keyhole(folder, "run", "greedy.toml", "--out", f"greedy-{on[:4]}", "--on", on)
    assert here.returncode == there.returncode == 2
    (line,) = [line for line in here.stderr.splitlines() if "compiling" not in line]
    assert line in there.stderr.splitlines()
    assert "Traceback" not in there.stderr


OLD = """
import importlib.metadata as metadata

def older(version):
    return lambda name: "0.0.9" if name == "keyhole" else version(name)

metadata.version = older(metadata.version)
"""


def test_workers_of_another_version_are_refused_with_both_named(folder, tmp_path):
    with dask_cluster(tmp_path / "old", OLD, workers=1) as there:
        done = keyhole(folder, "run", "short.toml", "--out", "old", "--on", there.on)
    assert done.returncode == 2
    assert "has keyhole 0.0.9, and this client has keyhole 0.1.0: they must" in done.stderr


def test_two_workers_never_compile_the_same_twice(folder, dask):
    done = keyhole(folder, "run", "short.toml", "--out", folder / "compiled", "--on", dask.on)
    assert done.returncode == 0, done.stderr
    compiled = (dask.folder / "compiled").read_text().split()
    assert len(compiled) >= 2
    assert len(set(compiled)) == len(compiled)
