"""The compiled loop that simulates several workers, who use one policy at the same time.

A policy is a rule that chooses among options. A worker asks it for a decision, is busy for some
time, and tells it what came of that (the feedback). The memory has a row for each decision without
feedback yet.

A decision's feedback and duration are drawn when it is taken, and the feedback is told when its
worker is done: late, and in another order (see `keyhole.drivers.pending_step`). At a checkpoint,
all pending feedback is told on a copy of the state, in the order of its arrival, and the policy
recommends from that copy.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import (
    CompiledClass,
    bind_kernel,
    compiled_guard,
    driver_digest,
    tuple_reader,
)
from keyhole.contract.kernel_signatures import KernelRecords
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import FloatArray, IntArray, borrow_word
from keyhole.draws import streams
from keyhole.drivers.engine import (
    REFUSED_REPLICATION,
    REFUSED_ROUND,
    ROUNDS_DONE,
    STOP,
    Sizes,
    compile_is_stopped,
    compile_stop_metrics,
)
from keyhole.drivers.pending_step import compile_imputation, imputation_kernels
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_declaration import kernel, signature
from keyhole.metric import STOP_METRICS

# Rounds between two checks of the stop flag: as in the engine.
_SEGMENT: Final = 1024

# The cells of a row: its round, when it was asked for, when its feedback arrives; then its context,
# its decision and its feedback. A row holds the feedback from the start: the environment answers
# when a decision is taken, and only telling is delayed.
ROUND, ASKED, RETURNS, HEADER = range(4)
# Entries of the memory plan: where state, copy, the environment's state, report, metrics and rows
# begin; where in a row context, decision and feedback do; how long a row is; how many workers there
# are, whether pending feedback is imputed, and whether ages are consumption.
(
    STATE, COPY, ENVIRONMENT, REPORT, METRICS, ROWS, CONTEXT, DECISION, FEEDBACK, WIDTH,
    WORKERS, IMPUTES, AGED, LENGTH,
) = range(14)  # fmt: skip

# Random streams of two words each: the policy's, the environment's, that of imputed feedback, which
# is set before every use, and that of durations. Durations have their own, so that the n-th
# decision takes equally long under all policies (common random numbers).
PURPOSES: Final = (streams.POLICY, streams.ENVIRONMENT, streams.POLICY, streams.WORKERS)
STREAMS: Final = len(PURPOSES)

SIGNATURE: Final = signature(
    "void",
    "float64[::1]",  # the policy's inputs
    "int64[::1]",  # the integers that its shapes refer to
    "float64[::1]",  # the environment's inputs
    "int64[::1]",  # the integers that its shapes refer to
    "int64[::1]",  # the memory plan: see `memory_plan`
    "float64[::1]",  # which verdicts of a policy that can stop are wrong, arm by arm
    "float64[::1]",  # the numbers of the durations' distribution
    "uint64",  # seed
    "int64",  # first replication
    "int64",  # one past the last
    "int64[::1]",  # checkpoints
    "float64[:, :, ::1]",  # out: checkpoint x metric x replication, the clock last
    "int64[::1]",  # control, as of the engine
    "float64[::1]",  # scratch
    "uint64[::1]",  # streams
    "int64[::1]",  # the rows in order, then room for a second order at checkpoints
)


def memory_plan(
    policy: CompiledClass, environment: CompiledClass, sizes: Sizes, e_sizes: Sizes,
    *, workers: int, impute: bool, aged: bool,
) -> IntArray:  # fmt: skip
    """Return the offsets of everything that a block works on, and the switches of the loop."""
    records = policy.records
    state = policy.state.size(sizes)
    # The settled state is first, and its copy has the same layout right behind it: `copy_state`
    # and the choice between the two (`at[COPY] * at[IMPUTES]`) rely on both.
    starts = [0, state, 2 * state]
    starts.append(starts[-1] + environment.state.size(e_sizes))
    starts.append(starts[-1] + records.report.layout.size(sizes))
    starts.append(starts[-1] + environment.metrics.size(e_sizes))
    row = [HEADER]
    for channel in (records.context, records.decision, records.feedback):
        row.append(row[-1] + channel.layout.size(sizes))
    return np.array([*starts, *row, workers, impute, aged], np.int64)


def working_memory(plan: IntArray) -> tuple[FloatArray, NDArray[np.uint64], IntArray]:
    """Return the memory of one block: cells, random streams, and the order of rows."""
    workers = int(plan[WORKERS])
    cells = int(plan[ROWS]) + workers * int(plan[WIDTH])
    return np.empty(cells), np.empty(2 * STREAMS, np.uint64), np.empty(2 * workers, np.int64)


@kernel
def copy_state(cells: FloatArray, at: Any) -> None:
    """Overwrite the copy with the settled state."""
    for cell in range(at[STATE], at[COPY]):
        cells[at[COPY] + cell] = cells[cell]


@kernel
def take_first_arrival(cells: FloatArray, order: IntArray, pending: int, at: Any) -> int:
    """Return the row whose feedback arrives first, taken out of the pending rows.

    Of equal times, the decision that was taken first comes first.
    """
    # Rows do not move: `order` has their numbers, the pending ones first, in the order in which
    # they were taken, then the free ones. The search is linear: there are few workers.
    first = 0
    for i in range(1, pending):
        back = cells[at[ROWS] + order[i] * at[WIDTH] + RETURNS]
        if back < cells[at[ROWS] + order[first] * at[WIDTH] + RETURNS]:
            first = i
    row = order[first]
    for i in range(first, pending - 1):
        order[i] = order[i + 1]
    order[pending - 1] = row
    return int(row)


def compiled_asynchronous_loop(
    setting: Setting, policy: CompiledClass, environment: CompiledClass, duration: Kernel
) -> Kernel:
    """Return the machine code for a policy in an environment; `SIGNATURE` has its arguments.

    `duration` is a kernel that draws how long a decision is pending. It may name ``rng``,
    ``numbers``, and the setting's context, decision and feedback.
    """
    kernels = (setting.allowed, duration, *imputation_kernels(policy))
    digest = driver_digest("asynchronous", policy, environment, *kernels)
    owner = f"{policy.owner.__name__} with workers in {environment.owner.__name__}"
    return compile_cached(
        owner, digest, lambda: _build(setting, policy, environment, duration), SIGNATURE
    )


def compile_duration(records: KernelRecords, duration: Kernel) -> Kernel:
    """Return the compiled ``(rng, numbers, context, decision, feedback)`` that draws a duration."""
    found = {"rng": "rng", "numbers": "numbers"}
    for group in ("context", "decision", "feedback"):
        found |= records.of(group).expressions(group)
    return bind_kernel("duration", duration, "rng, numbers, context, decision, feedback", found, {})


def _build(
    setting: Setting, policy: CompiledClass, environment: CompiledClass, duration: Kernel
) -> Kernel:
    policy_kernels, environment_kernels = policy.kernels(), environment.kernels()
    init, init_environment = policy_kernels["init"], environment_kernels["init"]
    play = _compile_replication(setting, policy, environment, duration)
    read_p, read_e = policy.inputs.reader("P"), environment.inputs.reader("E")
    read_s, read_es = policy.state.reader("S"), environment.state.reader("ES")
    read_p_dims, read_e_dims = tuple_reader(len(policy.dims)), tuple_reader(len(environment.dims))
    read_plan = tuple_reader(LENGTH)

    def block(  # type: ignore[no-untyped-def]
        p_cells, p_dims, e_cells, e_dims, plan, wrong, numbers, seed, first, last, checkpoints,
        out, control, cells, words, order,
    ):  # fmt: skip
        shapes = (read_p_dims(p_dims), read_e_dims(e_dims))
        p, e = read_p(p_cells, 0, shapes[0]), read_e(e_cells, 0, shapes[1])
        # The plan as a tuple: at[STATE] is the cell at which the state begins, and so on. As a
        # tuple, its entries are values in registers, not loads that a store might change.
        at = read_plan(plan)
        s, es = read_s(cells, at[STATE], shapes[0]), read_es(cells, at[ENVIRONMENT], shapes[1])
        for replication in range(first, last):
            # One memory for all replications: whatever the previous one left must go.
            cells[:] = 0.0
            for row in range(at[WORKERS]):
                order[row] = row
            for stream in range(STREAMS):
                key = streams.stream_key(seed, replication, PURPOSES[stream])
                words[2 * stream] = words[2 * stream + 1] = key
            init_environment(e, es, 0, borrow_word(words, 2, (2,)))
            init(p, s, 0, borrow_word(words, 0, (2,)))
            column = replication - first
            refused = play(
                p, e, cells, words, order, numbers, at, shapes, wrong, checkpoints, out, control,
                column,
            )  # fmt: skip
            if control[STOP] != 0:
                return
            if refused > 0:
                control[STOP] = 1
                control[REFUSED_ROUND] = refused
                control[REFUSED_REPLICATION] = replication
                return

    return block


def _compile_replication(
    setting: Setting, policy: CompiledClass, environment: CompiledClass, duration: Kernel
) -> Kernel:
    """Return the compiled function that plays one replication."""
    decide, read_s = _compile_decide(setting, policy, environment), policy.state.reader("S")
    draw_feedback = _compile_draw(policy, environment, duration)
    tell, measure = _compile_tell(policy), _compile_measure(policy, environment)
    is_stopped = compile_is_stopped(policy)

    @kernel
    def play(
        p: Any, e: Any, cells: Any, words: Any, order: Any, numbers: Any, at: Any, shapes: Any,
        wrong: Any, checkpoints: Any, out: Any, control: Any, column: int,
    ) -> int:  # fmt: skip
        """Play one replication; return 0, or the round in which a decision was refused."""
        s, rng = read_s(cells, at[STATE], shapes[0]), borrow_word(words, 0, (2,))
        pending, imputed, now, c = 0, -1, 0.0, 0
        for t in range(1, checkpoints[len(checkpoints) - 1] + 1):
            if t % _SEGMENT == 0:
                control[ROUNDS_DONE] += _SEGMENT
                if control[STOP] != 0:
                    return 0
            # Time moves only here: a worker is free at the moment at which its feedback arrives.
            # The feedback changes the settled state, so the copy is stale from now on (-1).
            if pending == at[WORKERS]:
                row = at[ROWS] + take_first_arrival(cells, order, pending, at) * at[WIDTH]
                now = cells[row + RETURNS]
                tell(p, s, rng, cells, row, at, shapes[0])
                pending, imputed = pending - 1, -1
            if is_stopped(s):
                # What is still pending is told at each checkpoint, as if the run went on.
                for k in range(c, len(checkpoints)):
                    end = measure(
                        p, e, cells, words, order, at, shapes, wrong, t - 1, pending, out, k, column
                    )
                    out[k, out.shape[1] - 1, column] = max(now, end)
                return 0
            row = at[ROWS] + order[pending] * at[WIDTH]
            cells[row + ROUND], cells[row + ASKED] = t, now
            if not decide(p, e, cells, words, order, at, shapes, t, pending, imputed):
                return t
            cells[row + RETURNS] = now + draw_feedback(e, cells, words, numbers, row, at, shapes, t)
            # The new decision is not on the copy yet; the next `decide` imputes it alone.
            imputed = pending
            pending += 1
            if t == checkpoints[c]:
                # It overwrites the copy, which is then stale.
                end = measure(
                    p, e, cells, words, order, at, shapes, wrong, t, pending, out, c, column
                )
                out[c, out.shape[1] - 1, column] = max(now, end)
                imputed = -1
                c += 1
        control[ROUNDS_DONE] += checkpoints[len(checkpoints) - 1] % _SEGMENT
        return 0

    return play


def _compile_decide(setting: Setting, policy: CompiledClass, environment: CompiledClass) -> Kernel:
    """Return the compiled function that takes the next decision, given the pending ones."""
    records = policy.records
    observe = records.context.producer(environment.kernels()["observe"], "e, es, t, rng")
    select = records.decision.producer(policy.kernels()["select"], "p, s, t, rng, context")
    allowed, impute = compiled_guard(policy, setting), compile_imputation(policy)
    read_s, read_es = policy.state.reader("S"), environment.state.reader("ES")
    read_context, write_context = records.context.reader(), records.context.writer()
    read_decision, write_decision = records.decision.reader(), records.decision.writer()

    @kernel
    def impute_at(p: Any, cells: Any, words: Any, row: int, now: float, at: Any, dims: Any) -> None:
        """Learn the imputed feedback of one pending decision, on the copy."""
        copy, copy_rng = read_s(cells, at[COPY], dims), borrow_word(words, 4, (2,))
        age = (now - cells[row + ASKED]) * at[AGED]
        context = read_context(cells, row + at[CONTEXT], dims)
        decision = read_decision(cells, row + at[DECISION], dims)
        impute(p, copy, int(cells[row + ROUND]), copy_rng, age, context, decision)

    @kernel
    def decide(
        p: Any, e: Any, cells: Any, words: Any, order: Any, at: Any, shapes: Any,
        t: int, pending: int, imputed: int,
    ) -> bool:  # fmt: skip
        """Take a decision in the row after the pending ones; return whether it is allowed.

        The first `imputed` pending decisions are on the copy already; -1 means that the copy is
        stale.
        """
        dims = shapes[0]
        es, rng = read_es(cells, at[ENVIRONMENT], shapes[1]), borrow_word(words, 2, (2,))
        row = at[ROWS] + order[pending] * at[WIDTH]
        observed = observe(e, es, t, rng, cells, row + at[CONTEXT], dims)
        write_context(cells, row + at[CONTEXT], dims, observed)
        context = read_context(cells, row + at[CONTEXT], dims)
        # The settled state begins at cell 0: without imputation, the product chooses it.
        s, rng = read_s(cells, at[COPY] * at[IMPUTES], dims), borrow_word(words, 0, (2,))
        if at[IMPUTES] == 1:
            if imputed < 0:
                copy_state(cells, at)
                # A stream of its own, derived from the policy's: imputation must not move the
                # policy's stream, whose draws would then depend on how many decisions are pending.
                words[4] = words[5] = streams.stream_key(rng[0], rng[1], streams.POLICY)
            for i in range(max(imputed, 0), pending):
                row_of_pending = at[ROWS] + order[i] * at[WIDTH]
                impute_at(p, cells, words, row_of_pending, cells[row + ASKED], at, dims)
        decision = select(p, s, t, rng, context, cells, row + at[DECISION], dims)
        write_decision(cells, row + at[DECISION], dims, decision)
        return bool(allowed(p, context, decision))

    return decide


def _compile_draw(policy: CompiledClass, environment: CompiledClass, duration: Kernel) -> Kernel:
    """Return the compiled function that draws a decision's feedback and duration."""
    records = policy.records
    respond = records.feedback.producer(
        environment.kernels()["respond"], "e, es, t, rng, context, decision"
    )
    draw_duration, read_es = compile_duration(records, duration), environment.state.reader("ES")
    read_context, read_decision = records.context.reader(), records.decision.reader()
    read_feedback, write_feedback = records.feedback.reader(), records.feedback.writer()

    @kernel
    def draw_feedback(
        e: Any, cells: Any, words: Any, numbers: Any, row: int, at: Any, shapes: Any, t: int
    ) -> float:
        """Write the feedback into the row; return for how long the decision is pending."""
        dims = shapes[0]
        es, rng = read_es(cells, at[ENVIRONMENT], shapes[1]), borrow_word(words, 2, (2,))
        context = read_context(cells, row + at[CONTEXT], dims)
        decision = read_decision(cells, row + at[DECISION], dims)
        returned = respond(e, es, t, rng, context, decision, cells, row + at[FEEDBACK], dims)
        write_feedback(cells, row + at[FEEDBACK], dims, returned)
        feedback, rng = read_feedback(cells, row + at[FEEDBACK], dims), borrow_word(words, 6, (2,))
        return float(draw_duration(rng, numbers, context, decision, feedback))

    return draw_feedback


