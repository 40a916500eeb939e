"""The compiled loop with several workers: each asks, is busy for a while, tells, and asks again.

Decisions are taken one after the other; what they are worth is drawn when they are taken, and told
when their worker is done, so that feedback comes late and in another order. What a policy knows of
open decisions is as in `keyhole.drivers.pending_step`. At a checkpoint everything comes to an end
on a copy: all that is open is told, in the order in which it comes back, and the policy recommends.

A decision is a row of numbers: its round, when it was taken, when it comes back, its context, the
decision itself and its feedback. Rows of open ones are listed in the order in which they were
taken.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import Component, add_checks, bind_kernel, digest_of, tuple_of
from keyhole.contract.kernel_signatures import KernelRecords
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import FloatArray, IntArray, borrow_word
from keyhole.draws import streams
from keyhole.drivers.engine import REFUSED_REPLICATION, REFUSED_ROUND, ROUNDS_DONE, STOP
from keyhole.drivers.pending import (
    AGED,
    BACK,
    CONTEXT,
    COPY,
    DECISION,
    ENVIRONMENT,
    FEEDBACK,
    IMAGINE,
    LENGTH,
    METRICS,
    REPORT,
    ROUND,
    ROWS,
    STATE,
    TAKEN,
    WIDTH,
    WORKERS,
    copy_state,
    resolve_oldest,
)
from keyhole.drivers.pending_step import compile_imputation, has_imputation
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel, fingerprint
from keyhole.kernels.jit import kernel, signature

# Rounds between two looks at the stop flag: as in the engine.
_SEGMENT: Final = 1024

# Streams of two words each: the policy's, the world's, the one that imagining draws from, which is
# set before every use, that of durations.
_PURPOSES: Final = (streams.POLICY, streams.ENVIRONMENT, streams.POLICY, streams.WORKERS)
_STREAMS: Final = len(_PURPOSES)

SIGNATURE: Final = signature(
    "void",
    "float64[::1]",  # what the policy reads
    "int64[::1]",  # the integers its shapes refer to
    "float64[::1]",  # what the world reads
    "int64[::1]",  # the integers its shapes refer to
    "int64[::1]",  # where everything lies: see `memory_plan`
    "float64[::1]",  # what the law of durations reads
    "uint64",  # seed
    "int64",  # first replication
    "int64",  # one past the last
    "int64[::1]",  # checkpoints
    "float64[:, :, ::1]",  # out: checkpoint x metric x replication, the clock last
    "int64[::1]",  # control, as of the engine
    "float64[::1]",  # scratch
    "uint64[::1]",  # streams
    "int64[::1]",  # rows in order
)


def working_memory(plan: IntArray) -> tuple[FloatArray, NDArray[np.uint64], IntArray]:
    """Return the memory that a block works in: cells, streams, and the order of rows."""
    workers = int(plan[WORKERS])
    cells = int(plan[ROWS]) + workers * int(plan[WIDTH])
    return np.empty(cells), np.empty(2 * _STREAMS, np.uint64), np.empty(2 * workers, np.int64)


def compiled_asynchronous_loop(
    setting: Setting, policy: Component, environment: Component, duration: Kernel
) -> Kernel:
    """Return the machine code that plays a policy with workers; it takes what `SIGNATURE` lists.

    `duration` is a kernel that draws for how long a decision is open. It may name ``rng``,
    ``numbers``, and the setting's context, decision and feedback.
    """
    prints = [fingerprint(setting.allowed), fingerprint(duration)]
    if has_imputation(policy):
        prints.append(fingerprint(policy.owner.impute))  # type: ignore[attr-defined]
    digest = digest_of("parallel", policy.digest, environment.digest, *prints)
    owner = f"{policy.owner.__name__} with workers in {environment.owner.__name__}"
    return compile_cached(
        owner, digest, lambda: _build(setting, policy, environment, duration), SIGNATURE
    )


def duration_sampler(channels: KernelRecords, duration: Kernel) -> Kernel:
    """Return the compiled ``(rng, numbers, context, decision, feedback)`` of a duration."""
    words = {"rng": "rng", "numbers": "numbers"}
    for group in ("context", "decision", "feedback"):
        words |= channels.of(group).read_returned(group)
    return bind_kernel("duration", duration, "rng, numbers, context, decision, feedback", words, {})


def _build(setting: Setting, policy: Component, environment: Component, duration: Kernel) -> Kernel:
    for_policy, for_world = policy.kernels(), environment.kernels()
    init, begin = for_policy["init"], for_world["init"]
    play = _play(setting, policy, environment, duration)
    read_p, read_e = policy.inputs.reader("P"), environment.inputs.reader("E")
    read_s, read_w = policy.state.reader("S"), environment.state.reader("W")
    p_sizes, e_sizes = tuple_of(len(policy.dims)), tuple_of(len(environment.dims))
    read_plan = tuple_of(LENGTH)

    def block(  # type: ignore[no-untyped-def]
        p_cells, p_dims, e_cells, e_dims, plan, numbers, seed, first, last, checkpoints, out,
        control, cells, words, order,
    ):  # fmt: skip
        shapes = (p_sizes(p_dims), e_sizes(e_dims))
        p, e = read_p(p_cells, 0, shapes[0]), read_e(e_cells, 0, shapes[1])
        at = read_plan(plan)
        s, w = read_s(cells, at[STATE], shapes[0]), read_w(cells, at[ENVIRONMENT], shapes[1])
        for replication in range(first, last):
            for cell in range(len(cells)):
                cells[cell] = 0.0
            for row in range(at[WORKERS]):
                order[row] = row
            for stream in range(_STREAMS):
                purpose = _PURPOSES[stream]
                words[2 * stream] = words[2 * stream + 1] = streams.stream_key(
                    seed, replication, purpose
                )
            begin(e, w, 0, borrow_word(words, 2, (2,)))
            init(p, s, 0, borrow_word(words, 0, (2,)))
            column = replication - first
            refused = play(
                p, e, cells, words, order, numbers, at, shapes, checkpoints, out, control, column
            )
            if control[STOP] != 0:
                return
            if refused > 0:
                control[STOP] = 1
                control[REFUSED_ROUND] = refused
                control[REFUSED_REPLICATION] = replication
                return

    return block


def _play(setting: Setting, policy: Component, environment: Component, duration: Kernel) -> Kernel:
    """Return the compiled replication."""
    decide, answer = _decide(setting, policy, environment), _answer(policy, environment, duration)
    tell, measure = _tell(policy), _measure(policy, environment)
    read_s = policy.state.reader("S")

    @kernel
    def play(
        p: Any, e: Any, cells: Any, words: Any, order: Any, numbers: Any, at: Any, shapes: Any,
        checkpoints: Any, out: Any, control: Any, column: int,
    ) -> int:  # fmt: skip
        """Play one replication; return 0, or the round in which a decision was refused."""
        s, rng = read_s(cells, at[STATE], shapes[0]), borrow_word(words, 0, (2,))
        opened, imagined, now, c = 0, -1, 0.0, 0
        for t in range(1, checkpoints[len(checkpoints) - 1] + 1):
            if t % _SEGMENT == 0:
                control[ROUNDS_DONE] += _SEGMENT
                if control[STOP] != 0:
                    return 0
            if opened == at[WORKERS]:
                row = at[ROWS] + resolve_oldest(cells, order, opened, at) * at[WIDTH]
                now = cells[row + BACK]
                tell(p, s, rng, cells, row, at, shapes[0])
                opened, imagined = opened - 1, -1
            row = at[ROWS] + order[opened] * at[WIDTH]
            cells[row + ROUND], cells[row + TAKEN] = t, now
            if not decide(p, e, cells, words, order, at, shapes, t, opened, imagined):
                return t
            cells[row + BACK] = now + answer(e, cells, words, numbers, row, at, shapes, t)
            imagined = opened
            opened += 1
            if t == checkpoints[c]:
                end = measure(p, e, cells, words, order, at, shapes, t, opened, out, c, column)
                out[c, out.shape[1] - 1, column] = max(now, end)
                imagined = -1
                c += 1
        control[ROUNDS_DONE] += checkpoints[len(checkpoints) - 1] % _SEGMENT
        return 0

    return play


def _decide(setting: Setting, policy: Component, environment: Component) -> Kernel:
    """Return the compiled way from what is open to a decision."""
    ways = policy.channels
    observe = ways.context.producer(environment.kernels()["observe"], "e, w, t, rng")
    select = ways.decision.producer(policy.kernels()["select"], "p, s, t, rng, context")
    allowed, impute = add_checks(policy, setting), compile_imputation(policy)
    read_s, read_w = policy.state.reader("S"), environment.state.reader("W")
    read_context, write_context = ways.context.reader(), ways.context.writer()
    read_decision, write_decision = ways.decision.reader(), ways.decision.writer()

    @kernel
    def expect(p: Any, cells: Any, words: Any, row: int, now: float, at: Any, dims: Any) -> None:
        """Imagine an open decision on the copy."""
        seen, other = read_s(cells, at[COPY], dims), borrow_word(words, 4, (2,))
        age = (now - cells[row + TAKEN]) * at[AGED]
        context = read_context(cells, row + at[CONTEXT], dims)
        taken = read_decision(cells, row + at[DECISION], dims)
        impute(p, seen, int(cells[row + ROUND]), other, age, context, taken)

    @kernel
    def decide(
        p: Any, e: Any, cells: Any, words: Any, order: Any, at: Any, shapes: Any,
        t: int, opened: int, imagined: int,
    ) -> bool:  # fmt: skip
        """Decide in the row after those that are open; return whether that is allowed.

        So many of these are imagined on the copy; -1 is none, on a copy that is out of date.
        """
        dims = shapes[0]
        w, rng = read_w(cells, at[ENVIRONMENT], shapes[1]), borrow_word(words, 2, (2,))
        row = at[ROWS] + order[opened] * at[WIDTH]
        shown = observe(e, w, t, rng, cells, row + at[CONTEXT], dims)
        write_context(cells, row + at[CONTEXT], dims, shown)
        context = read_context(cells, row + at[CONTEXT], dims)
        s, rng = read_s(cells, at[COPY] * at[IMAGINE], dims), borrow_word(words, 0, (2,))
        if at[IMAGINE] == 1:
            if imagined < 0:
                copy_state(cells, at)
                words[4] = words[5] = streams.stream_key(rng[0], rng[1], streams.POLICY)
            for i in range(max(imagined, 0), opened):
                known = at[ROWS] + order[i] * at[WIDTH]
                expect(p, cells, words, known, cells[row + TAKEN], at, dims)
        decision = select(p, s, t, rng, context, cells, row + at[DECISION], dims)
        write_decision(cells, row + at[DECISION], dims, decision)
        return bool(allowed(p, context, decision))

    return decide


def _answer(policy: Component, environment: Component, duration: Kernel) -> Kernel:
    """Return the compiled drawing of what comes of a decision, and when."""
    ways = policy.channels
    respond = ways.feedback.producer(
        environment.kernels()["respond"], "e, w, t, rng, context, decision"
    )
    last_for, read_w = duration_sampler(ways, duration), environment.state.reader("W")
    read_context, read_decision = ways.context.reader(), ways.decision.reader()
    read_feedback, write_feedback = ways.feedback.reader(), ways.feedback.writer()

    @kernel
    def answer(
        e: Any, cells: Any, words: Any, numbers: Any, row: int, at: Any, shapes: Any, t: int
    ) -> float:
        """Write the feedback into the row; return for how long it is open."""
        dims = shapes[0]
        w, rng = read_w(cells, at[ENVIRONMENT], shapes[1]), borrow_word(words, 2, (2,))
        context = read_context(cells, row + at[CONTEXT], dims)
        taken = read_decision(cells, row + at[DECISION], dims)
        given = respond(e, w, t, rng, context, taken, cells, row + at[FEEDBACK], dims)
        write_feedback(cells, row + at[FEEDBACK], dims, given)
        told = read_feedback(cells, row + at[FEEDBACK], dims)
        return float(last_for(borrow_word(words, 6, (2,)), numbers, context, taken, told))

    return answer


def _tell(policy: Component) -> Kernel:
    """Return the compiled telling of one row."""
    ways, update = policy.channels, policy.kernels()["update"]
    read_context, read_decision = ways.context.reader(), ways.decision.reader()
    read_feedback = ways.feedback.reader()

    @kernel
    def tell(p: Any, s: Any, rng: Any, cells: Any, row: int, at: Any, dims: Any) -> None:
        context = read_context(cells, row + at[CONTEXT], dims)
        taken = read_decision(cells, row + at[DECISION], dims)
        told = read_feedback(cells, row + at[FEEDBACK], dims)
        update(p, s, int(cells[row + ROUND]), rng, context, taken, told)

    return tell


def _measure(policy: Component, environment: Component) -> Kernel:
    """Return the compiled taking of the metrics, once all that is open has come back on a copy."""
    tell, score = _tell(policy), environment.kernels()["score"]
    recommend = policy.channels.report.producer(policy.kernels()["recommend"], "p, s, t, rng")
    read_s, read_w = policy.state.reader("S"), environment.state.reader("W")
    read_metrics = environment.metrics.reader("Metrics")

    @kernel
    def measure(
        p: Any, e: Any, cells: Any, words: Any, order: Any, at: Any, shapes: Any, t: int,
        opened: int, out: Any, c: int, column: int,
    ) -> float:  # fmt: skip
        """Write the metrics; return when the last decision comes back."""
        s, w = read_s(cells, at[COPY], shapes[0]), read_w(cells, at[ENVIRONMENT], shapes[1])
        rng, listed, end = borrow_word(words, 4, (2,)), order[at[WORKERS] :], 0.0
        copy_state(cells, at)
        rng[0], rng[1] = words[0], words[1]
        for i in range(opened):
            listed[i] = order[i]
        for left in range(opened, 0, -1):
            row = at[ROWS] + resolve_oldest(cells, listed, left, at) * at[WIDTH]
            end = cells[row + BACK]
            tell(p, s, rng, cells, row, at, shapes[0])
        report = recommend(p, s, t, rng, cells, at[REPORT], shapes[0])
        for cell in range(at[METRICS], at[ROWS]):  # what `score` leaves out is no number
            cells[cell] = np.nan
        w_rng = borrow_word(words, 2, (2,))
        score(e, w, t, w_rng, report, read_metrics(cells, at[METRICS], shapes[1]))
        for m in range(out.shape[1] - 1):
            out[c, m, column] = cells[at[METRICS] + m]
        return end

    return measure
