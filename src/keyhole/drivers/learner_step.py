"""Compiled code of learners: one step (a decision, or its feedback), and the replay of a log.

A learner is one vector of 64-bit words. It begins with a header: the policy's random stream, the
rounds begun, whether a decision is pending, and the thread that may call. A plan follows (where
each layout begins, then the lengths of arrays, then a zero), and then the cells: inputs,
state, context, decision, feedback, report.
"""

from collections.abc import Mapping
from threading import get_ident
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.kernel_compilation import (
    CompiledClass,
    compiled_guard,
    driver_digest,
    tuple_reader,
)
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import allocate, borrow_floats, borrow_ints, borrow_words
from keyhole.draws.streams import POLICY, stream_key
from keyhole.drivers.engine import stop_test_kernel
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_decorators import kernel, load_intrinsic, numba_signature

Words = NDArray[np.uint64]

# The positions of the header's words and of the plan's first word. The stream has two words. The
# word `OWNER_THREAD` is 0 if any thread may call. `keyhole.play.learner` reads and writes the
# header from Python.
STREAM, _, ROUNDS, PENDING, OWNER_THREAD, PLAN = range(6)
# Entries of the plan: the starts of the six layouts, then the lengths of arrays, such as `arms`.
_INPUTS, _STATE, _CONTEXT, _DECISION, _FEEDBACK, _REPORT, _SIZES = range(7)

# The operations of a call. The last two receive the context, or the feedback, as a number: if
# Python wrote it into the vector first, that would take longer than the call.
INIT, ASK, TELL, RECOMMEND, CHECK, SET_OWNER, ASK_WITH_NUMBER, TELL_WITH_NUMBER = range(8)

# The results of calls that failed, and of an `ASK` when the policy is done (`DONE`). Other results
# are at least 0. A replay fails with `OWN_REFUSED` (the policy's own decision is not allowed),
# `LOGGED_REFUSED` (the decision in the log is not allowed) or `DIFFERENT_DECISION`.
DONE, LOGGED_REFUSED, DIFFERENT_DECISION, NOT_ASKED, WRONG_THREAD, OWN_REFUSED = range(-6, 0)

SIGNATURE: Final = numba_signature(
    "int64",
    "uint64[::1]",  # the learner
    "int64",  # the operation
    "float64",  # a context or feedback that is one number
)
# A call holds the GIL, since it then takes 0.085 us, and 0.12 us if it releases the GIL (measured).
# So a call is atomic to all other threads, and the header needs no lock. Finding the calling thread
# takes 0.003 us.


# `get_ident` is written in C, and `load_intrinsic` takes only functions written in Python.
def _get_ident() -> int:
    return get_ident()


_current_thread: Final[Kernel] = load_intrinsic(
    _get_ident, lambda internals: internals.thread_ident
)


def make_memory(
    policy: CompiledClass, sizes: Mapping[str, int]
) -> tuple[Words, list[dict[str, Any]]]:
    """Return the vector of a new learner, and the named arrays of each of its layouts."""
    layouts = (policy.inputs, policy.state, *policy.records.layouts)
    cells_start = PLAN + _SIZES + len(policy.dims) + 1  # the zero at the plan's end counts, too
    buffer, plan, views = allocate(layouts, policy.dims, sizes, reserved=cells_start)
    word_view = buffer.view(np.uint64)
    word_view[PLAN : PLAN + len(plan)] = plan.view(np.uint64)
    return word_view, views


def cells_from_state(words: Words) -> NDArray[np.float64]:
    """Return the cells of a learner's vector from the state on."""
    return words.view(np.float64)[int(words[PLAN + _STATE]) :]


def compiled_step(policy: CompiledClass, setting: Setting) -> Kernel:
    """Return the machine code of one call of a learner; `SIGNATURE` has its arguments."""
    digest = driver_digest("step", policy, setting.allowed)
    owner = policy.owner.__name__
    return compile_cached(
        owner, digest, lambda: _build_step(policy, setting), SIGNATURE, hold_gil=True
    )


