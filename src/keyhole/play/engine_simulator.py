"""One policy in one world, played by several threads."""

import warnings
from bdb import BdbQuit
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final, Protocol

import numpy as np

from keyhole.contract.compiled_class import Component, environment_component, policy_component
from keyhole.contract.environment import Problem, true_values
from keyhole.contract.policy import Policy
from keyhole.contract.state_memory import FloatArray, IntArray
from keyhole.drivers.engine import (
    LANES,
    REFUSED_REPLICATION,
    REFUSED_ROUND,
    ROUNDS_DONE,
    STOP,
    compiled_engine,
    memory_plan,
    working_memory,
)
from keyhole.kernels.execution import interpreted
from keyhole.kernels.fingerprint import Kernel, is_own
from keyhole.kernels.first_use import FirstUse, interpreted_at_first
from keyhole.kernels.interpreter.faults import OutOfBoundsError
from keyhole.kernels.jit import bounds_checked
from keyhole.play.progress import Report
from keyhole.play.thread_pool import DaemonThreadPool
from keyhole.validate import check_memory

# Pieces of work a thread gets for one policy: enough that threads finish together.
_PIECES_PER_THREAD: Final = 8
_POLL_SECONDS: Final = 0.1
# What a round may take after Ctrl-C; a kernel that takes longer may never end.
_GRACE_SECONDS: Final = 2.0


class SimulationPlan(Protocol):
    """What a simulator asks of an experiment: see `keyhole.play.plan.Plan`."""

    @property
    def problem(self) -> Problem:
        """The instance."""

    @property
    def seed(self) -> int:
        """Of all randomness."""

    @property
    def checked(self) -> bool:
        """Whether every index is checked."""

    @property
    def interpreted(self) -> bool:
        """Whether Python runs the kernels."""

    @property
    def interpret_uncompiled(self) -> bool:
        """Whether Python plays what takes less than a moment, and is not compiled yet."""

    def facts(self, policy: Policy, horizon: int) -> dict[str, Any]:
        """Return what a policy is told."""


class EngineSimulator:
    """One policy in one world, compiled and ready to play any replication."""

    def __init__(
        self, plan: SimulationPlan, policy: Policy, horizon: int, checkpoints: Sequence[int]
    ) -> None:
        problem = plan.problem
        p_side, w_side = policy_component(type(policy)), environment_component(problem.environment)
        known = policy.numbers() | plan.facts(policy, horizon)
        truth = true_values(problem, horizon)
        p_sizes, w_sizes = p_side.sizes(known), w_side.sizes(truth)
        self.policy, self._interpreted = policy, plan.interpreted
        self.measured = w_side.metrics.size(w_sizes)
        self.checkpoints = np.array(checkpoints, np.int64)
        may_be = plan.interpret_uncompiled and not plan.checked
        own = may_be and p_side.is_own and w_side.is_own and is_own(problem.setting.allowed)
        with bounds_checked(plan.checked), interpreted(plan.interpreted), interpreted_at_first(own):
            self.kernel: Kernel = compiled_engine(problem.setting, p_side, w_side)
        self.input: tuple[Any, ...] = (
            p_side.inputs.pack(known, p_sizes),
            vector_of(p_side, p_sizes),
            w_side.inputs.pack(truth, w_sizes),
            vector_of(w_side, w_sizes),
            memory_plan(p_side, w_side, p_sizes, w_sizes),
            np.uint64(plan.seed),
        )

    @property
    def is_interpreted(self) -> bool:
        """Whether Python runs the kernels."""
        return self._interpreted or isinstance(self.kernel, FirstUse)

    def memory(self) -> tuple[Any, ...]:
        """Return what the compiled loop works in."""
        return working_memory(self.input[4], self.measured)

    def play(self, piece: range, out: FloatArray, control: IntArray) -> None:
        """Play some replications into `out`."""
        with check_memory(f"the state of {self.policy}"):
            part = np.empty(out.shape)
            memory = self.memory()
        first, last = piece.start, piece.stop
        try:
            self.kernel(*self.input, first, last, self.checkpoints, part, control, *memory)
        except (ValueError, TypeError, MemoryError, OutOfBoundsError, BdbQuit):
            raise  # in words of its own
        except Exception as error:
            whose = f"a kernel of {self.policy} or of its world"
            if isinstance(error, IndexError) and "out of bounds" in str(error):  # not its own
                raise IndexError(f"{whose} reads or writes beyond an array") from error
            words = ": ".join(filter(None, (type(error).__name__, str(error))))
            where = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
            raise ValueError(f"{whose} raised {words}{where}") from error
        if control[REFUSED_ROUND] > 0:
            where = f"round {control[REFUSED_ROUND]} of replication {control[REFUSED_REPLICATION]}"
            raise ValueError(self.policy.refusal(where))
        out[...] = part


def vector_of(component: Component, sizes: Mapping[str, int]) -> IntArray:
    """Return the integers that shapes refer to, in their order."""
    return np.array([sizes[name] for name in component.dims] or [0], np.int64)


def split_replications(replications: range, threads: int) -> list[range]:
    """Return replications in pieces of whole groups of lanes, several for each thread.

    Few replications make smaller groups, so that no thread is left without.
    """
    step = -(-len(replications) // (threads * _PIECES_PER_THREAD))
    step = min(-(-step // LANES) * LANES, -(-len(replications) // threads))
    return [replications[i : i + step] for i in range(0, len(replications), step)]


Work = list[tuple[EngineSimulator, range, FloatArray]]


def simulate_in_this_thread(
    label: str, work: Work, origin: int, threads: int, total: int, report: Report | None
) -> None:
    """Play all pieces one after the other, where debuggers look; threads would bring nothing."""
    control, done = np.zeros(4, np.int64), 0
    for simulator, piece, values in work:
        control[:] = 0
        simulator.play(piece, values[:, :, piece.start - origin : piece.stop - origin], control)
        done += int(control[ROUNDS_DONE])
        if report is not None:
            report(label, done, total)
    if report is not None:
        report(label, total, total)


def simulate_in_threads(
    label: str,
    work: Work,
    origin: int,
    threads: int,
    total: int,
    report: Report | None,
) -> None:
    """Play all pieces; on Ctrl-C or an error, stop those that run and raise."""
    controls = np.zeros((len(work), 4), np.int64)
    tasks = [
        partial(
            simulator.play, piece, values[:, :, piece.start - origin : piece.stop - origin], control
        )
        for (simulator, piece, values), control in zip(work, controls, strict=True)
    ]
    pool = DaemonThreadPool(tasks, threads)
    # The main thread only waits: it stays free to take Ctrl-C while compiled code runs.
    try:
        while not pool.completed(_POLL_SECONDS):
            if report is not None:
                report(label, int(controls[:, ROUNDS_DONE].sum()), total)
    except BaseException:
        controls[:, STOP] = 1
        if not pool.abandon(_GRACE_SECONDS):
            warnings.warn(
                f"a kernel of {work[0][0].policy} does not return: its thread is left behind, and "
                "ends with the process",
                RuntimeWarning,
                stacklevel=5,
            )
        raise
    if report is not None:
        report(label, total, total)
