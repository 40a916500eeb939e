"""Runs on a simulated cluster, and on a real one of this machine whose processes are killed."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import pytest

from keyhole.clusters import Cluster, ClusterLostError
from keyhole.runner import CommandRunner
from keyhole.tune import SavedTune, Spec, Tuner, cluster_executor
from tests.clusters.conftest import dask_cluster
from tests.processes import Forked
from tests.tune import work
from tests.tune.test_kills import find_processes
from tests.tune.test_tuner import check_every_run_counts_once

TIMEOUT = 100.0
POOLS = []  # of all thread clusters


@pytest.fixture(autouse=True)
def runners(monkeypatch):
    """Close the runners of workers, which are threads of this process."""
    opened = []

    def open_runner():
        opened.append(CommandRunner())
        return opened[-1]

    monkeypatch.setattr(cluster_executor, "CommandRunner", open_runner)
    yield
    for runner in opened:
        runner.close()
    for pool in POOLS:  # so that no task of this test is left in the next one
        pool.shutdown()
    POOLS.clear()
    cluster_executor._idle_runners.clear()


class ThreadCluster(Cluster):
    """A cluster whose workers are threads; `change_result` may change the result of a task."""

    def __init__(self, change_result=lambda number, result: result, capacity=2):
        self._pool = ThreadPoolExecutor(2)
        POOLS.append(self._pool)
        super().__init__(self._pool)
        self.name, self._size = "dask=played", capacity
        self._change_result = change_result
        self.tasks, self.cancelled = [], []

    def capacity(self):
        return self._size

    def submit(self, fn, /, *args):
        self.tasks.append(super().submit(fn, *args))
        return self.tasks[-1]

    def result(self, future):
        return self._change_result(self.tasks.index(future), super().result(future))

    def cancel(self, futures):
        self.cancelled += futures
        super().cancel(futures)

    def shutdown(self, wait=True, *, cancel_futures=False):
        self._pool.shutdown(wait=False)


def spec_of(command, **more):
    arms = [{"name": "one", "command": command}]
    return Spec.from_table({"arm": arms, "limits": [0.2, 20.0], **more})


def test_cluster_runs_have_the_environment_of_their_worker(tmp_path):
    spec = spec_of("sh -c 'echo $KIND'", environment={"KIND": "7.5"},
                   success={"number": r"(.+)", "scale": [0, 10]})  # fmt: skip
    with ThreadCluster() as cluster:
        tune = Tuner(spec, tmp_path).run(runs=6, workers=2, on=cluster)
        assert len(cluster.tasks) == 6
    assert {(run.outcome, run.reward) for run in tune.runs} == {("ok", 7.5)}
    check_every_run_counts_once(tmp_path, 6)


def test_any_executor_runs_commands(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        tune = Tuner(spec_of("true"), tmp_path).run(runs=4, workers=2, on=pool)
    assert {run.outcome for run in tune.runs} == {"ok"}
    check_every_run_counts_once(tmp_path, 4)


def test_a_function_is_called_by_the_same_python_and_from_the_same_file(tmp_path):
    arms = [{"name": "f", "function": work.works, "parameters": {"factor": 2.0}}]
    spec = Spec.from_table(
        {"arm": arms, "limits": [30], "instances": ["3"], "success": {"scale": [0, 10]}}
    )
    with ThreadCluster() as cluster:
        tune = Tuner(spec, tmp_path).run(runs=1, on=cluster)
    assert tune.runs[0].reward == 6.0


def test_a_run_on_a_cluster_has_its_grace_and_is_judged_at_its_limit(tmp_path):
    script = "trap 'echo 7; exit 1' TERM; while true; do sleep 0.01; done"
    spec = Spec.from_table(
        {
            "arm": [{"name": "anytime", "command": ["sh", "-c", script]}],
            "limits": 0.5,
            "grace": 60,
            "success": {"number": "(.+)", "scale": [0, 10], "at_limit": True},
        }
    )
    with ThreadCluster() as cluster:
        tune = Tuner(spec, tmp_path).run(runs=1, on=cluster)
    assert (tune.runs[0].outcome, tune.runs[0].reward) == ("ok", 7.0)


def test_a_run_lost_with_its_worker_is_repeated_and_counts_once(tmp_path):
    def lose(number, result):
        if number == 1:
            raise RuntimeError("died")
        return result

    with ThreadCluster(lose) as cluster, pytest.warns(UserWarning, match="is repeated: died"):
        Tuner(spec_of("true"), tmp_path).run(runs=4, on=cluster)
    assert len(cluster.tasks) == 5
    check_every_run_counts_once(tmp_path, 4)


def test_a_worker_with_another_version_is_refused(tmp_path, monkeypatch):
    versions = iter(["1.0", "2.0"])
    monkeypatch.setattr(cluster_executor, "version", lambda _: next(versions))
    with (
        ThreadCluster() as cluster,
        pytest.raises(ValueError, match=r"has keyhole 2\.0, and this client has keyhole 1\.0: "),
    ):
        Tuner(spec_of("true"), tmp_path).run(runs=1, on=cluster)


def test_a_missing_command_is_reported_with_the_machine(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster_executor.socket, "gethostname", lambda: "node7")
    spec = spec_of("{instance}", instances=["not-there"])
    with (
        ThreadCluster() as cluster,
        pytest.raises(ValueError, match=r"could not be started: .*, on node7$"),
    ):
        Tuner(spec, tmp_path).run(runs=1, on=cluster)


def test_a_lost_scheduler_ends_the_tune_which_can_be_resumed(tmp_path):
    def lose_scheduler(number, result):
        if number == 3:
            raise ClusterLostError("ray=x does not answer any more")
        return result

    message = "does not answer any more"
    with ThreadCluster(lose_scheduler) as cluster, pytest.raises(ClusterLostError, match=message):
        Tuner(spec_of("true"), tmp_path).run(runs=6, workers=2, on=cluster)
    assert len(SavedTune.load(tmp_path).runs) < 6
    with ThreadCluster() as cluster:
        Tuner(spec_of("true"), tmp_path).run(runs=6, on=cluster)
    check_every_run_counts_once(tmp_path, 6)


def test_ctrl_c_does_not_wait_for_cluster_runs(tmp_path):
    def interrupt(record):
        raise KeyboardInterrupt

    more = {"instances": ["0", "600"], "seed": 1, "limits": [900.0]}
    with ThreadCluster() as cluster:
        with pytest.raises(KeyboardInterrupt):
            Tuner(spec_of("sleep {instance}", **more), tmp_path).run(
                runs=20, workers=2, on=cluster, progress=interrupt
            )
        assert any(not task.done() for task in cluster.cancelled)  # the one that sleeps


def test_a_runner_that_is_closed_is_not_used_again(monkeypatch):
    """A runner may be closed during its run, or while it is idle."""

    class Closed(CommandRunner):
        def run(self, *arguments, **more):
            run = super().run(*arguments, **more)
            self.close()
            return run

    arguments = (cluster_executor.version("keyhole"), {}, ["true"], 60.0, {})
    with monkeypatch.context() as patch:
        patch.setattr(cluster_executor, "CommandRunner", Closed)
        assert cluster_executor.run_on_worker(*arguments)[0].outcome == "ok"
    assert cluster_executor.run_on_worker(*arguments)[0].outcome == "ok"
    cluster_executor._idle_runners[0].close()
    assert cluster_executor.run_on_worker(*arguments)[0].outcome == "ok"
    assert [runner.closed for runner in cluster_executor._idle_runners] == [False]


@pytest.mark.parametrize(("capacity", "workers"), [(0, 1), (2, 3)])
def test_more_workers_than_the_capacity_are_warned_of(tmp_path, capacity, workers):
    with (
        ThreadCluster(capacity=capacity) as cluster,
        pytest.warns(UserWarning, match=f"which has a capacity of {capacity} now: the others wait"),
    ):
        Tuner(spec_of("true"), tmp_path).run(runs=1, workers=workers, on=cluster)


def test_options_that_need_this_machine_are_refused_on_a_cluster(tmp_path):
    with ThreadCluster() as cluster:
        with pytest.raises(ValueError, match=r"cores must be 1 on a cluster: .* got 2"):
            Tuner(spec_of("true", cores=2), tmp_path / "a").run(runs=1, on=cluster)
        with pytest.raises(ValueError, match="executors must be left out with `on`"):
            Tuner(spec_of("true"), tmp_path / "b", executors=ThreadCluster).run(runs=1, on=cluster)
    with pytest.raises(ValueError, match=r"^on must be threads, dask\[=ADDRESS\]"):
        Tuner(spec_of("true"), tmp_path / "c").run(runs=1, on="slurm")
    assert not list(tmp_path.glob("[bc]"))


def wait_for(condition):
    deadline = time.monotonic() + TIMEOUT
    while not (value := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.1)  # a look at all processes takes a while
    return value


LONG = """
limits = [600]
[[arm]]
name = "family"
command = "sh -c 'setsid sleep 600 & sleep 600'"
"""


@pytest.fixture(scope="module")
def under_dask(tmp_path_factory):
    """Yield a cluster, and the tag of all processes of its workers."""
    tag = f"dask-{os.getpid()}-{time.monotonic_ns()}"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KEYHOLE_TAG", tag)
        with dask_cluster(tmp_path_factory.mktemp("dask") / "cluster", workers=1) as cluster:
            yield cluster, tag


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
@pytest.mark.skipif(not find_spec("distributed"), reason="needs Dask")
@pytest.mark.parametrize("signal_number", [signal.SIGKILL, signal.SIGINT])
def test_dask_runs_end_with_their_client(under_dask, tmp_path, signal_number):
    cluster, tag = under_dask
    (tmp_path / "mine.toml").write_text(LONG)
    arguments = ["tune", "mine.toml", "--out", "out", "--on", cluster.on, "--runs", "9"]
    with Forked("-m", "keyhole", *arguments, cwd=tmp_path) as tuner:
        wait_for(lambda: len(find_commands(tag)) == 2 or tuner.poll() is not None)
        assert tuner.poll() is None
        tuner.send_signal(signal_number)
        tuner.finish()
    wait_for(lambda: not find_commands(tag))  # by themselves they would sleep far longer


def find_commands(tag):
    """Return the commands that run under a tag."""
    pids = []
    for pid in find_processes(tag):
        with suppress(OSError):
            if Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
                pids.append(pid)
    return pids
