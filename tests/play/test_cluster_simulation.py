"""What is handed out to a cluster, and what comes back; here the cluster is a list."""

import multiprocessing
import os
import pickle
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from weakref import WeakSet

import numpy as np
import pytest

import keyhole.play.cluster_simulation
from keyhole import simulate
from keyhole.clusters import Cluster, ClusterLostError
from keyhole.play.cluster_simulation import package_versions, run_on_cluster, run_task
from keyhole.play.plan_pickling import pickle_plan
from keyhole.play.simulation_job import SimulationJob, plan_digest
from keyhole.play.simulation_plan import Plan
from keyhole.thresholding import LSA, UCBE, Problem, RoundRobin

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


class Shared:
    """Bytes that are held by whom holds this, and arrive as bytes."""

    def __init__(self, data):
        self.data = data

    def __reduce__(self):
        return bytes, (self.data,)


class Inline(Cluster):
    """A cluster that does one task at a time, in this process, when it is asked what has ended."""

    def __init__(self, capacity=2):
        self.name, self.size = "inline", capacity
        self.tasks, self.parts, self.most, self.cancelled = {}, [], 0, 0
        self.shared, self.most_held = WeakSet(), 0

    def capacity(self):
        return self.size

    def share(self, data):
        shared = Shared(data)
        self.shared.add(shared)
        self.most_held = max(self.most_held, len(self.shared))
        return shared

    def submit(self, fn, /, *args):
        future = Future()
        self.tasks[future] = pickle.dumps((fn, args))
        self.parts.append(args[-1] if args else None)
        self.most = max(self.most, len(self.tasks))
        return future

    def cancel(self, futures):
        super().cancel(futures)
        self.cancelled += len([self.tasks.pop(one) for one in futures if one in self.tasks])

    def completed(self, futures, seconds):
        if not self.tasks:
            return set()
        future = next(iter(self.tasks))
        function, args = pickle.loads(self.tasks.pop(future))
        try:
            future.set_result(function(*args))
        except Exception as error:
            future.set_exception(error)
        return {future}

    def shutdown(self, wait=True, *, cancel_futures=False):
        self.tasks.clear()


def plan():
    return Plan.make(PROBLEM, [LSA(), RoundRobin()], horizon=60, checkpoints=[20, 60], seed=3)


def jobs_of(plan, replications=40):
    return [
        SimulationJob(plan, label, replications, [range(replications)]) for label in plan.policies
    ]


def slow_part(*arguments):
    """Play a part, and say that each replication took a second."""
    return run_task(*arguments)[0], float(len(arguments[-1]))


@pytest.fixture
def clock(monkeypatch):
    monkeypatch.setattr(keyhole.play.cluster_simulation, "run_task", slow_part)
    monkeypatch.setattr(keyhole.play.simulation_job, "FIRST_ROUNDS", 1)


def no_keep(*_):
    pass


def test_a_cluster_yields_what_threads_do():
    arguments = {"horizon": 60, "replications": 40, "seed": 3, "checkpoints": [20, 60]}
    policies = {"a": LSA(), "b": RoundRobin(), "told": UCBE(b=1.0)}
    here = simulate(PROBLEM, policies, details=True, **arguments)
    there = simulate(PROBLEM, policies, details=True, on=Inline(), **arguments)
    assert there.metrics == here.metrics
    for label in here.labels:
        for metric in here.metrics:
            assert np.array_equal(there.values(label, metric), here.values(label, metric))


class Mine(RoundRobin):
    """A policy of a module that is not installed."""

    def select(p, s, t):
        return first(t) % p.arms


def first(t):
    return t - 1


def values_on(**on):
    policies, size = [LSA(), Mine()], {"horizon": 30, "replications": 8, "checkpoints": [9, 30]}
    curves = simulate(PROBLEM, policies, **size, seed=3, interpreted=True, details=True, **on)
    return {(label, m): curves.values(label, m) for label in curves.labels for m in curves.metrics}


def same(one, other):
    return one.keys() == other.keys() and all(np.array_equal(one[key], other[key]) for key in one)


@pytest.mark.interpreted
def test_any_executor_yields_the_bits_that_threads_do():
    here = values_on()
    select, globals_ = Mine.select, Mine.select.__globals__
    with ThreadPoolExecutor(2) as pool:
        assert same(values_on(on=pool), here)
        assert same(values_on(on=pool, threads=1), here)
        assert pool.submit(abs, -1).result() == 1  # it is left open
    assert Mine.select is select  # the class of this process is left alone
    assert Mine.select.__globals__ is globals_
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        assert same(values_on(on=pool), here)


def test_an_executor_whose_worker_dies_is_lost():
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        cluster = Cluster(pool)
        assert (cluster.name, cluster.capacity()) == ("ProcessPoolExecutor", 1)
        with pytest.raises(ClusterLostError, match=r"^ProcessPoolExecutor does not answer any"):
            cluster.result(cluster.submit(os._exit, 3))
    with pytest.raises(RuntimeError):
        cluster.submit(abs, -1)


def test_a_module_that_workers_lack_is_named():
    def load():
        raise ModuleNotFoundError("No module named 'elsewhere'", name="elsewhere")

    with ThreadPoolExecutor(1) as pool:
        cluster = Cluster(pool)
        words = "^the workers of ThreadPoolExecutor cannot import elsewhere: it must be installed"
        with pytest.raises(ImportError, match=words):
            cluster.result(cluster.submit(load))


