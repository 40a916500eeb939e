"""Experiments on real clusters, by the command line: what comes of them, whatever dies."""

import hashlib
import os
import signal
import sys
from contextlib import contextmanager
from importlib.metadata import version

import pytest

from keyhole.cli import main
from keyhole.experiment import result_cache
from keyhole.experiment.result_cache import write_block
from tests.clusters.conftest import dask_cluster, ray_head, until
from tests.processes import Forked

# Each of its waits may be as long as all of another test.
pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("no_figures")]

# By far more than a first block, by which the others are measured.
SPEC = """
name = "small"
seed = 4
replications = 1200
horizon = 2000
checkpoints = [200, 2000]
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "mine.py:Mine"
"""
MINE = """
from keyhole.policy import FloatArray, parameter, float_array
from keyhole.thresholding import Policy


class Mine(Policy):
    times: int = parameter(default=1, ge=1, doc="pulls of an arm before the next")
    beyond: int = parameter(default=0, ge=0, doc="how many arms further it reaches than it may")

    class State:
        pulls: FloatArray = float_array("arms")
        totals: FloatArray = float_array("arms")

    def select(p, t: int) -> int:
        return (t - 1) // p.times % p.arms + p.beyond

    def update(p, s: State, arm: int, reward: float) -> None:
        s.pulls[arm] += 1.0
        s.totals[arm] += reward
"""

# Workers write down what they compile, each piece as one line. A block that is not the first of its
# policy waits for as long as a file stands.
RECORD = """
import os
import time

import keyhole.kernels.compile_cache as cache
from keyhole.play import cluster_simulation

def record(compile_one):
    def recorded(owner, code, *rest):
        with open("compiled", "a") as file:
            file.write(f"{code.path.name}\\n")
        return compile_one(owner, code, *rest)

    return recorded


def wait_before(play):
    def wait_and_play(plan, label, part, **rest):
        while part.start and os.path.exists(os.environ["TESTS_HOLD"]):
            time.sleep(0.02)
        return play(plan, label, part, **rest)

    return wait_and_play


if cache._compile.__name__ != "recorded":  # Dask runs this twice
    cache._compile = record(cache._compile)
    cluster_simulation.simulate_replications = wait_before(cluster_simulation.simulate_replications)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a folder with a spec and a policy of one's own."""
    folder = tmp_path_factory.mktemp("experiments")
    (folder / "mine.py").write_text(MINE)
    (folder / "small.toml").write_text(SPEC)
    return folder


@pytest.fixture(scope="module")
def hold(folder):
    """Return the file for which workers wait, of clusters that start while this is used."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TESTS_HOLD", str(folder / "hold"))
        yield folder / "hold"


@pytest.fixture
def keyhole(folder, monkeypatch, capsys):
    """Return a function that runs the command line here: code and what it says of errors."""

    def call(*words):
        monkeypatch.chdir(folder)
        monkeypatch.delenv("TESTS_HOLD", raising=False)
        monkeypatch.setattr(sys, "argv", ["keyhole", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return end.value.code, capsys.readouterr().err

    return call


@pytest.fixture
def expected(folder, keyhole):
    """Return what threads of this process make of the spec."""
    if not (folder / "here").exists():
        assert keyhole("run", "small.toml", "--out", "here")[0] == 0
    return sums(folder / "here")


def sums(folder):
    """Return the SHA-256 of every Parquet file."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*.parquet"))
    }


@pytest.fixture
def written(monkeypatch):
    """Return the names of the blocks that this process writes, as they come."""
    names = []

    def write(folder, name, block, data):
        names.append(f"{name}-{block.start:010d}-{block.stop:010d}.block")
        write_block(folder, name, block, data)

    monkeypatch.setattr(result_cache, "write_block", write)
    return names


@pytest.fixture(scope="module")
def dask(hold, tmp_path_factory):
    """Yield a scheduler with two workers, which write down what they compile."""
    folder = tmp_path_factory.mktemp("dask")
    code = {"KEYHOLE_CACHE_DIR": str(folder / "code")}
    with dask_cluster(folder / "cluster", RECORD, **code) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def ray(hold):
    """Yield the address of a Ray with two workers."""
    with ray_head(processors=2) as (_, address):
        yield f"ray={address}"


# Experiments see of a cluster what test_contract.py tests of both.
BOTH = ["dask", pytest.param("ray", marks=pytest.mark.slow)]


