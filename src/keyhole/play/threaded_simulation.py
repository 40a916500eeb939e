"""Simulators of the policies of a plan, the threads that run them, and their measured speed."""

import math
import warnings
from bdb import BdbQuit
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from time import perf_counter
from typing import Any, Final

import numpy as np

from keyhole.contract.kernel_compilation import CompiledClass, compiled_environment, compiled_policy
from keyhole.contract.policy import Policy
from keyhole.contract.problem import environment_inputs
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.drivers import engine, worker_simulation
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.interpreter.error_explanation import OutOfBoundsError
from keyhole.kernels.kernel_decorators import bounds_checked
from keyhole.kernels.tiered_execution import BUDGET, TieredFunction, interpret_first
from keyhole.play.policy_trial import refuse_unnoticed_faults
from keyhole.play.progress import Report
from keyhole.play.simulation_plan import Plan, SimulatedWorkers
from keyhole.play.thread_pool import DaemonThreadPool, Task
from keyhole.validation import explain_memory_errors

# Threads finish at about the same time if each gets several pieces of work.
_PIECES_PER_THREAD: Final = 8
_POLL_SECONDS: Final = 0.1
# After Ctrl-C, threads have this time to end the rounds that they play. A thread that takes longer
# may never end: no signal can interrupt machine code.
_GRACE_SECONDS: Final = 2.0
# Rounds that are interpreted to estimate the duration of all rounds.
_SAMPLE_ROUNDS: Final = 64
# The least duration of an interpreted round, for which a coarse clock may show 0.
_LEAST_SECONDS: Final = 4e-6
_HOUR: Final = 3600.0
FIRST_ROUNDS: Final = 1_000_000
"""Rounds of a job's first block, some 30 ms of work: its speed sizes the job's other blocks."""
# If a simulation takes longer than the measurement should, it is measured for 3 times that time.
_LONG_SIMULATION_FACTOR: Final = 3.0
_STUCK_SECONDS: Final = 30.0  # if no round ends in this time, a kernel may loop for ever
_LEAST_POWER: Final = 1.15  # time that grows as a lower power of the rounds counts as linear
_MOST_POWER: Final = 2.0


