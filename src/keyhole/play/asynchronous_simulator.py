"""The simulator of one policy for several workers, so that several decisions await their outcome.

A policy is a rule that chooses among options, and learns from what comes of each choice.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.problem import environment_inputs
from keyhole.drivers.asynchronous import (
    compiled_asynchronous_loop,
    memory_plan,
    working_memory,
)
from keyhole.kernels.interpreted_mode import interpreted
from keyhole.kernels.kernel_declaration import bounds_checked
from keyhole.play.engine_simulator import EngineSimulator, Sides, sizes_vector
from keyhole.play.plan import Plan
from keyhole.play.simulated_workers import SimulatedWorkers


class AsynchronousSimulator(EngineSimulator):
    """The compiled simulator of one policy on one problem with simulated workers."""

    def __init__(
        self,
        plan: Plan,
        policy: Policy,
        horizon: int,
        checkpoints: Sequence[int],
        sides: Sides,
        workers: SimulatedWorkers,
    ) -> None:
        problem = plan.problem
        p_side, e_side = sides
        known = policy.numbers() | plan.facts(policy, horizon)
        truth = environment_inputs(problem, horizon)
        p_sizes, e_sizes = p_side.sizes(known), e_side.sizes(truth)
        self.policy, self._interpreted = policy, plan.interpreted
        self._stopping = plan.stop_metrics_without_stop(policy, checkpoints)
        self.checkpoints = np.array(checkpoints, np.int64)
        pending_mode = workers.pending_mode(policy)
        with bounds_checked(plan.checked), interpreted(plan.interpreted):
            self.kernel = compiled_asynchronous_loop(
                problem.setting, p_side, e_side, workers.duration.draw
            )
        # A policy that waits for feedback has one decision at a time, however many workers there
        # are.
        layout = memory_plan(
            p_side, e_side, p_sizes, e_sizes,
            workers=1 if pending_mode == "wait" else workers.number,
            impute=pending_mode == "impute",
            aged=getattr(workers.duration, "aged", False),
        )  # fmt: skip
        self.input = (
            p_side.inputs.pack(known, p_sizes),
            sizes_vector(p_side, p_sizes),
            e_side.inputs.pack(truth, e_sizes),
            sizes_vector(e_side, e_sizes),
            layout,
            plan.wrong_verdicts(policy),
            np.ascontiguousarray(workers.duration.numbers, np.float64),
            np.uint64(plan.seed),
        )
        self._layout = layout

    def memory(self) -> tuple[Any, ...]:
        """Return new working memory of the compiled loop."""
        return working_memory(self._layout)
