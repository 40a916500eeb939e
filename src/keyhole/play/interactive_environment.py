"""The interactive environment, which Python plays step by step."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.contract import kernel_compilation
from keyhole.contract.problem import Problem, environment_inputs, metrics_for
from keyhole.contract.state_arrays import allocate
from keyhole.draws.streams import ENVIRONMENT, stream_key
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_decorators import numba_signature
from keyhole.play.learner import Learner
from keyhole.validation import DEFAULT_SEED

Arrays = dict[str, NDArray[Any]]

_INIT, _OBSERVE, _RESPOND, _SCORE = range(4)

_SIGNATURE: Final = numba_signature(
    "void",
    "float64[::1]",  # all memory: inputs, state, context, decision, feedback, report, metrics
    "int64[::1]",  # the memory plan: where each of these begins, then the array lengths
    "uint64[::1]",  # the environment's random stream
    "int64",  # round
    "int64",  # the operation
)


class InteractiveEnvironment:
    """The environment of one replication, for decisions that are taken outside of it.

    It runs the same kernels as `keyhole.simulate`, on the same random numbers. So a learner with
    the same seed and replication takes exactly the decisions of the simulation. `horizon` is needed
    if the problem depends on the number of rounds.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        seed: int = DEFAULT_SEED,
        replication: int = 0,
        horizon: int | None = None,
    ) -> None:
        compiled = kernel_compilation.compiled_environment(problem.environment)
        truth = environment_inputs(problem, horizon)
        self.metrics = tuple(metric.name for metric in metrics_for(problem, details=True))
        self.rounds = 0
        self._cells, self._memory_plan, views = allocate(
            (compiled.inputs, compiled.state, *compiled.records.layouts, compiled.metrics),
            compiled.dims,
            compiled.sizes(truth),
        )
        inputs, self._state, self.context, self.decision, self.feedback = views[:5]
        self._report, self._metrics = views[5:]
        for name, view in inputs.items():
            view[...] = truth[name]
        # The first call of the compiled step turns seed and replication into a stream.
        self._rng = np.array([seed, replication], np.uint64)
        self._step = _compiled_step(compiled)
        self._run_step(_INIT)

    def _run_step(self, operation: int) -> None:
        self._step(self._cells, self._memory_plan, self._rng, self.rounds, operation)

    def observe(self) -> Arrays:
        """Begin a round and return its context, which is empty if the setting has none."""
        self.rounds += 1
        self._run_step(_OBSERVE)
        return self.context

    def respond(self, decision: Mapping[str, ArrayLike]) -> Arrays:
        """Return the feedback to a decision."""
        for name, view in self.decision.items():
            view[...] = decision[name]
        self._run_step(_RESPOND)
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

    def score(self, report: Mapping[str, ArrayLike | None]) -> dict[str, float]:
        """Return all metrics after this round, details included, given a recommendation.

        A value that `report` lacks stays as it was in the last call, and is 0 at first.
        """
        for name, view in self._report.items():
            view[...] = report.get(name, view)
        self._run_step(_SCORE)
        numbers = np.concatenate(list(self._metrics.values())).tolist()
        return dict(zip(self.metrics, numbers, strict=True))


def _compiled_step(compiled: kernel_compilation.CompiledClass) -> Kernel:
    """Return the compiled step of an environment, which takes the arguments in `_SIGNATURE`."""
    digest = kernel_compilation.driver_digest("environment step", compiled)
    return compile_cached(
        compiled.owner.__name__, digest, lambda: _build_step(compiled), _SIGNATURE
    )


def _build_step(compiled: kernel_compilation.CompiledClass) -> Kernel:
    kernels = compiled.kernels()
    records = compiled.records
    init = kernels["init"]
    score = kernels["score"]
    observe = records.context.make_caller(kernels["observe"], "e, s, t, rng")
    respond = records.feedback.make_caller(kernels["respond"], "e, s, t, rng, context, decision")
    # The sizes are in the memory plan after seven beginnings.
    read_dims = kernel_compilation.tuple_reader(len(compiled.dims), start=7)
    read_e = compiled.inputs.reader("E")
    read_s = compiled.state.reader("ES")
    read_context, read_decision, _ = records.readers()
    read_report = records.report.reader()
    read_metrics = compiled.metrics.reader("Metrics")
    write_context = records.context.writer()
    write_feedback = records.feedback.writer()

    def step(cells, plan, rng, t, operation):  # type: ignore[no-untyped-def]
        dims = read_dims(plan)
        e = read_e(cells, plan[0], dims)
        s = read_s(cells, plan[1], dims)
        if operation == _INIT:
            rng[0] = rng[1] = stream_key(rng[0], rng[1], ENVIRONMENT)
            init(e, s, t, rng)
        elif operation == _OBSERVE:
            context = observe(e, s, t, rng, cells, plan[2], dims)
            write_context(cells, plan[2], dims, context)
        elif operation == _RESPOND:
            context = read_context(cells, plan[2], dims)
            decision = read_decision(cells, plan[3], dims)
            feedback = respond(e, s, t, rng, context, decision, cells, plan[4], dims)
            write_feedback(cells, plan[4], dims, feedback)
        else:
            # The metrics lie at the end of `cells`. A metric that `score` leaves out stays NaN.
            for cell in range(plan[6], len(cells)):
                cells[cell] = np.nan
            report = read_report(cells, plan[5], dims)
            score(e, s, t, rng, report, read_metrics(cells, plan[6], dims))

    return step