class EngineSimulator:
    """The simulator of one policy on one problem, for any replication.

    A policy may need several simulators (`Plan.list_simulations`). They share `compiled`, the
    compiled classes of policy and environment, because digesting their sources takes longer than a
    short simulation. With `workers`, several decisions may be pending.
    """

    def __init__(
        self,
        plan: Plan,
        policy: Policy,
        horizon: int,
        checkpoints: Sequence[int],
        compiled: tuple[CompiledClass, CompiledClass],
        workers: SimulatedWorkers | None = None,
    ) -> None:
        setting = plan.problem.setting
        policy_class, environment_class = compiled
        input_values = policy.numbers() | plan.facts(policy, horizon)
        truth = environment_inputs(plan.problem, horizon)
        policy_sizes = policy_class.sizes(input_values)
        environment_sizes = environment_class.sizes(truth)
        sizes = policy_sizes, environment_sizes
        self.policy = policy
        self._interpreted = plan.interpreted
        self._unsimulated_metrics = plan.unsimulated_metrics(policy, checkpoints)
        self.checkpoints = np.array(checkpoints, np.int64)
        may_interpret = plan.interpret_uncompiled and not plan.checked and workers is None
        # Only code that is known to compile is interpreted first. A user's kernel that does not
        # compile must be refused at once, not when the time budget is spent.
        tiering = interpret_first(may_interpret and all(each.is_shipped for each in compiled))
        with bounds_checked(plan.checked), interpreted(plan.interpreted), tiering:
            if workers is None:
                self.kernel: Kernel = engine.compiled_engine(setting, *compiled)
                memory_plan = engine.memory_plan(*compiled, *sizes)
                metric_cells = environment_class.metrics.size(environment_sizes)
                self.allocate_memory: Callable[[], tuple[Any, ...]] = partial(
                    engine.make_memory, memory_plan, metric_cells
                )
            else:
                duration = workers.duration
                mode = workers.pending_mode(policy)
                self.kernel = worker_simulation.compiled_asynchronous_loop(
                    setting, *compiled, duration.draw
                )
                # A policy that waits for feedback has one decision at a time, however many workers
                # there are.
                worker_count = 1 if mode == "wait" else workers.number
                uses_ages = getattr(duration, "age_bounds_feedback", False)
                memory_plan = worker_simulation.memory_plan(
                    *compiled, *sizes, workers=worker_count, impute=mode == "impute", ages=uses_ages
                )
                numbers = np.ascontiguousarray(duration.numbers, np.float64)
                self.allocate_memory = partial(worker_simulation.make_memory, memory_plan, numbers)
        # The first of `engine.ARGUMENTS`, where the added zeros are explained.
        self.kernel_input: tuple[Any, ...] = (
            policy_class.inputs.pack(input_values, policy_sizes),
            np.array([*policy_sizes.values(), 0], np.int64),
            environment_class.inputs.pack(truth, environment_sizes),
            np.array([*environment_sizes.values(), 0], np.int64),
            memory_plan,
            plan.wrong_verdicts(policy),
            np.uint64(plan.seed),
        )

    @property
    def is_interpreted(self) -> bool:
        """Whether Python runs the kernels."""
        return self._interpreted or isinstance(self.kernel, TieredFunction)

    def simulate(self, replications: range, out: FloatArray, control: IntArray) -> None:
        """Simulate some replications and write their metrics into `out`.

        In `control`, the kernel counts rounds, and other threads may ask it to stop.
        """
        # `out` is a slice of an array that other threads write to, and is not contiguous. But the
        # kernel takes only contiguous arrays, so it fills `values`, which is then copied.
        with explain_memory_errors(f"the state of {self.policy}"):
            positions = [i for i in range(out.shape[1]) if i not in self._unsimulated_metrics]
            values = np.empty((out.shape[0], len(positions), out.shape[2]))
            memory = self.allocate_memory()
        start, stop = replications.start, replications.stop
        try:
            self.kernel(*self.kernel_input, start, stop, self.checkpoints, values, control, *memory)
        except (ValueError, TypeError, MemoryError, OutOfBoundsError, BdbQuit):
            raise  # their messages name the cause
        except Exception as error:
            kernel = f"a kernel of {self.policy} or of its environment"
            # This message is Numba's. An IndexError that the kernel raises has another message.
            if isinstance(error, IndexError) and "out of bounds" in str(error):
                raise IndexError(f"{kernel} reads or writes beyond an array") from error
            text = ": ".join(filter(None, (type(error).__name__, str(error))))
            notes = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
            raise ValueError(f"{kernel} raised {text}{notes}") from error
        if control[engine.REFUSED_ROUND] > 0:
            replication = control[engine.REFUSED_REPLICATION]
            round_text = f"round {control[engine.REFUSED_ROUND]} of replication {replication}"
            raise ValueError(self.policy.refusal(round_text))
        out[:, positions] = values
        for i, metric_values in self._unsimulated_metrics.items():
            out[:, i] = metric_values[:, None]


def compile_if_long(simulators: Sequence[EngineSimulator], replications: range) -> None:
    """Compile kernels that are not compiled yet if interpreting them would exceed the time budget.

    The duration is estimated from the first rounds of one replication.
    """
    estimated_seconds = 0.0
    tiered_kernels = [(s, s.kernel) for s in simulators if isinstance(s.kernel, TieredFunction)]
    for simulator, kernel in tiered_kernels:
        seconds = _time_interpreted_round(simulator, kernel, replications.start)
        estimated_seconds += seconds * len(replications) * int(simulator.checkpoints[-1])
        if kernel.budget.used_seconds + estimated_seconds > BUDGET:
            break
    else:
        return
    for simulator, kernel in tiered_kernels:
        simulator.kernel = kernel.compile_function()


