"""An environment (simulator of what comes of decisions) that is played step by step in Python."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import compiled_environment
from keyhole.contract.problem import Problem, environment_inputs, metrics_for
from keyhole.contract.state_arrays import allocate
from keyhole.drivers.interactive_environment_step import (
    INIT,
    OBSERVE,
    RESPOND,
    SCORE,
    compiled_environment_step,
)
from keyhole.play.learner import Learner


class InteractiveEnvironment:
    """The environment of one replication, for decisions that are taken outside of it.

    It runs the same kernels as `keyhole.simulate`, on the same random numbers: a learner with the
    same seed and replication takes exactly the decisions of the simulation. `horizon` is needed if
    the problem depends on the rounds of the run.
    """

    def __init__(
        self, problem: Problem, *, seed: int = 0, replication: int = 0, horizon: int | None = None
    ) -> None:
        side = compiled_environment(problem.environment)
        truth = environment_inputs(problem, horizon)
        self.metrics = tuple(metric.name for metric in metrics_for(problem, details=True))
        self.rounds = 0
        self._cells, self._plan, parts = allocate(
            (side.inputs, side.state, *side.records.layouts, side.metrics),
            side.dims,
            side.sizes(truth),
        )
        inputs, self._state, self.context, self.decision, self.feedback = parts[:5]
        self._report, self._metrics = parts[5:]
        for name, view in inputs.items():
            view[...] = truth[name]
        # The first call of the compiled step turns seed and replication into a stream.
        self._rng = np.array([seed, replication], np.uint64)
        self._step = compiled_environment_step(side)
        self._run(INIT)

    def _run(self, what: int) -> None:
        self._step(self._cells, self._plan, self._rng, self.rounds, what)

    def observe(self) -> dict[str, NDArray[Any]]:
        """Begin a round and return its context, which is empty if the setting has none."""
        self.rounds += 1
        self._run(OBSERVE)
        return self.context

    def respond(self, decision: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Return the feedback to a decision."""
        for name, view in self.decision.items():
            view[...] = decision[name]
        self._run(RESPOND)
        return self.feedback

    def ask(self, learner: Learner) -> None:
        """Begin a round with a learner: show it the context and have it decide."""
        for name, value in self.observe().items():
            learner._context[name][...] = value
        learner._ask()

    def tell(self, learner: Learner) -> None:
        """End a round with a learner: tell it the feedback to its decision."""
        for name, value in self.respond(learner._decision).items():
            learner._feedback[name][...] = value
        learner._tell()

    def play_round(self, learner: Learner) -> None:
        """Play one round with a learner."""
        self.ask(learner)
        self.tell(learner)

    def score(self, report: Mapping[str, Any]) -> dict[str, float]:
        """Return all metrics as of now, details too, given what a learner recommends.

        What is left out stays as it was, at first 0.
        """
        for name, view in self._report.items():
            view[...] = report.get(name, view)
        self._run(SCORE)
        numbers = np.concatenate(list(self._metrics.values())).tolist()
        return dict(zip(self.metrics, numbers, strict=True))
