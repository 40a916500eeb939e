"""Compiled code of learners: one step (a decision, or its feedback), and the replay of a log.

A learner is one vector of 64-bit words. It begins with a header: the policy's random stream, the
rounds begun, whether a decision is pending, and the thread that may call. A plan follows (where
each layout begins, then the integers that shapes refer to), and then the cells: inputs, state,
context, decision, feedback, report.
"""

from collections.abc import Mapping
from threading import get_ident
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import (
    CompiledClass,
    compiled_guard,
    driver_digest,
    tuple_reader,
)
from keyhole.contract.kernel_signatures import KernelRecords
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import (
    FloatArray,
    allocate,
    borrow_float,
    borrow_int,
    borrow_word,
)
from keyhole.draws.streams import POLICY, stream_key
from keyhole.drivers.engine import is_stopped_kernel
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_declaration import kernel, load_intrinsic, signature

Words = NDArray[np.uint64]

# The words of the header: the random stream (two), the rounds begun, whether a decision is pending,
# the thread that asked last (0 for none); the plan begins after them. `keyhole.play.learner` reads
# and writes these words from Python, so that a learner is saved and copied as one vector.
STREAM, _, ROUNDS, PENDING, OWNER_THREAD, PLAN = range(6)
_LAYOUTS: Final = 6

# The last two have the context, or the feedback, as the number that comes with the call. Writing it
# into the vector from Python first would take longer than the call.
INIT, ASK, TELL, RECOMMEND, CHECK, CLAIM, ASK_WITH_NUMBER, TELL_WITH_NUMBER = range(8)

# Results of a call that are no decision; a decision is a number from 0. A replay returns `REFUSED`,
# `DIFFERENT_DECISION` or `NOT_ALLOWED` alone of these.
DONE, NOT_ALLOWED, DIFFERENT_DECISION, NOT_ASKED, WRONG_THREAD, REFUSED = range(-6, 0)

SIGNATURE: Final = signature(
    "int64",
    "uint64[::1]",  # the learner
    "int64",  # the operation
    "float64",  # a context or feedback that is one number
)
# A call holds the GIL: releasing and taking it would make 0.12 us of 0.085 (measured). So a call is
# atomic to all other threads, and the header needs no lock. To look which thread calls takes 0.003.


def _get_ident() -> int:
    return get_ident()


_current_thread: Final[Kernel] = load_intrinsic(
    _get_ident, lambda internals: internals.thread_ident
)


def memory_layout(
    compiled: CompiledClass, sizes: Mapping[str, int]
) -> tuple[Words, list[dict[str, Any]]]:
    """Return the vector of a new learner, and the named arrays of each of its layouts."""
    layouts = (compiled.inputs, compiled.state, *compiled.records.layouts)
    cells_start = PLAN + _LAYOUTS + len(compiled.dims) + 1
    buffer, plan, views = allocate(layouts, compiled.dims, sizes, reserved=cells_start)
    word_view = buffer.view(np.uint64)
    word_view[PLAN : PLAN + len(plan)] = plan.view(np.uint64)
    return word_view, views


def state_view(words: Words) -> FloatArray:
    """Return the cells of a learner's vector from the state on."""
    return words.view(np.float64)[int(words[PLAN + 1]) :]


def compiled_step(compiled: CompiledClass, setting: Setting) -> Kernel:
    """Return the machine code of a policy, a call at a time; `SIGNATURE` has its arguments."""
    digest = driver_digest("step", compiled, setting.allowed)
    owner = compiled.owner.__name__
    return compile_cached(
        owner, digest, lambda: _build(compiled, setting), SIGNATURE, hold_gil=True
    )


class LearnerKernels:
    """The compiled functions of which the learner's step is built."""

    def __init__(self, compiled: CompiledClass, setting: Setting) -> None:
        kernels = compiled.kernels(nan_checked=True)
        records = compiled.records
        self.unpack = _compile_unpack(compiled)
        self.allowed = compiled_guard(compiled, setting)
        self.init = kernels["init"]
        self.update = kernels["update"]
        self.select = records.decision.producer(kernels["select"], "p, s, t, rng, context")
        self.recommend = records.report.producer(kernels["recommend"], "p, s, t, rng")
        self.readers = records.readers()
        self.write_decision = records.decision.writer()
        self.is_stopped = is_stopped_kernel(compiled)


