"""Simulation: policies x replications, on threads or on a cluster."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from keyhole.clusters import Cluster
from keyhole.clusters.connection import THREADS, check_address, cluster_connection
from keyhole.contract.environment import Problem
from keyhole.contract.pending import Pending
from keyhole.contract.policy import Policy
from keyhole.contract.state_memory import FloatArray
from keyhole.play.block import Block
from keyhole.play.cluster_jobs import run_on_cluster
from keyhole.play.jobs import Job
from keyhole.play.pickling import check_in_file
from keyhole.play.plan import COUNT, Plan
from keyhole.play.progress import Report, bar
from keyhole.play.simulated_workers import Duration, SimulatedWorkers
from keyhole.results.curves import Curves
from keyhole.validate import check_integer, check_memory


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy] | Iterable[Policy],
    *,
    horizon: int,
    replications: int,
    seed: int = 0,
    checkpoints: Iterable[int] | Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool | Report = False,
    details: bool = False,
    checked: bool = False,
    interpreted: bool | None = None,
    workers: int = 1,
    duration: Duration | None = None,
    pending: Pending | None = None,
    on: str | Cluster = THREADS,
) -> Curves:
    """Play policies against a problem, many times, and measure how they do.

    All policies meet the same randomness: the n-th pull of an arm in a replication yields the same
    sample to each. The result depends on the arguments alone: neither on `threads` and `on`, nor on
    the machine's load, nor on which other policies run. A policy that takes a decision which the
    setting does not allow is refused. On Ctrl-C a kernel that is in a loop without end cannot be
    stopped: after two seconds, or the next Ctrl-C, it is left behind, with a warning, and ends with
    the process.

    Parameters
    ----------
    problem : Problem
        The instance, such as `keyhole.thresholding.Problem`.
    policies : mapping of str to Policy, or iterable of Policy
        The policies by label; without labels they are called by their parameters,
        ``LSA(alpha=1.35)``.
    horizon, replications : int
        Rounds in a replication, and independent repetitions; each from 1 to 2**53.
    seed : int, default 0
        From 0, below 2**63.
    checkpoints : iterable of int or mapping, optional
        Rounds after which the metrics are taken: rising, from 1 to `horizon`; or, as in a spec,
        ``{"count": 50}`` for as many, evenly spaced, with ``"spacing": "log"`` in their logarithm.
        By default the horizon alone. In a setting with a budget, a checkpoint is a budget: policies
        that know the horizon are then run once for each.
    threads : int, optional
        At most 1,024; by default one for each processor.
    progress : bool or callable, default False
        Whether to show progress: on standard error, in a notebook below the cell; or what is told
        label, rounds played, rounds in all.
    details : bool, default False
        Whether to keep all that the world measures: rewards, pulls by arm (``pulls[0]``), ...
    checked : bool, default False
        Whether to check every index of a kernel. Without, one beyond its array goes unnoticed.
    interpreted : bool, optional
        Whether Python runs the kernels, in this thread: with the same results, slowly, to look
        into them. By default as `keyhole.interpreted` says, inside which it stands. Where nothing
        says so, a pair that is not compiled yet, and all of it Keyhole's own, is played by Python
        if that takes less than half a second.
    workers : int, default 1
        How many decisions may be open at a time, up to 65,536: each worker asks, is busy, tells,
        and asks again. A checkpoint is a number of decisions; what is still open then is told
        before anything is measured. Not in the room `delayed`, where rounds are time.
    duration : law, optional
        For how long a worker is busy with a decision: see `keyhole.distributions.durations`; by
        default 1. If it is given, or there are several workers, a metric more is taken: ``clock``,
        the time until all feedback is back.
    pending : {"impute", "ignore", "wait"}, optional
        What policies make of open decisions, see `keyhole.policy.Policy`; by default what is best
        for each. With "wait", and with one worker, decisions are those of one at a time.
    on : str or Cluster, default "threads"
        Where: on threads of this process, or on the workers of a cluster, ``dask[=ADDRESS]`` or
        ``ray[=ADDRESS]``: see `keyhole.clusters.connect`, whose clusters serve several calls.
        Without an address, `threads` is how many processes are started.

    Examples
    --------
    >>> from keyhole import simulate
    >>> from keyhole.thresholding import LSA, Problem, Uniform
    >>> problem = Problem(means=[0.2, 0.4, 0.7], threshold=0.5)
    >>> curves = simulate(problem, [LSA(), Uniform()], horizon=60, replications=200, seed=1)
    >>> curves.labels
    ('LSA(alpha=1.35)', 'Uniform()')
    >>> curves.paired("LSA(alpha=1.35)", "Uniform()", metric="simple_regret", round=60).high < 0
    True
    """
    check_address(on, threads)
    plan = Plan.make(
        problem,
        policies,
        horizon=horizon,
        checkpoints=checkpoints,
        seed=seed,
        details=details,
        checked=checked,
        interpreted=interpreted,
        interpret_uncompiled=on == THREADS,
        work=_work(workers, duration, pending),
    )
    replications = check_integer("replications", replications, COUNT)
    if on != THREADS:  # before a cluster is started for it
        for thing in (problem, *plan.policies.values()):
            check_in_file(type(thing))
    with bar(progress) as report, cluster_connection(on, threads) as cluster:
        if cluster is not None:
            return plan.curves(_values_from(cluster, plan, replications, report))
        values = {
            label: plan.play(label, range(replications), threads=threads, report=report)
            for label in plan.policies
        }
    return plan.curves(values)


def _values_from(
    cluster: Cluster, plan: Plan, replications: int, report: Report | None
) -> dict[str, FloatArray]:
    """Return what all policies yield, played on a cluster."""
    shape = (len(plan.checkpoints), len(plan.metrics), replications)
    with check_memory(f"replications = {replications}"):
        values = {label: np.empty(shape) for label in plan.policies}

    def keep(job: Job, block: Block, data: bytes) -> None:
        values[job.label][:, :, block.first : block.stop] = block.read(data)

    jobs = [Job(plan, label, replications, [range(replications)]) for label in plan.policies]
    run_on_cluster(cluster, jobs, keep, report)
    return values


def _work(count: int, duration: Duration | None, pending: str | None) -> SimulatedWorkers | None:
    """Return the workers of all policies, checked; None where none is needed."""
    given = {} if duration is None else {"duration": duration}
    work = SimulatedWorkers(count, pending=pending, **given)
    return None if count == 1 and duration is None else work