def _compile_unpacker(policy: CompiledClass) -> Kernel:
    """Return the compiled function from a learner's vector to (p, s, rng, plan, cells, dims)."""
    plan_length = _SIZES + len(policy.dims)  # without the zero at its end
    read_dims = tuple_reader(len(policy.dims), start=_SIZES)
    read_p = policy.inputs.reader("P")
    read_s = policy.state.reader("S")

    @kernel
    def unpack(words):  # type: ignore[no-untyped-def]
        # One memory is seen as integers (the plan), floats (the cells) and unsigned words (the
        # stream). The plan has the starts of inputs, state, context, decision, feedback and report,
        # counted from the beginning of the vector, header included.
        plan = borrow_ints(words, PLAN, (plan_length,))
        cells = borrow_floats(words, 0, (len(words),))
        dims = read_dims(plan)
        p = read_p(cells, plan[_INPUTS], dims)
        s = read_s(cells, plan[_STATE], dims)
        return p, s, borrow_words(words, STREAM, (2,)), plan, cells, dims

    return unpack


def _build_step(policy: CompiledClass, setting: Setting) -> Kernel:
    records = policy.records
    kernels = policy.kernels(nan_checked=True)
    init = kernels["init"]
    update = kernels["update"]
    recommend = records.report.make_caller(kernels["recommend"], "p, s, t, rng")
    allowed = compiled_guard(policy, setting)
    unpack = _compile_unpacker(policy)
    ask = _compile_ask(policy, allowed, unpack)
    read_context, read_decision, read_feedback = records.readers()
    write_feedback = records.feedback.number_writer()

    def step(words, operation, number):  # type: ignore[no-untyped-def]
        header = borrow_ints(words, 0, (PLAN,))
        p, s, rng, plan, cells, dims = unpack(words)
        if operation == INIT:
            # Before this operation, the stream's words are the seed and the replication.
            rng[0] = rng[1] = stream_key(rng[0], rng[1], POLICY)
            init(p, s, header[ROUNDS], rng)
            return 0
        if operation == RECOMMEND:
            recommend(p, s, header[ROUNDS], rng, cells, plan[_REPORT], dims)
            return 0
        context = read_context(cells, plan[_CONTEXT], dims)
        if operation == CHECK:
            # The pending decision from a learner's file is checked before anything relies on it.
            return int(allowed(p, context, read_decision(cells, plan[_DECISION], dims)))
        thread = np.int64(_current_thread())
        # A thread owns the learner from its `ask` to its `tell`, since feedback that another thread
        # tells in between would be learnt for the wrong decision.
        if header[OWNER_THREAD] != 0 and header[OWNER_THREAD] != thread:
            return WRONG_THREAD
        if operation in (TELL, TELL_WITH_NUMBER):
            if header[PENDING] == 0:
                return NOT_ASKED
            if operation == TELL_WITH_NUMBER:
                write_feedback(cells, plan[_FEEDBACK], dims, number)
            feedback = read_feedback(cells, plan[_FEEDBACK], dims)
            decision = read_decision(cells, plan[_DECISION], dims)
            update(p, s, header[ROUNDS], rng, context, decision, feedback)
            header[PENDING] = header[OWNER_THREAD] = 0
            return 0
        result = 0
        if operation in (ASK, ASK_WITH_NUMBER):
            result = ask(words, header, operation, number)
        # `SET_OWNER` only makes this thread the owner, after which Python may write a context or
        # feedback into the vector. An `ASK` that fails leaves the learner no owner.
        header[OWNER_THREAD] = thread if result >= 0 else 0
        return result

    return step


def _compile_ask(policy: CompiledClass, allowed: Kernel, unpack: Kernel) -> Kernel:
    """Return the compiled function that takes a decision, or repeats the pending one."""
    records = policy.records
    select_kernel = policy.kernels(nan_checked=True)["select"]
    select = records.decision.make_caller(select_kernel, "p, s, t, rng, context")
    is_stopped = stop_test_kernel(policy)
    read_context, read_decision, _ = records.readers()
    write_context = records.context.number_writer()
    write_decision = records.decision.writer()
    encode = records.decision.number_encoder()

    @kernel
    def ask(words, header, operation, number):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = unpack(words)
        # While a decision is pending, `ask` returns it again: an `ask` is idempotent.
        if header[PENDING] == 0:
            if is_stopped(s):
                return DONE
            if operation == ASK_WITH_NUMBER:
                write_context(cells, plan[_CONTEXT], dims, number)
            t = header[ROUNDS] + 1
            context = read_context(cells, plan[_CONTEXT], dims)
            decision = select(p, s, t, rng, context, cells, plan[_DECISION], dims)
            write_decision(cells, plan[_DECISION], dims, decision)
            # The round is counted after the guard, since a refused decision is no round.
            if not allowed(p, context, decision):
                return OWN_REFUSED
            header[ROUNDS] = t
            header[PENDING] = 1
        return encode(read_decision(cells, plan[_DECISION], dims))

    return ask


