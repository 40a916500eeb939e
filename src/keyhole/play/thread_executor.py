"""Executor of a plan (a checked description of a simulation) on the threads of this process.

They are daemon threads, which can be abandoned. A process waits for the threads of
`concurrent.futures` when it ends, and machine code cannot be interrupted: a compiled function in an
endless loop would keep the process alive for ever.
"""

import warnings
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event, Thread
from time import monotonic
from typing import Final

import numpy as np

from keyhole.contract.compiled_class import compiled_environment, compiled_policy
from keyhole.contract.state_arrays import FloatArray
from keyhole.drivers.engine import LANES, ROUNDS_DONE, STOP
from keyhole.play.engine_simulator import EngineSimulator, compile_if_long
from keyhole.play.plan import Plan
from keyhole.play.policy_trial import refuse_unnoticed_faults
from keyhole.play.progress import Report
from keyhole.validate import explain_memory_errors

# Threads finish at about the same time if each gets several pieces of work.
_PIECES_PER_THREAD: Final = 8
_POLL_SECONDS: Final = 0.1
# After Ctrl-C the compiled loop looks at its stop flag once per round. A round that takes longer
# than this may never end: no signal can interrupt machine code.
_GRACE_SECONDS: Final = 2.0
_MOST_THREADS: Final = 1024  # whatever is asked for: no machine gains from more

Task = Callable[[], None]

Piece = tuple[EngineSimulator, range, FloatArray]
"""A simulator, some replications, and the part of the result that they fill."""


def make_simulators(plan: Plan, label: str) -> list[EngineSimulator]:
    """Return the simulator of each run of a policy; compile those that are not in the cache.

    A user's policy is tried first, unless every index is checked, or Python runs it anyway.
    """
    policy, runs = plan.policies[label], plan.runs(plan.policies[label])
    sides = compiled_policy(type(policy)), compiled_environment(plan.problem.environment)
    simulators = [
        EngineSimulator(plan, policy, *run, sides, plan.workers.get(label)) for run in runs
    ]
    if not (plan.checked or plan.interpreted):
        refuse_unnoticed_faults(plan, label, sides[0])
    return simulators


def simulate_replications(
    plan: Plan, label: str, replications: range, *, threads: int, report: Report | None = None
) -> FloatArray:
    """Simulate some replications of a policy: shape (checkpoints, metrics, replications)."""
    policy, simulators = plan.policies[label], make_simulators(plan, label)
    sizes = [len(simulator.checkpoints) for simulator in simulators]
    with explain_memory_errors(f"replications = {len(replications)}"):
        values = np.empty((sum(sizes), len(plan.metrics), len(replications)))
    # Views of one array: each run of the policy fills its own checkpoints, without a copy.
    parts = np.split(values, np.cumsum(sizes)[:-1])
    first = replications.start
    pieces = [
        (simulator, piece, part[:, :, piece.start - first : piece.stop - first])
        for simulator, part in zip(simulators, parts, strict=True)
        for piece in split_replications(replications, threads)
    ]
    if any(simulator.is_interpreted for simulator in simulators):
        compile_if_long(simulators, replications)
    total = plan.rounds(policy) * len(replications)
    if any(simulator.is_interpreted for simulator in simulators):
        _simulate_in_this_thread(label, pieces, total, report)
    else:
        _simulate_in_threads(label, pieces, threads, total, report)
    if not np.isfinite(values).all():
        name = plan.metrics[np.isfinite(values).all(axis=(0, 2)).argmin()]
        raise ValueError(
            f"{label} led to a metric, {name}, that is not a finite number: "
            f"{plan.problem.environment.__qualname__}.score must fill it"
        )
    return values