def _time_interpreted_round(
    simulator: EngineSimulator, kernel: TieredFunction, replication: int
) -> float:
    """Return the seconds of an interpreted round; an hour if the round raises an error."""
    rounds = min(_SAMPLE_ROUNDS, int(simulator.checkpoints[-1]))
    control = np.zeros(4, np.int64)
    out = np.empty((1, 1, 1))
    checkpoints = np.array([rounds], np.int64)
    stop = replication + 1
    # The budget counts processor time of this thread, so that a busy machine does not compile more
    # often than an idle one.
    seconds_before = kernel.budget.used_seconds
    try:
        memory = simulator.allocate_memory()
        kernel(*simulator.kernel_input, replication, stop, checkpoints, out, control, *memory)
    except Exception:  # the simulation itself will raise it, with the replication's number
        return _HOUR
    return max(_LEAST_SECONDS, (kernel.budget.used_seconds - seconds_before) / rounds)


def make_simulators(plan: Plan, label: str) -> list[EngineSimulator]:
    """Return the simulators of a policy, compiled unless Python may run their kernels.

    There is a simulator for each entry of `Plan.list_simulations`.

    A user's policy also plays a short trial in Python, which refuses errors that compiled code does
    not notice. There is no trial if every index is checked or Python runs the policy anyway.
    """
    policy = plan.policies[label]
    compiled = compiled_policy(type(policy)), compiled_environment(plan.problem.environment)
    simulators = [
        EngineSimulator(plan, policy, horizon, checkpoints, compiled, plan.workers.get(label))
        for horizon, checkpoints in plan.list_simulations(policy)
    ]
    if not (plan.checked or plan.interpreted):
        refuse_unnoticed_faults(plan, label, compiled[0])
    return simulators


def simulate_replications(
    plan: Plan, label: str, replications: range, *, threads: int, report: Report | None = None
) -> FloatArray:
    """Simulate some replications of a policy.

    The result has the shape (checkpoints, metrics, replications).
    """
    policy = plan.policies[label]
    simulators = make_simulators(plan, label)
    sizes = [len(simulator.checkpoints) for simulator in simulators]
    with explain_memory_errors(f"replications = {len(replications)}"):
        values = np.empty((sum(sizes), len(plan.metrics), len(replications)))
    # Each simulator writes to a view of this array: to the simulator's own checkpoints.
    views = np.split(values, np.cumsum(sizes)[:-1])
    start = replications.start
    pieces = [
        (simulator, piece, view[:, :, piece.start - start : piece.stop - start])
        for simulator, view in zip(simulators, views, strict=True)
        for piece in split_replications(replications, threads)
    ]
    compile_if_long(simulators, replications)
    # Each piece has a row of `controls`, in which only its own thread counts rounds. No lock is
    # needed, since a sum of rounds that is read meanwhile may be a little late.
    controls = np.zeros((len(pieces), 4), np.int64)
    tasks = [
        partial(simulator.simulate, piece, view, control)
        for (simulator, piece, view), control in zip(pieces, controls, strict=True)
    ]
    total = plan.rounds_per_replication(policy) * len(replications)

    def report_progress() -> None:
        if report is not None:
            report(label, int(controls[:, engine.ROUNDS_DONE].sum()), total)

    if any(simulator.is_interpreted for simulator in simulators):
        for task in tasks:  # in this thread, for debuggers; threads would not make Python faster
            task()
            report_progress()
    else:
        _run_tasks_in_threads(policy, tasks, threads, controls, report_progress)
    if report is not None:
        report(label, total, total)
    if not np.isfinite(values).all():
        name = plan.metrics[np.isfinite(values).all(axis=(0, 2)).argmin()]
        raise ValueError(
            f"{policy} led to a metric, {name}, that is not a finite number: "
            f"{plan.problem.environment.__qualname__}.score must fill it"
        )
    return values


