"""The referee: a problem's world, answering one decision at a time."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numba import types
from numpy.typing import NDArray

from keyhole.core.cache import compile_cached
from keyhole.core.kernels import Component, digest_of, tuple_of, world_component
from keyhole.core.learner import Learner
from keyhole.core.link import Kernel
from keyhole.core.memory import Field, Layout, allot, borrow_float
from keyhole.core.streams import WORLD, stream_key
from keyhole.core.world import Problem, metrics_of, truth_of

_INIT, _OBSERVE, _RESPOND, _SCORE = range(4)

SIGNATURE: Final = types.void(
    types.float64[::1],  # all memory: truth, state, context, decision, feedback, report, metrics
    types.int64[::1],  # where each of the seven begins, the integers shapes refer to
    types.uint64[::1],  # the world's stream
    types.int64,  # round
    types.int64,  # what to do
)


class Referee:
    """Plays the world of one replication, for whoever takes the decisions.

    The same kernels run here as in `keyhole.simulate`, on the same randomness: a learner with the
    same seed and replication that asks and is told by a referee goes through exactly what the
    simulation goes through.

    Parameters
    ----------
    problem : Problem
        The instance.
    seed, replication : int
        Of the world's randomness.
    horizon : int, optional
        Rounds of the run; needed where the problem depends on it.

    Raises
    ------
    TypeError
        If the horizon is needed and not given.

    Examples
    --------
    >>> from keyhole.thresholding import LSA, Problem
    >>> referee = Referee(Problem(means=[0.0, 1.0], threshold=0.5), seed=1)
    >>> learner = LSA().learner(arms=2, threshold=0.5, seed=1)
    >>> for _ in range(4):
    ...     referee.answer(learner)
    >>> learner.recommend()
    array([False,  True])
    """

    def __init__(
        self, problem: Problem, *, seed: int = 0, replication: int = 0, horizon: int | None = None
    ) -> None:
        side = world_component(problem.world)
        truth = truth_of(problem, horizon)
        self.metrics = metrics_of(problem, details=True)
        self.rounds = 0
        self._cells, self._plan, parts = allot(
            _layouts(side, len(self.metrics)), side.dims, side.sizes(truth)
        )
        inputs, self._state, self.context, self.decision, self.feedback, self._report, out = parts
        self._metrics = out["metrics"]
        for name, view in inputs.items():
            view[...] = truth[name]
        self._rng = np.array([seed, replication], np.uint64)  # until the first call: see `_build`
        self._step = _compiled_step(side)
        self._run(_INIT)

    def _run(self, what: int) -> None:
        self._step(self._cells, self._plan, self._rng, self.rounds, what)

    def observe(self) -> dict[str, NDArray[Any]]:
        """Begin a round and return its context (nothing, where the setting has none)."""
        self.rounds += 1
        self._run(_OBSERVE)
        return self.context

    def respond(self, decision: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """Return the feedback to a decision."""
        for name, view in self.decision.items():
            view[...] = decision[name]
        self._run(_RESPOND)
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

    def answer(self, learner: Learner) -> None:
        """Play one round with a learner."""
        self.ask(learner)
        self.tell(learner)

    def score(self, report: Mapping[str, Any]) -> dict[str, float]:
        """Return all metrics as of now, details too, given what a learner recommends."""
        for name, view in self._report.items():
            view[...] = report[name]
        self._run(_SCORE)
        return dict(zip(self.metrics, self._metrics.tolist(), strict=True))


def _layouts(side: Component, metrics: int) -> tuple[Layout, ...]:
    numbers = Layout({"metrics": Field("float64", (metrics,))}, side.dims)
    return (side.inputs, side.state, *side.channels.layouts, numbers)


def _compiled_step(side: Component) -> Kernel:
    digest = digest_of("referee", side.digest)
    return compile_cached(side.owner.__name__, digest, lambda: _build(side), SIGNATURE)


def _build(side: Component) -> Kernel:
    kernels, channels = side.kernels(), side.channels
    init, score = kernels["init"], kernels["score"]
    observe = channels.context.producer(kernels["observe"], "e, s, t, rng")
    respond = channels.feedback.producer(kernels["respond"], "e, s, t, rng, context, decision")
    sizes = tuple_of(len(side.dims), start=7)
    read_e, read_s = side.inputs.reader("E"), side.state.reader("W")
    read_context, write_context = channels.context.reader(), channels.context.writer()
    read_decision, write_feedback = channels.decision.reader(), channels.feedback.writer()
    read_report = channels.report.reader()

    def step(cells, plan, rng, t, what):  # type: ignore[no-untyped-def]
        dims = sizes(plan)
        e, s = read_e(cells, plan[0], dims), read_s(cells, plan[1], dims)
        if what == _INIT:
            rng[0] = rng[1] = stream_key(rng[0], rng[1], WORLD)
            init(e, s, t, rng)
        elif what == _OBSERVE:
            seen = observe(e, s, t, rng, cells, plan[2], dims)
            write_context(cells, plan[2], dims, seen)
        elif what == _RESPOND:
            context = read_context(cells, plan[2], dims)
            decision = read_decision(cells, plan[3], dims)
            answer = respond(e, s, t, rng, context, decision, cells, plan[4], dims)
            write_feedback(cells, plan[4], dims, answer)
        else:
            # They lie last, but for the one cell that every buffer has more.
            metrics = borrow_float(cells, plan[6], (len(cells) - plan[6] - 1,))
            score(e, s, t, rng, read_report(cells, plan[5], dims), metrics)

    return step
