"""One step of an environment as compiled code, for problems that a user plays from Python.

An environment simulates, round by round, what comes of a decision.
"""

from typing import Final

import numpy as np

from keyhole.contract.compiled_class import CompiledClass, code_digest, tuple_reader
from keyhole.draws.streams import ENVIRONMENT, stream_key
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_declaration import signature

INIT, OBSERVE, RESPOND, SCORE = range(4)

SIGNATURE: Final = signature(
    "void",
    "float64[::1]",  # all memory: inputs, state, context, decision, feedback, report, metrics
    "int64[::1]",  # the plan: where each of the seven begins, the integers that shapes refer to
    "uint64[::1]",  # the environment's random stream
    "int64",  # round
    "int64",  # the operation
)


def compiled_environment_step(compiled: CompiledClass) -> Kernel:
    """Return the machine code of an environment; it takes the arguments in `SIGNATURE`."""
    digest = code_digest("environment step", compiled)
    return compile_cached(compiled.owner.__name__, digest, lambda: _build(compiled), SIGNATURE)


def _build(compiled: CompiledClass) -> Kernel:
    kernels, records = compiled.kernels(), compiled.records
    init, score = kernels["init"], kernels["score"]
    observe = records.context.producer(kernels["observe"], "e, s, t, rng")
    respond = records.feedback.producer(kernels["respond"], "e, s, t, rng, context, decision")
    sizes = tuple_reader(len(compiled.dims), start=7)
    read_e, read_s = compiled.inputs.reader("E"), compiled.state.reader("ES")
    read_context, write_context = records.context.reader(), records.context.writer()
    read_decision, write_feedback = records.decision.reader(), records.feedback.writer()
    read_report, read_metrics = records.report.reader(), compiled.metrics.reader("Metrics")

    def step(cells, plan, rng, t, what):  # type: ignore[no-untyped-def]
        dims = sizes(plan)
        e, s = read_e(cells, plan[0], dims), read_s(cells, plan[1], dims)
        if what == INIT:
            rng[0] = rng[1] = stream_key(rng[0], rng[1], ENVIRONMENT)
            init(e, s, t, rng)
        elif what == OBSERVE:
            context = observe(e, s, t, rng, cells, plan[2], dims)
            write_context(cells, plan[2], dims, context)
        elif what == RESPOND:
            context = read_context(cells, plan[2], dims)
            decision = read_decision(cells, plan[3], dims)
            feedback = respond(e, s, t, rng, context, decision, cells, plan[4], dims)
            write_feedback(cells, plan[4], dims, feedback)
        else:
            # The metrics lie last. One that `score` leaves out stays NaN.
            for cell in range(plan[6], len(cells)):
                cells[cell] = np.nan
            report = read_report(cells, plan[5], dims)
            score(e, s, t, rng, report, read_metrics(cells, plan[6], dims))

    return step