def _compile_unpack(compiled: CompiledClass) -> Kernel:
    """Return the compiled function that gives a learner's vector as named parts."""
    planned = _LAYOUTS + len(compiled.dims)
    sizes = tuple_reader(len(compiled.dims), start=_LAYOUTS)
    read_p = compiled.inputs.reader("P")
    read_s = compiled.state.reader("S")

    def unpack(words):  # type: ignore[no-untyped-def]
        # One memory, seen as integers (the plan), floats (the cells) and unsigned words (the
        # stream). Starts in the plan count from the beginning of the vector, header included.
        plan = borrow_int(words, PLAN, (planned,))
        cells = borrow_float(words, 0, (len(words),))
        dims = sizes(plan)
        p = read_p(cells, plan[0], dims)
        s = read_s(cells, plan[1], dims)
        return p, s, borrow_word(words, STREAM, (2,)), plan, cells, dims

    return kernel(unpack)


def _build(compiled: CompiledClass, setting: Setting) -> Kernel:
    kernels = LearnerKernels(compiled, setting)
    ask = _compile_ask(kernels, compiled.records)
    tell = _compile_tell(kernels, compiled.records)
    call_between_rounds = _compile_other_calls(kernels)

    def step(words, operation, number):  # type: ignore[no-untyped-def]
        if operation in (INIT, RECOMMEND, CHECK):
            return call_between_rounds(words, operation)
        header = borrow_int(words, 0, (PLAN,))
        thread = np.int64(_current_thread())
        # A thread owns the learner from its `ask` to its `tell`: feedback that another thread tells
        # in between would be learnt for the wrong decision.
        if header[OWNER_THREAD] != 0 and header[OWNER_THREAD] != thread:
            return WRONG_THREAD
        code = 0
        if operation in (TELL, TELL_WITH_NUMBER):
            return tell(words, header, operation, number)
        if operation in (ASK, ASK_WITH_NUMBER):
            code = ask(words, header, operation, number)
        # CLAIM does nothing but this: Python then writes a context or feedback into the vector.
        header[OWNER_THREAD] = thread if code >= 0 else 0
        return code

    return step


def _compile_ask(kernels: LearnerKernels, records: KernelRecords) -> Kernel:
    """Return the compiled function that takes a decision, or repeats the pending one."""
    unpack = kernels.unpack
    select = kernels.select
    allowed = kernels.allowed
    is_stopped = kernels.is_stopped
    read_context, read_decision, _ = kernels.readers
    write_context = records.context.number_writer()
    write_decision = kernels.write_decision
    encode = records.decision.number_encoder()

    def ask(words, header, operation, number):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = unpack(words)
        # Idempotent: while a decision is pending, `ask` returns the same one again.
        if header[PENDING] == 0:
            if is_stopped(s):
                return DONE
            if operation == ASK_WITH_NUMBER:
                write_context(cells, plan[2], dims, number)
            t = header[ROUNDS] + 1
            context = read_context(cells, plan[2], dims)
            decision = select(p, s, t, rng, context, cells, plan[3], dims)
            write_decision(cells, plan[3], dims, decision)
            # After the guard: a refused decision counts as no round.
            if not allowed(p, context, decision):
                return REFUSED
            header[ROUNDS] = t
            header[PENDING] = 1
        return encode(read_decision(cells, plan[3], dims))

    return kernel(ask)


def _compile_tell(kernels: LearnerKernels, records: KernelRecords) -> Kernel:
    """Return the compiled function that learns from the feedback of the pending decision."""
    unpack = kernels.unpack
    update = kernels.update
    read_context, read_decision, read_feedback = kernels.readers
    write_feedback = records.feedback.number_writer()

    def tell(words, header, operation, number):  # type: ignore[no-untyped-def]
        if header[PENDING] == 0:
            return NOT_ASKED
        p, s, rng, plan, cells, dims = unpack(words)
        if operation == TELL_WITH_NUMBER:
            write_feedback(cells, plan[4], dims, number)
        context = read_context(cells, plan[2], dims)
        decision = read_decision(cells, plan[3], dims)
        update(p, s, header[ROUNDS], rng, context, decision, read_feedback(cells, plan[4], dims))
        header[PENDING] = header[OWNER_THREAD] = 0
        return 0

    return kernel(tell)