@pytest.fixture(params=BOTH)
def on(request):
    """Return a cluster that is there to play on."""
    there = request.getfixturevalue(request.param)
    return there.on if request.param == "dask" else there


@pytest.mark.parametrize("on", BOTH)
def test_one_started_for_the_command_leaves_the_bytes_that_threads_leave(
    folder, keyhole, expected, on
):
    out = folder / f"started-{on}"
    code, said = keyhole("run", "small.toml", "--out", out, "--on", on, "--threads", 1)
    assert code == 0, said
    assert len(sums(out)) == 2
    assert sums(out) == expected
    assert not (out / "blocks").exists()


@pytest.mark.slow
def test_two_workers_never_compile_the_same_twice(folder, keyhole, dask):
    code, said = keyhole("run", "small.toml", "--out", folder / "compiled", "--on", dask.on)
    assert code == 0, said
    compiled = (dask.folder / "compiled").read_text().split()
    assert compiled
    assert len(set(compiled)) == len(compiled)


@contextmanager
def begun(folder, out, on):
    """Start a run; yield its process once a block has come back."""
    words = ("-m", "keyhole", "run", "small.toml", "--out", out, "--on", on)
    env = {name: value for name, value in os.environ.items() if name != "TESTS_HOLD"}
    with Forked(*words, cwd=folder, env=env) as process:
        until(lambda: process.poll() is not None or list(out.glob("blocks/*.block")))
        assert process.poll() is None, process.finish().stderr
        yield process


@pytest.mark.slow
def test_a_killed_client_goes_on_where_it_was(folder, keyhole, hold, dask, expected, written):
    out = folder / "killed"
    hold.touch()
    with begun(folder, out, dask.on) as process:
        process.send_signal(signal.SIGKILL)
    kept = {path.name for path in (out / "blocks").glob("*.block")}
    hold.unlink()
    code, said = keyhole("run", "small.toml", "--out", out, "--on", dask.on)
    assert code == 0, said
    assert kept
    assert written
    assert not kept.intersection(written)  # nothing was played twice
    assert sums(out) == expected


@pytest.mark.slow
def test_a_worker_that_is_killed_changes_nothing(folder, hold, expected, dask):
    out = folder / "worker-killed"
    hold.touch()
    with begun(folder, out, dask.on) as process:
        dask.kill_a_worker()
        hold.unlink()
        done = process.finish()
    assert done.returncode == 0, done.stderr
    assert sums(out) == expected


def test_what_a_worker_refuses_is_said_as_a_run_here_says_it(folder, keyhole, on):
    (folder / "greedy.toml").write_text(f"{SPEC}beyond = 3\n")
    # Of several threads, either may be the first to refuse.
    code, here = keyhole("run", "greedy.toml", "--out", "greedy-here", "--threads", 1)
    assert code == 2, here
    code, there = keyhole("run", "greedy.toml", "--out", f"greedy-{on[:4]}", "--on", on)
    assert code == 2, there
    (line,) = [line for line in here.splitlines() if "compiling" not in line]
    assert line in there.splitlines()
    assert "Traceback" not in there


OLD = """
import importlib.metadata as metadata

def older(version):
    return lambda name: "0.0.9" if name == "keyhole" else version(name)

metadata.version = older(metadata.version)
"""


def test_workers_of_another_version_are_refused_with_both_named(folder, keyhole, tmp_path):
    with dask_cluster(tmp_path / "old", OLD, workers=1) as there:
        code, said = keyhole("run", "small.toml", "--out", "old", "--on", there.on)
    assert code == 2, said
    ours = version("keyhole")
    assert f"has keyhole 0.0.9, and this client has keyhole {ours}: install" in said


def test_a_scheduler_that_is_killed_ends_the_run_which_then_goes_on(
    folder, keyhole, hold, expected, dask
):
    """It comes last, since it kills."""
    out = folder / "scheduler-killed"
    hold.touch()
    with begun(folder, out, dask.on) as process:
        dask.scheduler.kill()
        done = process.finish()
    hold.unlink()
    assert done.returncode == 3, done.stderr
    said = [line for line in done.stderr.splitlines() if " %" not in line]
    assert said == [f"keyhole: {dask.on} does not answer any more"]
    code, said = keyhole("run", "small.toml", "--out", out)
    assert code == 0, said
    assert sums(out) == expected