def split_replications(replications: range, threads: int) -> list[range]:
    """Split replications into pieces of whole groups of lanes, several pieces for each thread.

    Few replications make smaller pieces, so that every thread has one.
    """
    step = -(-len(replications) // (threads * _PIECES_PER_THREAD))
    # The compiled loop advances LANES replications side by side, and a smaller group takes as long.
    step = min(-(-step // LANES) * LANES, -(-len(replications) // threads))
    return [replications[i : i + step] for i in range(0, len(replications), step)]


def _simulate_in_this_thread(
    label: str, pieces: Sequence[Piece], total: int, report: Report | None
) -> None:
    """Simulate all pieces in this thread, where debuggers look: Python gains nothing by threads."""
    control, done = np.zeros(4, np.int64), 0
    for simulator, replications, values in pieces:
        control[:] = 0
        simulator.simulate(replications, values, control)
        done += int(control[ROUNDS_DONE])
        if report is not None:
            report(label, done, total)
    if report is not None:
        report(label, total, total)


def _simulate_in_threads(
    label: str, pieces: Sequence[Piece], threads: int, total: int, report: Report | None
) -> None:
    """Simulate all pieces in a thread pool; on Ctrl-C or an error stop all of them and raise."""
    # Each piece has a row, which only its own thread writes. A sum that is read meanwhile may be a
    # little late, so that no lock is needed.
    controls = np.zeros((len(pieces), 4), np.int64)
    tasks = [
        partial(simulator.simulate, replications, values, control)
        for (simulator, replications, values), control in zip(pieces, controls, strict=True)
    ]
    pool = DaemonThreadPool(tasks, threads)
    # The compiled loop releases the interpreter's lock. The main thread only waits, so that it can
    # take Ctrl-C at any time; Python delivers signals to no other thread.
    try:
        while not pool.wait_for_task(_POLL_SECONDS):
            if report is not None:
                report(label, int(controls[:, ROUNDS_DONE].sum()), total)
    except BaseException:
        controls[:, STOP] = 1
        if not pool.abandon(_GRACE_SECONDS):
            warnings.warn(
                f"a kernel of {pieces[0][0].policy} does not return: its thread is abandoned, and "
                "ends with the process",
                RuntimeWarning,
                stacklevel=5,
            )
        raise
    if report is not None:
        report(label, total, total)


class DaemonThreadPool:
    """A fixed set of tasks, run by daemon threads that start at once."""

    def __init__(self, tasks: Iterable[Task], size: int) -> None:
        self._tasks: SimpleQueue[Task] = SimpleQueue()
        self._results: SimpleQueue[BaseException | None] = SimpleQueue()
        self._stopped = Event()
        for task in tasks:
            self._tasks.put(task)
        self._left = self._tasks.qsize()
        self._threads: list[Thread] = []
        for _ in range(min(size, self._left, _MOST_THREADS)):
            thread = Thread(target=self._work, daemon=True)
            try:
                thread.start()
            except RuntimeError:  # the system allows no more
                if not self._threads:
                    raise
                break
            self._threads.append(thread)

    def _work(self) -> None:
        while not self._stopped.is_set():
            try:
                task = self._tasks.get_nowait()
            except Empty:
                return
            try:
                task()
            # Every task must put a result, or `wait_for_task` would wait for ever.
            except BaseException as error:
                self._results.put(error)
            else:
                self._results.put(None)

    def wait_for_task(self, seconds: float) -> bool:
        """Wait for one task to end and raise its error; return whether all tasks have ended."""
        try:
            error = self._results.get(timeout=seconds)
        except Empty:
            return False
        self._left -= 1
        if error is not None:
            raise error
        return self._left == 0

    def abandon(self, seconds: float) -> bool:
        """Begin no further task, and wait for those that run; return whether all threads ended.

        A further Ctrl-C ends the wait.
        """
        self._stopped.set()
        deadline = monotonic() + seconds
        try:
            for thread in self._threads:
                thread.join(max(0.0, deadline - monotonic()))
        except KeyboardInterrupt:
            return False  # Python 3.11 takes a thread for ended when the wait for it is interrupted
        return not any(thread.is_alive() for thread in self._threads)