def _compile_other_calls(kernels: LearnerKernels) -> Kernel:
    """Return the compiled function for the calls that are not a part of a round."""
    unpack = kernels.unpack
    init = kernels.init
    recommend = kernels.recommend
    allowed = kernels.allowed
    read_context, read_decision, _ = kernels.readers

    def call_between_rounds(words, operation):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = unpack(words)
        t = borrow_int(words, 0, (PLAN,))[ROUNDS]
        if operation == INIT:
            rng[0] = rng[1] = stream_key(rng[0], rng[1], POLICY)
            init(p, s, t, rng)
        elif operation == RECOMMEND:
            recommend(p, s, t, rng, cells, plan[5], dims)
        else:
            # Of a learner's file: its pending decision is checked before anything relies on it.
            context = read_context(cells, plan[2], dims)
            return int(allowed(p, context, read_decision(cells, plan[3], dims)))
        return 0

    return kernel(call_between_rounds)


REPLAY_SIGNATURE: Final = signature(
    "int64",
    "uint64[::1]",  # the learner
    # a row a round: the cells of context, decision and feedback, as in the learner; the last ones
    # of the feedback may be left out, if the policy's kernels do not read them
    "uint64[:, ::1]",
    "int64",  # whether decisions must be the policy's own
)


def compiled_replay(compiled: CompiledClass, setting: Setting) -> Kernel:
    """Return the machine code that replays a log; `REPLAY_SIGNATURE` has its arguments.

    It stops at the first row that cannot be replayed; the learner's round says which one.
    """
    digest = driver_digest("replay", compiled, setting.allowed)
    owner = compiled.owner.__name__
    return compile_cached(
        owner,
        digest,
        lambda: _build_log_replay_kernel(compiled, setting),
        REPLAY_SIGNATURE,
        hold_gil=True,
    )


@kernel
def store_decision(
    words: Words, log: Words, row: int, context_at: int, first: int, last: int
) -> None:
    """Copy cells `first` to `last` of a row, which begins with cell `context_at`."""
    for cell in range(first, last):
        words[cell] = log[row, cell - context_at]


@kernel
def are_decisions_equal(
    words: Words, log: Words, row: int, context_at: int, first: int, last: int
) -> bool:
    """Return whether cells `first` to `last` are equal in a row and in the learner."""
    # As words, not as floats: NaN equals itself, and 0.0 differs from -0.0.
    equal = True
    for cell in range(first, last):
        equal &= words[cell] == log[row, cell - context_at]
    return equal


def _build_log_replay_kernel(compiled: CompiledClass, setting: Setting) -> Kernel:
    kernels = LearnerKernels(compiled, setting)
    unpack = kernels.unpack
    select = kernels.select
    allowed = kernels.allowed
    update = kernels.update
    read_context, read_decision, read_feedback = kernels.readers
    write_decision = kernels.write_decision

    def replay(words, log, strict):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = unpack(words)
        header = borrow_int(words, 0, (PLAN,))
        matches = 0
        context_at, decision_at, feedback_at = plan[2], plan[3], plan[4]
        for row in range(log.shape[0]):
            t = header[ROUNDS] + 1
            store_decision(words, log, row, context_at, context_at, decision_at)
            context = read_context(cells, context_at, dims)
            # The policy decides even where the log has another decision: `select` may draw from the
            # stream or change the state, and the learner must end as if it had been asked.
            decision = select(p, s, t, rng, context, cells, decision_at, dims)
            write_decision(cells, decision_at, dims, decision)
            if not allowed(p, context, decision):
                return REFUSED
            if are_decisions_equal(words, log, row, context_at, decision_at, feedback_at):
                matches += 1
            elif strict:
                return DIFFERENT_DECISION
            else:
                store_decision(words, log, row, context_at, decision_at, feedback_at)
                if not allowed(p, context, read_decision(cells, decision_at, dims)):
                    return NOT_ALLOWED
            store_decision(words, log, row, context_at, feedback_at, context_at + log.shape[1])
            logged = read_decision(cells, decision_at, dims)
            update(p, s, t, rng, context, logged, read_feedback(cells, feedback_at, dims))
            header[ROUNDS] = t
        return matches

    return replay
