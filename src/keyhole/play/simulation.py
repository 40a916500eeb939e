"""The functions `simulate` and `stopping_times`: policies on a problem, on threads or a cluster."""

import math
from collections.abc import Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from keyhole.clusters.cluster import THREADS, check_cluster_address, cluster_connection
from keyhole.contract.pending_mode_inference import Pending
from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.contract.state_arrays import FloatArray
from keyhole.play.cluster_simulation import run_on_cluster
from keyhole.play.progress import Report, progress_callback
from keyhole.play.simulation_job import SimulationJob, run_locally
from keyhole.play.simulation_plan import COUNTS, Duration, Plan, SimulatedWorkers
from keyhole.results.curves import Curves
from keyhole.validation import DEFAULT_SEED, check_integer, explain_memory_errors

# Blocks are long, since threads wait for each other at the end of each block. Shorter blocks would
# gain nothing, since they are not kept in files to resume a killed call.
_BLOCK_SECONDS: Final = 3600.0


def simulate(
    problem: Problem,
    policies: Mapping[str, Policy] | Iterable[Policy],
    *,
    horizon: int,
    replications: int,
    seed: int = DEFAULT_SEED,
    checkpoints: Iterable[int] | Mapping[str, Any] | None = None,
    threads: int | None = None,
    progress: bool | Report = False,
    details: bool = False,
    checked: bool = False,
    interpreted: bool | None = None,
    workers: int = 1,
    duration: Duration | None = None,
    pending: Pending | None = None,
    on: str | Executor = THREADS,
) -> Curves:
    """Simulate policies on a problem, in many replications, and return their metrics.

    All policies share common random numbers: in most settings, the n-th pull of an arm in a
    replication yields the same sample to each policy. A policy's results depend on the arguments
    alone, and not on `threads`, `on` or the other policies. A decision that the setting does not
    allow is an error. A kernel in an endless loop cannot be interrupted: two seconds after Ctrl-C,
    or at the next Ctrl-C, its thread is abandoned with a warning, and ends with the process.

    Parameters
    ----------
    problem : Problem
        The instance, such as `keyhole.thresholding.Problem`.
    policies : mapping of str to Policy, or iterable of Policy
        The policies by label; the default label is the policy's repr, such as ``LSA(alpha=1.35)``.
    horizon, replications : int
        The number of rounds in a replication, and the number of independent replications, each from
        1 to 2**53.
    seed : int, default 0
        The seed of all random numbers, from 0, below 2**63.
    checkpoints : iterable of int or mapping, optional
        Increasing rounds, from 1 to `horizon`, after which the metrics are taken; by default the
        horizon alone. As in a spec, ``{"count": 50}`` stands for 50 evenly spaced rounds, and with
        ``"spacing": "log"`` their logarithms are evenly spaced. In a setting with a budget, a
        checkpoint is a budget, and policies that know the horizon are simulated for each budget.
    threads : int, optional
        The number of threads, at most 1,024; by default one for each processor.
    progress : bool or callable, default False
        Whether to show progress, on standard error or, in a notebook, below the cell. A function is
        called instead, with label, rounds done and rounds in all.
    details : bool, default False
        Whether to keep the metrics that are details: rewards, pulls by arm (``pulls[0]``), ...
    checked : bool, default False
        Whether to check every index of a kernel. An index beyond its array is otherwise unnoticed.
    interpreted : bool, optional
        Whether Python runs the kernels, in this thread. This is slow, gives the same results, and
        is for debugging. By default `keyhole.interpreted` decides; outside of it, Python runs
        Keyhole's own policies on its own problems while they are not compiled yet, if running them
        takes less than half a second.
    workers : int, default 1
        The number of simulated workers, up to 65,536. Each worker asks, is busy, tells, and asks
        again, so each may have a pending decision. A checkpoint is a number of decisions. The
        feedback of decisions that are pending at a checkpoint is told before the metrics are taken.
        The setting `delayed` takes one worker only, since its delays are counted in rounds.
    duration : Duration, optional
        The distribution of the time that a worker is busy with a decision: see
        `keyhole.distributions.busy_times`. By default always 1. With a duration or several workers
        there is one more metric: ``clock``, the time until all feedback is back.
    pending : {"impute", "ignore", "wait"}, optional
        How policies treat pending decisions, see `keyhole.policy.Policy`; by default the first mode
        that each policy declares. With "wait", and with one worker, there is one decision at a
        time.
    on : str or concurrent.futures.Executor, default "threads"
        Where to simulate: "threads" of this process; the workers of a cluster, ``dask[=ADDRESS]``
        or ``ray[=ADDRESS]``; or an executor, which can serve several calls, such as a
        ``ProcessPoolExecutor`` or the executor that `keyhole.clusters.connect` returns. For a
        cluster without an address, `threads` is the number of processes that are started.

    Examples
    --------
    >>> from keyhole import simulate
    >>> from keyhole.thresholding import LSA, Problem, RoundRobin
    >>> problem = Problem(means=[0.2, 0.4, 0.7], threshold=0.5)
    >>> curves = simulate(problem, [LSA(), RoundRobin()], horizon=60, replications=200, seed=1)
    >>> curves.labels
    ('LSA(alpha=1.35)', 'RoundRobin()')
    >>> curves.paired("LSA(alpha=1.35)", "RoundRobin()", metric="simple_regret", round=60).high < 0
    True
    """
    check_cluster_address(on, threads)
    simulated_workers = SimulatedWorkers(workers, pending=pending)
    if duration is not None:
        simulated_workers = replace(simulated_workers, duration=duration)
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
        workers=simulated_workers,
    )
    replications = check_integer("replications", replications, COUNTS)
    shape = (len(plan.checkpoints), len(plan.metrics), replications)
    # Allocated before anything is simulated, so that too many replications are refused at once.
    with explain_memory_errors(f"replications = {replications}"):
        values_by_label = {label: np.empty(shape) for label in plan.policies}
    jobs = [
        SimulationJob(plan, label, replications, [range(replications)]) for label in plan.policies
    ]

    def store_block(job: SimulationJob, block: range, values: FloatArray) -> None:
        values_by_label[job.label][:, :, block.start : block.stop] = values

    with progress_callback(progress) as report, cluster_connection(on, threads) as cluster:
        if cluster is not None:
            run_on_cluster(cluster, jobs, store_block, report)
        else:
            for job in jobs:
                run_locally(job, store_block, threads, report, block_seconds=_BLOCK_SECONDS)
    return plan.make_curves(values_by_label)