def test_what_was_played_before_is_not_handed_out():
    job = SimulationJob(plan(), "RoundRobin()", 40, [range(8, 16), range(30, 31)])
    cluster, kept = Inline(), []
    run_on_cluster(cluster, [job], lambda job, part, _: kept.append((part.start, part.stop)))
    assert kept == [(8, 16), (30, 31)]


def test_parts_are_few_at_first_then_long_then_shorter(clock):
    cluster = Inline()
    run_on_cluster(cluster, jobs_of(plan(), 200)[:1], no_keep)
    lengths = [len(part) for part in cluster.parts]
    assert lengths[0] == 1
    assert max(lengths) == 8  # ten seconds, in whole groups of eight
    assert lengths[-1] < 8
    assert sum(lengths) == 200


def test_plans_are_let_go_once_they_have_been_played(clock):
    cluster = Inline(1)
    run_on_cluster(cluster, [job for _ in range(6) for job in jobs_of(plan(), 16)], no_keep)
    assert not cluster.shared
    assert cluster.most_held <= 3


def test_no_more_is_handed_out_than_twice_what_can_be_at_work(clock):
    cluster = Inline(3)
    run_on_cluster(cluster, jobs_of(plan(), 400), no_keep)
    assert cluster.most == 6


def test_progress_speaks_of_all_jobs_together():
    told = []
    run_on_cluster(Inline(), jobs_of(plan()), no_keep, lambda *said: told.append(said))
    assert told[-1] == ("2 runs on inline", 2 * 40 * 60, 2 * 40 * 60)
    assert [played for _, played, _ in told] == sorted(played for _, played, _ in told)


def test_a_cluster_without_workers_is_waited_for_and_it_is_said(monkeypatch):
    cluster = Inline(0)
    monkeypatch.setattr(keyhole.play.cluster_simulation, "_WARNING_SECONDS", 0.0)
    waits = iter([0, 0, 0, 2])
    monkeypatch.setattr(cluster, "capacity", lambda: next(waits, 2))
    with pytest.warns(UserWarning, match="inline has no worker; waiting for one") as said:
        run_on_cluster(cluster, jobs_of(plan()), no_keep)
    assert len(said) == 1


class Greedy(RoundRobin):
    def select(p, s, t):
        return 7


@pytest.mark.interpreted
def test_what_a_worker_refuses_is_refused_in_the_words_of_a_run_here():
    # Of two threads the second may be the first that is refused, in another replication.
    with pytest.raises(ValueError, match="round 1 of replication") as here:
        simulate(PROBLEM, [Greedy()], horizon=60, replications=40, threads=1)
    with pytest.raises(ValueError, match="round 1 of replication") as there:
        simulate(PROBLEM, [Greedy()], horizon=60, replications=40, on=Inline())
    assert str(there.value) == str(here.value)


def test_a_call_that_is_refused_leaves_a_cluster_that_serves_others():
    cluster = Inline()
    with pytest.raises(ValueError, match="round 1 of replication"):
        simulate(PROBLEM, [Greedy(), LSA()], horizon=60, replications=40, on=cluster)
    assert cluster.cancelled == 1
    assert len(cluster.shared) == len(cluster.tasks) == 0
    there = simulate(PROBLEM, {"it": LSA()}, horizon=60, replications=40, on=cluster)
    here = simulate(PROBLEM, {"it": LSA()}, horizon=60, replications=40)
    assert np.array_equal(there.values("it", "simple_regret"), here.values("it", "simple_regret"))


def task(**changes):
    it = plan()
    arguments = {
        "data": pickle_plan(it), "versions": package_versions(), "digest": plan_digest(it),
        "label": "RoundRobin()", "replications": range(8),
    }  # fmt: skip
    return run_task(**arguments | changes)


def test_another_version_is_refused_with_both_named():
    assert task()[1] > 0
    with pytest.raises(ValueError, match=r"has numba .+, and this client has numba 0.1: install"):
        task(versions=package_versions() | {"numba": "0.1"})


def test_a_block_that_is_no_longer_wanted_ends(monkeypatch):
    monkeypatch.setattr(keyhole.play.cluster_simulation, "make_wanted_check", lambda: lambda: False)
    with pytest.raises(RuntimeError, match="the client does not wait for this block any more"):
        task()


def test_other_code_is_refused():
    with pytest.raises(ValueError, match="has other code of a problem or a policy than this"):
        task(digest="0" * 64)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"on": "slurm"}, r"on must be threads, dask\[=ADDRESS\] or ray\[=ADDRESS\], got 'slurm'"),
        ({"on": "dask="}, "on must be threads"),
        ({"on": "threads=2"}, "on must be threads"),
        ({"on": "dask=tcp://10.0.0.1:8786", "threads": 2}, "threads must be left out"),
        ({"on": Inline(), "threads": 2}, "threads must be left out: inline has workers of its own"),
        ({"on": "dask", "threads": 0}, r"threads must lie in \[1, 1024\], got 0"),
        ({"on": 3}, "on must be a text, or an executor of concurrent.futures, got 3"),
    ],
)
def test_bad_places_are_refused(arguments, words):
    with pytest.raises((TypeError, ValueError), match=words):
        simulate(PROBLEM, [LSA()], horizon=60, replications=8, **arguments)


class Damaging(Cluster):
    """A cluster that loses the last byte of each block."""

    def result(self, future):
        data, seconds = super().result(future)
        return data[:-1], seconds


def test_what_came_back_damaged_is_refused_with_its_place():
    with (
        ThreadPoolExecutor(1) as pool,
        pytest.raises(ValueError, match=r"replications 0 to \d of LSA.* were damaged on their way"),
    ):
        simulate(PROBLEM, [LSA()], horizon=10, replications=2, on=Damaging(pool))