def split_replications(replications: range, threads: int) -> list[range]:
    """Split replications into pieces of whole groups of `LANES`, several pieces for each thread.

    Few replications are split into smaller pieces, so that every thread has one.
    """
    step = -(-len(replications) // (threads * _PIECES_PER_THREAD))
    # The compiled loop plays LANES replications in turn, and a smaller group takes as long.
    step = min(-(-step // engine.LANES) * engine.LANES, -(-len(replications) // threads))
    return [replications[i : i + step] for i in range(0, len(replications), step)]


def _run_tasks_in_threads(
    policy: Policy, tasks: Sequence[Task], threads: int, controls: IntArray, report_progress: Task
) -> None:
    """Run all tasks in a thread pool; on Ctrl-C or an error, stop all tasks and raise it."""
    pool = DaemonThreadPool(tasks, threads)
    # The compiled loop releases the interpreter's lock. The main thread only waits, so that it can
    # take Ctrl-C at any time; Python delivers signals to no other thread.
    try:
        while not pool.wait_for_next(_POLL_SECONDS):
            report_progress()
    except BaseException:
        controls[:, engine.STOP] = 1
        if not pool.shut_down(_GRACE_SECONDS):
            warnings.warn(
                f"a kernel of {policy} does not return: its thread is abandoned, and ends with the "
                "process",
                RuntimeWarning,
                stacklevel=5,
            )
        raise


class _TimeIsUpError(Exception):
    """An exception that ends a measurement."""


def measure_seconds_per_round(
    plan: Plan,
    label: str,
    seconds: float,
    *,
    replications: int,
    threads: int = 1,
    clock: Callable[[], float] = perf_counter,
) -> float:
    """Simulate a policy for some seconds; return the elapsed time, divided by all threads' rounds.

    Compilation does not count. If the simulation takes longer than `seconds`, only its beginning is
    measured. If rounds get slower in this beginning, the rest is estimated: time is assumed to grow
    as the power of the rounds that fits the beginning. The result is infinite if no round ends
    within half a minute.

    Parameters
    ----------
    plan : Plan
        The experiment.
    label : str
        The label of the policy.
    seconds : float
        About how long to simulate.
    replications : int
        The number of replications of the simulation. At most so many are simulated at once.
    threads : int, default 1
        The number of threads that run at once, which slow each other down.
    clock : callable, optional
        Returns the time in seconds.
    """
    make_simulators(plan, label)  # compile before the clock starts
    rounds = plan.rounds_per_replication(plan.policies[label])
    full_size = engine.LANES * threads
    count = min(replications, max(1, FIRST_ROUNDS // (rounds * full_size)) * full_size)
    group_size = min(count, full_size)  # replications of a group advance together, round by round
    trace = [(0.0, 0)]
    start = clock()
    rounds_before = 0

    def add_to_trace(_label: str, rounds_of_call: int, _total: int) -> None:
        elapsed = clock() - start
        rounds_done = rounds_before + rounds_of_call
        trace.append((elapsed, rounds_done))
        # Later rounds may be slower, so the beginning of a long simulation is measured for longer.
        in_first_group = rounds_done < group_size * rounds
        limit = _LONG_SIMULATION_FACTOR * seconds if in_first_group else seconds
        if elapsed >= (limit if rounds_done else _STUCK_SECONDS):
            raise _TimeIsUpError

    with suppress(_TimeIsUpError):
        while clock() - start < seconds:
            simulate_replications(plan, label, range(count), threads=threads, report=add_to_trace)
            rounds_before += count * rounds
    return _extrapolate_seconds_per_round(trace, group_size * rounds)


def _extrapolate_seconds_per_round(trace: list[tuple[float, int]], group_rounds: int) -> float:
    """Extrapolate pairs (seconds, rounds) to all rounds of a group; return seconds per round."""
    seconds, rounds = trace[-1]
    if not rounds:
        return math.inf
    # Time is assumed to grow as a power of the rounds. The exponent is the slope of log(time) over
    # log(rounds), from half of the rounds to the last one.
    first_half = [(s, n) for s, n in trace if 0 < n <= rounds / 2]
    if rounds >= group_rounds or not first_half:
        return seconds / rounds
    power = math.log(seconds / first_half[-1][0]) / math.log(rounds / first_half[-1][1])
    power = min(power, _MOST_POWER) if power > _LEAST_POWER else 1.0
    return float(seconds / rounds * (group_rounds / rounds) ** (power - 1.0))
