"""One round of a world, for referees."""

from typing import Final

import numpy as np

from keyhole.contract.compiled_class import Component, digest_of, tuple_of
from keyhole.draws.streams import ENVIRONMENT, stream_key
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.jit import signature

INIT, OBSERVE, RESPOND, SCORE = range(4)

SIGNATURE: Final = signature(
    "void",
    "float64[::1]",  # all memory: truth, state, context, decision, feedback, report, metrics
    "int64[::1]",  # where each of the seven begins, the integers shapes refer to
    "uint64[::1]",  # the environment's stream
    "int64",  # round
    "int64",  # what to do
)


def compiled_environment_step(side: Component) -> Kernel:
    """Return the machine code of a world, one answer at a time; it takes what `SIGNATURE` lists."""
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
    read_report, read_metrics = channels.report.reader(), side.metrics.reader("Metrics")

    def step(cells, plan, rng, t, what):  # type: ignore[no-untyped-def]
        dims = sizes(plan)
        e, s = read_e(cells, plan[0], dims), read_s(cells, plan[1], dims)
        if what == INIT:
            rng[0] = rng[1] = stream_key(rng[0], rng[1], ENVIRONMENT)
            init(e, s, t, rng)
        elif what == OBSERVE:
            seen = observe(e, s, t, rng, cells, plan[2], dims)
            write_context(cells, plan[2], dims, seen)
        elif what == RESPOND:
            context = read_context(cells, plan[2], dims)
            decision = read_decision(cells, plan[3], dims)
            answer = respond(e, s, t, rng, context, decision, cells, plan[4], dims)
            write_feedback(cells, plan[4], dims, answer)
        else:
            for cell in range(plan[6], len(cells)):  # the metrics lie last
                cells[cell] = np.nan
            report = read_report(cells, plan[5], dims)
            score(e, s, t, rng, report, read_metrics(cells, plan[6], dims))

    return step
