"""Interpretation of policies (rules that choose) that are not compiled yet, until that would pay.

Compiling takes seconds, in which Python plays thousands of rounds; the results are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import ref

import numpy as np

from keyhole.contract.compiled_class import CompiledClass
from keyhole.drivers.learner_step import compiled_step
from keyhole.kernels import tiered_execution
from keyhole.kernels.fingerprint import Kernel, is_own
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.kernel_declaration import bounds_checked
from keyhole.kernels.tiered_execution import TieredFunction, interpret_first

if TYPE_CHECKING:
    from keyhole.play.engine_simulator import EngineSimulator
    from keyhole.play.learner import Learner

# Rounds that are interpreted to estimate the duration of all, and the least duration of a round:
# a coarse clock may read 0.
_SAMPLE_ROUNDS: Final = 64
_LEAST_SECONDS: Final = 4e-6
_HOUR: Final = 3600.0


def find_step(learner: Learner, side: CompiledClass, checked: bool) -> Kernel:
    """Return the step of a learner's policy; `checked` says whether every index is to be checked.

    If it is interpreted at first, the learner's step is replaced once machine code exists.
    """
    setting, wanted = learner.policy.setting, learner._interpreted
    may_be = wanted is None and not checked
    at_first = interpret_first(may_be and side.is_own and is_own(setting.allowed))
    with bounds_checked(checked), interpreted(bool(wanted)), at_first:
        step = compiled_step(side, setting)
    # A weak reference: the learner holds the step, and the two would form a cycle, which keeps a
    # learner's memory until the garbage collector finds it.
    if isinstance(step, TieredFunction):
        step.when_compiled = partial(_take_step, ref(learner))
    return step


def _take_step(learner: ref[Learner], step: Kernel) -> None:
    if (found := learner()) is not None:
        found._step = step


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