def _compile_tell(policy: CompiledClass) -> Kernel:
    """Return the compiled function that tells the policy the feedback in one row."""
    records, update = policy.records, policy.kernels()["update"]
    read_context, read_decision = records.context.reader(), records.decision.reader()
    read_feedback = records.feedback.reader()

    @kernel
    def tell(p: Any, s: Any, rng: Any, cells: Any, row: int, at: Any, dims: Any) -> None:
        context = read_context(cells, row + at[CONTEXT], dims)
        decision = read_decision(cells, row + at[DECISION], dims)
        feedback = read_feedback(cells, row + at[FEEDBACK], dims)
        update(p, s, int(cells[row + ROUND]), rng, context, decision, feedback)

    return tell


def _compile_measure(policy: CompiledClass, environment: CompiledClass) -> Kernel:
    """Return the compiled function that computes the metrics at a checkpoint.

    All pending feedback is told on a copy of the state, so that no later round is affected.
    """
    tell, score = _compile_tell(policy), environment.kernels()["score"]
    write_stop_metrics = compile_stop_metrics(policy)
    stop_metrics = len(STOP_METRICS) if policy.can_stop else 0
    recommend = policy.records.report.producer(policy.kernels()["recommend"], "p, s, t, rng")
    read_s, read_es = policy.state.reader("S"), environment.state.reader("ES")
    read_metrics = environment.metrics.reader("Metrics")

    @kernel
    def measure(
        p: Any, e: Any, cells: Any, words: Any, order: Any, at: Any, shapes: Any, wrong: Any,
        t: int, pending: int, out: Any, c: int, column: int,
    ) -> float:  # fmt: skip
        """Write the metrics; return when the feedback of the last pending decision arrives."""
        # On copies of state, stream and order, so that a checkpoint does not affect later rounds.
        s, es = read_s(cells, at[COPY], shapes[0]), read_es(cells, at[ENVIRONMENT], shapes[1])
        rng, listed, end = borrow_word(words, 4, (2,)), order[at[WORKERS] :], 0.0
        copy_state(cells, at)
        rng[0], rng[1] = words[0], words[1]
        for i in range(pending):
            listed[i] = order[i]
        for left in range(pending, 0, -1):
            row = at[ROWS] + take_first_arrival(cells, listed, left, at) * at[WIDTH]
            end = cells[row + RETURNS]
            tell(p, s, rng, cells, row, at, shapes[0])
        report = recommend(p, s, t, rng, cells, at[REPORT], shapes[0])
        for cell in range(at[METRICS], at[ROWS]):  # a metric that `score` leaves out is NaN
            cells[cell] = np.nan
        metrics, e_rng = read_metrics(cells, at[METRICS], shapes[1]), borrow_word(words, 2, (2,))
        score(e, es, t, e_rng, report, metrics)
        kept = out.shape[1] - 1 - stop_metrics
        for m in range(kept):
            out[c, m, column] = cells[at[METRICS] + m]
        write_stop_metrics(s, wrong, t, out, c, kept, column)
        return end

    return measure