_NORMAL_QUANTILE: Final = 1.96  # of the 95 % interval of a rank
_ADVICE: Final = (
    "\nTo end sooner, take fewer arms, or a larger delta (or tolerance, if the rule has one). A"
    " policy that earns meanwhile, such as OptimisticThompson, needs no end."
)


@dataclass(frozen=True)
class StoppingTimes:
    """Rounds until a policy was done, in simulated tests; made by `stopping_times`.

    Attributes
    ----------
    policy : str
        The policy.
    rounds : int
        The most rounds of a test.
    tests, not_done : int
        The number of tests, and the number of tests in which the policy was not done.
    median, quantile_90 : tuple of float
        The number of rounds after which half of the tests are done, and the number after which 90 %
        are; each with the two ends of its 95 % interval. A number beyond `rounds` is infinite.
    guarantee : str
        The promise of the policy, such as a bound on the chance that it names a wrong arm.
    error : tuple of float
        The mean of the metric that the guarantee bounds, and the ends of its 95 % interval.
    """

    policy: str
    rounds: int
    tests: int
    not_done: int
    median: tuple[float, ...]
    quantile_90: tuple[float, ...]
    guarantee: str
    error: tuple[float, ...]

    def __str__(self) -> str:
        """Return all results as lines of text, with advice if the 90 % quantile is infinite."""
        median, quantile_90 = (
            f"{value:,.0f} [{low:,.0f}, {high:,.0f}]".replace("inf]", "...]").replace(
                "inf", f"over {self.rounds:,}"
            )
            for value, low, high in (self.median, self.quantile_90)
        )
        error, low, high = self.error
        advice = _ADVICE if math.isinf(self.quantile_90[0]) else ""
        return (
            f"{self.policy} in {self.tests:,} simulated tests:\n"
            f"  done after a median of {median} decisions, 90 % quantile {quantile_90}\n"
            f"  {self.not_done:,} of {self.tests:,} were not done after {self.rounds:,} decisions\n"
            f"  {self.guarantee}; here {error:.3f} [{low:.3f}, {high:.3f}]{advice}"
        )


