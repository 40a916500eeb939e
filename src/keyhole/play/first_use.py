"""What Python begins, in a learner or a simulation, and when it is compiled."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Final
from weakref import ref

import numpy as np

from keyhole.contract.compiled_class import Component
from keyhole.drivers.policy_step import compiled_step
from keyhole.kernels import first_use
from keyhole.kernels.execution import interpreted
from keyhole.kernels.fingerprint import Kernel, is_own
from keyhole.kernels.first_use import FirstUse, interpreted_at_first
from keyhole.kernels.jit import bounds_checked

if TYPE_CHECKING:
    from keyhole.play.engine_simulator import EngineSimulator
    from keyhole.play.learner import Learner

# So many rounds are played to foresee how long all take. None takes less than this: a clock may be
# coarse.
_SAMPLE_ROUNDS: Final = 64
_LEAST_SECONDS: Final = 4e-6
_HOUR: Final = 3600.0


def find_step(learner: Learner, side: Component, checked: bool) -> Kernel:
    """Return the step of a learner's policy; `checked` says whether every index is to be checked.

    Where Python begins, the learner calls the machine code itself once there is any.
    """
    setting, wanted = learner.policy.setting, learner._interpreted
    may_be = wanted is None and not checked
    at_first = interpreted_at_first(may_be and side.is_own and is_own(setting.allowed))
    with bounds_checked(checked), interpreted(bool(wanted)), at_first:
        step = compiled_step(side, setting)
    if isinstance(step, FirstUse):
        step.when_compiled = partial(_take_step, ref(learner))
    return step


def _take_step(learner: ref[Learner], step: Kernel) -> None:
    if (found := learner()) is not None:
        found._step = step


def compile_if_long(simulators: Sequence[EngineSimulator], replications: range) -> None:
    """Compile what Python is to play at first only, if it would take more than its budget.

    How long that takes is foreseen from the first rounds of one replication.
    """
    foreseen = 0.0
    begun = [(one, one.kernel) for one in simulators if isinstance(one.kernel, FirstUse)]
    for simulator, kernel in begun:
        seconds = _seconds_of_a_round(simulator, kernel, replications.start)
        foreseen += seconds * len(replications) * int(simulator.checkpoints[-1])
        if kernel.account.seconds + foreseen > first_use.BUDGET:
            break
    else:
        return
    for simulator, kernel in begun:
        simulator.kernel = kernel.compiled()


def _seconds_of_a_round(simulator: EngineSimulator, kernel: FirstUse, replication: int) -> float:
    """Return how long a round takes that Python plays; an hour where that cannot be said."""
    rounds = min(_SAMPLE_ROUNDS, int(simulator.checkpoints[-1]))
    control, out = np.zeros(4, np.int64), np.empty((1, 1, 1))
    checkpoints, last = np.array([rounds], np.int64), replication + 1
    before = kernel.account.seconds
    try:
        kernel(*simulator.input, replication, last, checkpoints, out, control, *simulator.memory())
    except Exception:  # to be raised when it is played, if it is raised then
        return _HOUR
    return max(_LEAST_SECONDS, (kernel.account.seconds - before) / rounds)
