"""The simulator of one policy on one problem, which calls a compiled loop.

The loop is the engine, or, where decisions take time, that of several simulated workers.
"""

from bdb import BdbQuit
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from keyhole.contract.compiled_class import CompiledClass
from keyhole.contract.policy import Policy
from keyhole.contract.problem import environment_inputs
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.drivers import asynchronous, engine
from keyhole.kernels import tiered_execution
from keyhole.kernels.fingerprint import Kernel, is_own
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.interpreter.error_explanation import OutOfBoundsError
from keyhole.kernels.kernel_declaration import bounds_checked
from keyhole.kernels.tiered_execution import TieredFunction, interpret_first
from keyhole.play.plan import Plan
from keyhole.play.simulated_workers import SimulatedWorkers
from keyhole.validate import explain_memory_errors

# Rounds that are interpreted to estimate the duration of all, and the least duration of a round:
# a coarse clock may read 0.
_SAMPLE_ROUNDS: Final = 64
_LEAST_SECONDS: Final = 4e-6
_HOUR: Final = 3600.0

Sides = tuple[CompiledClass, CompiledClass]
"""The compiled classes of a policy and of its environment."""

Memory = Callable[[], tuple[Any, ...]]
"""Returns new working memory of a compiled loop."""


class EngineSimulator:
    """The compiled simulator of one policy on one problem, for any replication.

    `sides` are the compiled classes of the policy and the environment, which all runs of a policy
    share: to digest their sources takes longer than a short run. With `workers`, several decisions
    may be pending.
    """

    def __init__(
        self,
        plan: Plan,
        policy: Policy,
        horizon: int,
        checkpoints: Sequence[int],
        sides: Sides,
        workers: SimulatedWorkers | None = None,
    ) -> None:
        setting, (p_side, e_side) = plan.problem.setting, sides
        known = policy.numbers() | plan.facts(policy, horizon)
        truth = environment_inputs(plan.problem, horizon)
        sizes = p_sizes, e_sizes = p_side.sizes(known), e_side.sizes(truth)
        self.policy, self._interpreted = policy, plan.interpreted
        self._stopping = plan.stop_metrics_without_stop(policy, checkpoints)
        self.checkpoints = np.array(checkpoints, np.int64)
        may_be = plan.interpret_uncompiled and not plan.checked and workers is None
        # Only code that is known to compile is interpreted first: a user's kernel that does not
        # compile must be refused at once, not when the budget is spent.
        own = may_be and p_side.is_own and e_side.is_own and is_own(setting.allowed)
        with bounds_checked(plan.checked), interpreted(plan.interpreted), interpret_first(own):
            if workers is None:
                self.kernel: Kernel = engine.compiled_engine(setting, *sides)
                layout, durations = engine.memory_plan(*sides, *sizes), list[FloatArray]()
                metrics = e_side.metrics.size(e_sizes)
                self.memory: Memory = partial(engine.working_memory, layout, metrics)
            else:
                duration, mode = workers.duration, workers.pending_mode(policy)
                self.kernel = asynchronous.compiled_asynchronous_loop(
                    setting, *sides, duration.draw
                )
                # A policy that waits for feedback has one decision at a time, however many workers
                # there are.
                number = 1 if mode == "wait" else workers.number
                is_aged = getattr(duration, "aged", False)
                layout = asynchronous.memory_plan(
                    *sides, *sizes, workers=number, impute=mode == "impute", aged=is_aged
                )
                self.memory = partial(asynchronous.working_memory, layout)
                durations = [np.ascontiguousarray(duration.numbers, np.float64)]
        self.input: tuple[Any, ...] = (
            p_side.inputs.pack(known, p_sizes),
            sizes_vector(p_side, p_sizes),
            e_side.inputs.pack(truth, e_sizes),
            sizes_vector(e_side, e_sizes),
            layout,
            plan.wrong_verdicts(policy),
            *durations,
            np.uint64(plan.seed),
        )

    @property
    def is_interpreted(self) -> bool:
        """Whether Python runs the kernels."""
        return self._interpreted or isinstance(self.kernel, TieredFunction)

    def simulate(self, replications: range, out: FloatArray, control: IntArray) -> None:
        """Simulate some replications and write their metrics into `out`.

        `control` is shared with the compiled loop: it counts rounds, and is where it is stopped.
        """
        # `out` is a slice of an array that other threads write to. The compiled loop takes arrays
        # that are contiguous, so it fills one of its own, which is copied.
        with explain_memory_errors(f"the state of {self.policy}"):
            written = [i for i in range(out.shape[1]) if i not in self._stopping]
            part = np.empty((out.shape[0], len(written), out.shape[2]))
            memory = self.memory()
        first, last = replications.start, replications.stop
        try:
            self.kernel(*self.input, first, last, self.checkpoints, part, control, *memory)
        except (ValueError, TypeError, MemoryError, OutOfBoundsError, BdbQuit):
            raise  # they name what is wrong
        except Exception as error:
            kernel = f"a kernel of {self.policy} or of its environment"
            # Numba's own error; an IndexError that the kernel raises has another message.
            if isinstance(error, IndexError) and "out of bounds" in str(error):
                raise IndexError(f"{kernel} reads or writes beyond an array") from error
            text = ": ".join(filter(None, (type(error).__name__, str(error))))
            where = "".join(f", {note}" for note in getattr(error, "__notes__", ()))
            raise ValueError(f"{kernel} raised {text}{where}") from error
        if control[engine.REFUSED_ROUND] > 0:
            replication = control[engine.REFUSED_REPLICATION]
            where = f"round {control[engine.REFUSED_ROUND]} of replication {replication}"
            raise ValueError(self.policy.refusal(where))
        out[:, written] = part
        for place, values in self._stopping.items():
            out[:, place] = values[:, None]


def sizes_vector(compiled: CompiledClass, sizes: Mapping[str, int]) -> IntArray:
    """Return the array lengths of a compiled class, in the order of its dimensions."""
    return np.array([sizes[name] for name in compiled.dims] or [0], np.int64)


def compile_if_long(simulators: Sequence[EngineSimulator], replications: range) -> None:
    """Compile what is interpreted for now, if interpreting it would exceed the time budget.

    The duration is estimated from the first rounds of one replication.
    """
    estimated = 0.0
    begun = [(one, one.kernel) for one in simulators if isinstance(one.kernel, TieredFunction)]
    for simulator, kernel in begun:
        seconds = _seconds_of_a_round(simulator, kernel, replications.start)
        estimated += seconds * len(replications) * int(simulator.checkpoints[-1])
        if kernel.budget.seconds + estimated > tiered_execution.BUDGET:
            break
    else:
        return
    for simulator, kernel in begun:
        simulator.kernel = kernel.compiled()


def _seconds_of_a_round(
    simulator: EngineSimulator, kernel: TieredFunction, replication: int
) -> float:
    """Return the duration of an interpreted round; an hour if it cannot be measured."""
    rounds = min(_SAMPLE_ROUNDS, int(simulator.checkpoints[-1]))
    control, out = np.zeros(4, np.int64), np.empty((1, 1, 1))
    checkpoints, last = np.array([rounds], np.int64), replication + 1
    # The budget counts processor time of this thread, so that a loaded machine compiles no more
    # often.
    before = kernel.budget.seconds
    try:
        kernel(*simulator.input, replication, last, checkpoints, out, control, *simulator.memory())
    except Exception:  # the simulation itself raises it, with the replication's number
        return _HOUR
    return max(_LEAST_SECONDS, (kernel.budget.seconds - before) / rounds)