def stopping_times(
    problem: Problem,
    policy: Policy,
    *,
    horizon: int = 200_000,
    replications: int = 200,
    seed: int = DEFAULT_SEED,
    **options: Any,
) -> StoppingTimes:
    """Simulate how many rounds a policy that can stop takes until it has settled all arms.

    The result says before a test how large its sample will be: how many visitors until
    `BestArmStopping` names a winner, or how many labels until `PerArmStopping` has settled each
    item. The sample depends on the means, which nobody knows before the test. So try means that you
    think possible, also with small differences. The result depends on the arguments alone. At most
    `horizon` times `replications` rounds are simulated, which takes about a minute with the
    defaults.

    Parameters
    ----------
    problem : Problem
        A problem that you think possible, such as ``keyhole.stochastic.Problem([0.04, 0.06])``.
    policy : Policy
        A policy that can stop (`keyhole.policy.Policy.verdicts`).
    horizon : int, default 200,000
        The most rounds of a test. A test that takes longer counts as not done.
    replications : int, default 200
        The number of simulated tests.
    seed : int, default 0
        The seed of all random numbers, from 0, below 2**63.
    **options
        Other arguments of `keyhole.simulate`, such as `threads` and `progress`.

    Raises
    ------
    ValueError
        If the policy cannot stop.

    Examples
    --------
    >>> from keyhole import stopping_times
    >>> from keyhole.stochastic import BestArmStopping, Problem
    >>> print(stopping_times(Problem([0.2, 0.5]), BestArmStopping(), replications=50))
    BestArmStopping(base=TopTwoThompson(a=1, b=1, share=0.5), delta=0.05) in 50 simulated tests:
      done after a median of 101 [85, 146] decisions, 90 % quantile 241 [197, ...]
      0 of 50 were not done after 200,000 decisions
      chance that the arm named best is not the best: at most 0.05; here 0.000 [0.000, 0.071]
    """
    if not policy.verdicts:
        raise ValueError(
            f"policy must be one that can stop, such as BestArmStopping or PerArmStopping, got "
            f"{policy!r}"
        )
    curves = simulate(
        problem, [policy], horizon=horizon, replications=replications, seed=seed, **options
    )
    is_unfinished = curves.values(policy, "unfinished")[-1] > 0.0
    rounds = np.where(is_unfinished, math.inf, curves.values(policy, "rounds_used")[-1])
    guarantee = policy.guarantee()
    error = curves.estimates(policy, guarantee.metric)[-1]
    return StoppingTimes(
        repr(policy),
        horizon,
        replications,
        int(is_unfinished.sum()),
        _quantile_with_interval(rounds, 0.5),
        _quantile_with_interval(rounds, 0.9),
        guarantee.text,
        (error.value, error.low, error.high),
    )


def _quantile_with_interval(rounds: FloatArray, share: float) -> tuple[float, ...]:
    """Return a quantile, and the two order statistics at the ends of its 95 % interval."""
    sorted_rounds = np.array([0.0, *np.sort(rounds), math.inf])
    rank = share * len(rounds)
    margin = _NORMAL_QUANTILE * math.sqrt(rank * (1.0 - share))
    ranks = np.clip(
        np.ceil([rank - 1e-9, rank - margin - 1.0, rank + margin + 1.0]), 0, len(rounds) + 1
    )
    return tuple(sorted_rounds[ranks.astype(int)].tolist())
