"""One round of a policy, for learners: all that a learner is, in one vector of words.

The vector begins with a head of fixed places: the policy's stream, the rounds begun, whether a
decision is waiting for its feedback, and which thread may ask and tell. A plan follows (where each
layout begins, then the integers that shapes refer to), and then the cells: inputs, state, context,
decision, feedback, report.
"""

import ctypes
from collections.abc import Mapping
from dataclasses import dataclass
from threading import get_ident
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import Component, add_checks, digest_of, tuple_of
from keyhole.contract.kernel_signatures import KernelRecords
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import (
    FloatArray,
    Layout,
    allocate,
    borrow_float,
    borrow_int,
    borrow_word,
)
from keyhole.draws.streams import POLICY, stream_key
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel, fingerprint
from keyhole.kernels.interpreter.twins import set_twin
from keyhole.kernels.jit import from_internals, has_internals, kernel, signature

Words = NDArray[np.uint64]

# Where in the vector the stream begins (two words), and the other parts of the head and the plan.
STREAM, ROUNDS, PENDING, HOLDER, PLAN = 0, 2, 3, 4, 5
_LAYOUTS: Final = 6

INIT, ASK, TELL, RECOMMEND, CHECK, CLAIM = range(6)
# The context of this decision, or the feedback to it, is the number that comes with the call.
ASK_WITH, TELL_WITH = 6, 7

# What a call may return, in place of a number from 0.
REFUSED, ANOTHER_THREADS, NOT_ASKED = -1, -2, -3

SIGNATURE: Final = signature(
    "int64",
    "uint64[::1]",  # the learner
    "int64",  # what to do
    "float64",  # a context or feedback that is one number
)
# A call keeps the interpreter's lock: to give it away and take it back would make 0.12 us of 0.085
# (measured). So a call is one step to all other threads. To look which thread it is takes 0.003.


def _ident() -> int:
    return get_ident()


def _thread_function() -> Kernel:
    """Return the function of compiled code that tells which thread calls."""
    if has_internals():
        return from_internals(_ident, lambda internals: internals.thread_ident)
    return ctypes.CFUNCTYPE(ctypes.c_ulong)(("PyThread_get_thread_ident", ctypes.pythonapi))


_thread: Final[Kernel] = _thread_function()
set_twin(_thread, get_ident)


def memory_layout(side: Component, sizes: Mapping[str, int]) -> tuple[Words, list[dict[str, Any]]]:
    """Return the vector of a new learner, and the named arrays of each of its layouts."""
    buffer, plan, parts = allocate(_layouts(side), side.dims, sizes, ahead=_first(side))
    words = buffer.view(np.uint64)
    words[PLAN : PLAN + len(plan)] = plan.view(np.uint64)
    return words, parts


def state_view(words: Words) -> FloatArray:
    """Return the cells of a learner's vector from the state on."""
    return words.view(np.float64)[int(words[PLAN + 1]) :]


def _layouts(side: Component) -> tuple[Layout, ...]:
    return (side.inputs, side.state, *side.channels.layouts)


def _first(side: Component) -> int:
    """Return where the cells begin."""
    return PLAN + _LAYOUTS + len(side.dims) + 1


def compiled_step(side: Component, setting: Setting) -> Kernel:
    """Return the machine code of a policy, one round at a time; it takes what `SIGNATURE` lists."""
    digest = digest_of("step", side.digest, fingerprint(setting.allowed))
    owner = side.owner.__name__
    return compile_cached(owner, digest, lambda: _build(side, setting), SIGNATURE, alone=True)


@dataclass(frozen=True)
class Kernels:
    """What the compiled loops over a learner's rounds are made of."""

    seen: Kernel
    init: Kernel
    select: Kernel
    allowed: Kernel
    update: Kernel
    recommend: Kernel
    read_context: Kernel
    read_decision: Kernel
    read_feedback: Kernel
    write_decision: Kernel


def learner_kernels(side: Component, setting: Setting) -> Kernels:
    """Return what the compiled loops over a learner's rounds are made of."""
    kernels, channels = side.kernels(watched=True), side.channels
    return Kernels(
        _viewer(side),
        kernels["init"],
        channels.decision.producer(kernels["select"], "p, s, t, rng, context"),
        add_checks(side, setting),
        kernels["update"],
        channels.report.producer(kernels["recommend"], "p, s, t, rng"),
        channels.context.reader(),
        channels.decision.reader(),
        channels.feedback.reader(),
        channels.decision.writer(),
    )


