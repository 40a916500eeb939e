"""One round of a policy, for learners."""

from typing import Final

from numba import types

from keyhole.contract.component import Component, digest_of, guard, tuple_of
from keyhole.contract.setting import Setting
from keyhole.draws.streams import POLICY, stream_key
from keyhole.kernels.cache import compile_cached
from keyhole.kernels.link import Kernel, fingerprint

INIT, ASK, TELL, RECOMMEND, CHECK = range(5)

# One vector of cells and one of integers: unboxing each argument costs about 0.1 us, so fewer are
# better (measured: 0.4 us a call with one vector, over 2 us with tuples of arrays).
SIGNATURE: Final = types.int64(
    types.float64[::1],  # all memory: input, state, context, decision, feedback, report
    types.int64[::1],  # where each of the six begins, then the integers shapes refer to
    types.uint64[::1],  # the policy's stream
    types.int64,  # round
    types.int64,  # what to do
)


def compiled_step(side: Component, setting: Setting) -> Kernel:
    """Return the machine code of a policy, one round at a time; it takes what `SIGNATURE` lists."""
    digest = digest_of("step", side.digest, fingerprint(setting.allowed))
    return compile_cached(side.owner.__name__, digest, lambda: _build(side, setting), SIGNATURE)


def _build(side: Component, setting: Setting) -> Kernel:
    kernels, channels = side.kernels(watched=True), side.channels
    init, update, allowed = kernels["init"], kernels["update"], guard(side, setting)
    select = channels.decision.producer(kernels["select"], "p, s, t, rng, context")
    recommend = channels.report.producer(kernels["recommend"], "p, s, t, rng")
    sizes = tuple_of(len(side.dims), start=6)
    read_p, read_s = side.inputs.reader("P"), side.state.reader("S")
    read_context, read_decision = channels.context.reader(), channels.decision.reader()
    read_feedback, write_decision = channels.feedback.reader(), channels.decision.writer()

    def step(cells, plan, rng, t, what):  # type: ignore[no-untyped-def]
        dims = sizes(plan)
        p, s = read_p(cells, plan[0], dims), read_s(cells, plan[1], dims)
        context = read_context(cells, plan[2], dims)
        if what == INIT:
            rng[0] = rng[1] = stream_key(rng[0], rng[1], POLICY)
            init(p, s, t, rng)
        elif what == ASK:
            decision = select(p, s, t, rng, context, cells, plan[3], dims)
            write_decision(cells, plan[3], dims, decision)
            return 1 if allowed(p, context, decision) else 0
        elif what == TELL:
            taken = read_decision(cells, plan[3], dims)
            update(p, s, t, rng, context, taken, read_feedback(cells, plan[4], dims))
        elif what == CHECK:
            return 1 if allowed(p, context, read_decision(cells, plan[3], dims)) else 0
        else:
            recommend(p, s, t, rng, cells, plan[5], dims)
        return 1

    return step