REPLAY_SIGNATURE: Final = numba_signature(
    "int64",
    "uint64[::1]",  # the learner
    # a row for each round: the cells of context, decision and feedback, as in the learner; the last
    # cells of the feedback may be left out, if the policy's kernels do not read them
    "uint64[:, ::1]",
    "int64",  # whether the decisions of the log must be the policy's own
)


def compiled_replay(policy: CompiledClass, setting: Setting) -> Kernel:
    """Return the machine code that replays a log; `REPLAY_SIGNATURE` has its arguments.

    The result is the number of rows in which the policy decides as in the log. At the first row
    that cannot be replayed, the replay stops with a negative result, such as `OWN_REFUSED`; the
    learner's round number says which row.
    """
    digest = driver_digest("replay", policy, setting.allowed)
    owner = policy.owner.__name__
    return compile_cached(
        owner, digest, lambda: _build_replay(policy, setting), REPLAY_SIGNATURE, hold_gil=True
    )


@kernel
def copy_cells(words: Words, log: Words, row: int, context_at: int, start: int, end: int) -> None:
    """Copy a log's row to the learner's cells from `start` to before `end`.

    The first entry of the row belongs to cell `context_at`.
    """
    for cell in range(start, end):
        words[cell] = log[row, cell - context_at]


@kernel
def are_cells_equal(
    words: Words, log: Words, row: int, context_at: int, start: int, end: int
) -> bool:
    """Return whether a row and the learner have equal cells from `start` to before `end`."""
    # Cells are compared as words, not as floats, so that NaN equals itself, and 0.0 differs from
    # -0.0.
    equal = True
    for cell in range(start, end):
        equal &= words[cell] == log[row, cell - context_at]
    return equal


def _build_replay(policy: CompiledClass, setting: Setting) -> Kernel:
    records = policy.records
    kernels = policy.kernels(nan_checked=True)
    update = kernels["update"]
    select = records.decision.make_caller(kernels["select"], "p, s, t, rng, context")
    allowed = compiled_guard(policy, setting)
    unpack = _compile_unpacker(policy)
    read_context, read_decision, read_feedback = records.readers()
    write_decision = records.decision.writer()

    def replay(words, log, must_match):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = unpack(words)
        header = borrow_ints(words, 0, (PLAN,))
        matches = 0
        context_at, decision_at, feedback_at = plan[_CONTEXT], plan[_DECISION], plan[_FEEDBACK]
        for row in range(log.shape[0]):
            t = header[ROUNDS] + 1
            copy_cells(words, log, row, context_at, context_at, decision_at)
            context = read_context(cells, context_at, dims)
            # The policy decides even if the log has another decision: `select` may draw from the
            # stream or change the state, and the learner must end as if it had been asked.
            decision = select(p, s, t, rng, context, cells, decision_at, dims)
            write_decision(cells, decision_at, dims, decision)
            if not allowed(p, context, decision):
                return OWN_REFUSED
            if are_cells_equal(words, log, row, context_at, decision_at, feedback_at):
                matches += 1
            elif must_match:
                return DIFFERENT_DECISION
            else:
                copy_cells(words, log, row, context_at, decision_at, feedback_at)
                if not allowed(p, context, read_decision(cells, decision_at, dims)):
                    return LOGGED_REFUSED
            copy_cells(words, log, row, context_at, feedback_at, context_at + log.shape[1])
            logged_decision = read_decision(cells, decision_at, dims)
            feedback = read_feedback(cells, feedback_at, dims)
            update(p, s, t, rng, context, logged_decision, feedback)
            header[ROUNDS] = t
        return matches

    return replay
