"""Clusters: speed-up by a second worker, overhead of a task, utilisation of a thousand workers.

The last is an estimate: the code that submits tasks runs with simulated workers, which only advance
a clock, and a simulated scheduler with the overhead per task that was measured on this machine.
"""

import heapq
import os
import statistics
import time
from concurrent.futures import Future
from itertools import count

import numpy as np
from distributed import Client, LocalCluster

from benchmarks.measure import Row
from keyhole import simulate
from keyhole.clusters import Cluster, connect
from keyhole.clusters.dask import Dask
from keyhole.play.cluster_simulation import run_on_cluster
from keyhole.play.simulation_job import SimulationJob
from keyhole.play.simulation_plan import Plan
from keyhole.thresholding import APT, LSA, Problem

PROBLEM = Problem(means=[0.1, 0.2, 0.3, 0.4, 0.45, 0.55, 0.6, 0.7, 0.8, 0.9], threshold=0.5)
KINDS = ("dask", "ray")
TASKS = 1000
WORKERS = (100, 1000, 4000)
# The simulated work: a number of policies, for an hour in all.
POLICIES, HORIZON, SECONDS = 100, 10_000, 3600.0
ROUND = 20e-9


def rows(size):
    """Yield the rows of clusters."""
    costs, quick = {}, size.repeats <= 2
    yield scaling("two threads", size, threads=2)
    with start_dask_threads() as cluster:
        yield scaling("dask, two threads of a process", size, on=cluster)
    for kind in KINDS:
        for workers, name in [(2, "two workers"), *([] if quick else [(1, "one worker")])]:
            began = time.perf_counter()
            with connect(kind, workers=workers) as cluster:
                if workers == 2:
                    yield Row(f"{kind}: two workers started", time.perf_counter() - began, "s")
                    costs[kind] = task_cost(cluster, 50 if quick else TASKS)
                    yield Row(f"{kind}: a task that does nothing", costs[kind] * 1e3, "ms")
                yield scaling(f"{kind}, {name}", size, on=cluster)
    for kind, cost in costs.items():
        for workers in WORKERS[:1] if quick else WORKERS:
            share = simulated_utilisation(workers, cost, 100.0 if quick else SECONDS)
            yield Row(f"{kind}: {workers:,} workers at work (an estimate)", 100 * share, "%")


def task_cost(cluster, tasks):
    """Return the mean seconds of a task that does nothing, over many."""
    run_idle_tasks(cluster, 1)
    began = time.perf_counter()
    run_idle_tasks(cluster, tasks)
    return (time.perf_counter() - began) / tasks


def run_idle_tasks(cluster, tasks):
    """Submit tasks that do nothing, and wait as a simulation does until all have ended."""
    futures = {cluster.submit(os.getpid) for _ in range(tasks)}
    while futures:
        futures -= cluster.completed(futures, 1.0)


def scaling(name, size, **where):
    """Return the speed-up over one thread, with timings that take turns."""
    replications = 150 * size.replications

    def play(**where):
        began = time.perf_counter()
        simulate(PROBLEM, [LSA()], horizon=size.horizon, replications=replications, **where)
        return time.perf_counter() - began

    play(**where)
    pairs = [(play(threads=1), play(**where)) for _ in range(max(2, size.repeats // 2))]
    return Row(f"{name} / one thread", statistics.median(a / b for a, b in pairs), "x")


def start_dask_threads():
    """Start a Dask cluster of one process with two threads."""
    local = LocalCluster(n_workers=1, threads_per_worker=2, dashboard_address="127.0.0.1:0")
    return Dask("dask", Client(local, set_as_default=False), local)


class SimulatedCluster(Cluster):
    """Cluster whose workers and scheduler advance a simulated clock."""

    def __init__(self, workers, cost, jobs):
        self.name, self.workers, self.cost = "simulated", workers, cost
        self.jobs = {job.label: job for job in jobs}
        self.now = self.scheduler = self.busy = 0.0
        self.free = [0.0] * workers
        self.ends, self.numbers = [], count()

    def capacity(self):
        return self.workers

    def submit(self, function, data, versions, digest, label, part):
        self.scheduler = max(self.scheduler, self.now) + self.cost
        seconds = ROUND * HORIZON * len(part)
        begin = max(heapq.heappop(self.free), self.scheduler)
        heapq.heappush(self.free, begin + seconds)
        self.busy += seconds
        future = Future()
        job = self.jobs[label]
        shape = len(job.plan.checkpoints), len(job.plan.metrics), len(part)
        values = job.encode_block(part, np.zeros(shape))
        heapq.heappush(self.ends, (begin + seconds, next(self.numbers), seconds, values, future))
        return future

    def completed(self, futures, seconds):
        self.now, _, seconds, values, future = heapq.heappop(self.ends)
        future.set_result((values, seconds))
        return {future}


def simulated_utilisation(workers, cost, seconds):
    """Return the share of the simulated time for which the workers are busy."""
    replications = round(seconds * workers / (ROUND * HORIZON) / POLICIES)
    policies = {str(i): APT() for i in range(POLICIES)}
    plan = Plan.make(PROBLEM, policies, horizon=HORIZON, checkpoints=None, seed=0)
    jobs = [
        SimulationJob(plan, label, replications, [range(replications)]) for label in plan.policies
    ]
    cluster = SimulatedCluster(workers, cost, jobs)
    run_on_cluster(cluster, jobs, lambda *_: None)
    return cluster.busy / (workers * cluster.now)