def _viewer(side: Component) -> Kernel:
    """Return the compiled function that looks at a learner's vector as what it holds."""
    planned, sizes = _LAYOUTS + len(side.dims), tuple_of(len(side.dims), start=_LAYOUTS)
    read_p, read_s = side.inputs.reader("P"), side.state.reader("S")

    def seen(words):  # type: ignore[no-untyped-def]
        plan = borrow_int(words, PLAN, (planned,))
        cells, dims = borrow_float(words, 0, (len(words),)), sizes(plan)
        p, s = read_p(cells, plan[0], dims), read_s(cells, plan[1], dims)
        return p, s, borrow_word(words, STREAM, (2,)), plan, cells, dims

    return kernel(seen)


def _build(side: Component, setting: Setting) -> Kernel:
    parts = learner_kernels(side, setting)
    ask, tell = _asking(parts, side.channels), _telling(parts, side.channels)
    rest = _not_of_a_round(parts)

    def step(words, what, number):  # type: ignore[no-untyped-def]
        if what in (INIT, RECOMMEND, CHECK):
            return rest(words, what)
        head, thread = borrow_int(words, 0, (PLAN,)), np.int64(_thread())
        if head[HOLDER] != 0 and head[HOLDER] != thread:
            return ANOTHER_THREADS
        code = 0
        if what in (TELL, TELL_WITH):
            return tell(words, head, what, number)
        if what in (ASK, ASK_WITH):
            code = ask(words, head, what, number)
        head[HOLDER] = thread if code >= 0 else 0
        return code

    return step


def _asking(parts: Kernels, channels: KernelRecords) -> Kernel:
    """Return the compiled function that has the policy decide, unless a decision waits."""
    seen, select, allowed = parts.seen, parts.select, parts.allowed
    read_context, set_context = parts.read_context, channels.context.number_writer()
    read_decision, write_decision = parts.read_decision, parts.write_decision
    code = channels.decision.coder()

    def ask(words, head, what, number):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = seen(words)
        if head[PENDING] == 0:
            if what == ASK_WITH:
                set_context(cells, plan[2], dims, number)
            context, t = read_context(cells, plan[2], dims), head[ROUNDS] + 1
            decision = select(p, s, t, rng, context, cells, plan[3], dims)
            write_decision(cells, plan[3], dims, decision)
            if not allowed(p, context, decision):
                return REFUSED
            head[ROUNDS], head[PENDING] = t, 1
        return code(read_decision(cells, plan[3], dims))

    return kernel(ask)


def _telling(parts: Kernels, channels: KernelRecords) -> Kernel:
    """Return the compiled function that has the policy learn, if a decision waits."""
    seen, update, read_context = parts.seen, parts.update, parts.read_context
    read_decision, read_feedback = parts.read_decision, parts.read_feedback
    set_feedback = channels.feedback.number_writer()

    def tell(words, head, what, number):  # type: ignore[no-untyped-def]
        if head[PENDING] == 0:
            return NOT_ASKED
        p, s, rng, plan, cells, dims = seen(words)
        if what == TELL_WITH:
            set_feedback(cells, plan[4], dims, number)
        context, taken = read_context(cells, plan[2], dims), read_decision(cells, plan[3], dims)
        feedback = read_feedback(cells, plan[4], dims)
        update(p, s, head[ROUNDS], rng, context, taken, feedback)
        head[PENDING] = head[HOLDER] = 0
        return 0

    return kernel(tell)


def _not_of_a_round(parts: Kernels) -> Kernel:
    """Return the compiled function for what happens before, between and after rounds."""
    seen, init, recommend, allowed = parts.seen, parts.init, parts.recommend, parts.allowed
    read_context, read_decision = parts.read_context, parts.read_decision

    def rest(words, what):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = seen(words)
        t = borrow_int(words, 0, (PLAN,))[ROUNDS]
        if what == INIT:
            rng[0] = rng[1] = stream_key(rng[0], rng[1], POLICY)
            init(p, s, t, rng)
        elif what == RECOMMEND:
            recommend(p, s, t, rng, cells, plan[5], dims)
        else:
            context, taken = read_context(cells, plan[2], dims), read_decision(cells, plan[3], dims)
            return 1 if allowed(p, context, taken) else 0
        return 0

    return kernel(rest)
