"""The compiled loop that simulates several workers, who use one policy at the same time.

When a decision is taken, its feedback and duration are drawn, and written into a row of the memory.
When its worker is done, the policy is told the feedback: late, and in another order than the
decisions (see `keyhole.drivers.pending_decision_step`). At a checkpoint, a copy of the state
learns all pending feedback, in the order of arrival, and the policy recommends from that copy.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.kernel_compilation import (
    CompiledClass,
    bind_kernel,
    compiled_guard,
    driver_digest,
    tuple_reader,
)
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import FloatArray, IntArray, borrow_words
from keyhole.draws import streams
from keyhole.drivers.engine import (
    ARGUMENTS,
    REFUSED_REPLICATION,
    REFUSED_ROUND,
    ROUNDS_DONE,
    STOP,
    Sizes,
    input_readers,
    state_readers,
    stop_metrics_kernel,
    stop_test_kernel,
)
from keyhole.drivers.pending_decision_step import compile_imputation, imputation_kernels
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_decorators import kernel, numba_signature
from keyhole.metric import STOP_METRICS

# Rounds between two checks of the stop flag, as in the engine.
_SEGMENT: Final = 1024

# The cells of a row, which belongs to one decision: its round, when it was asked for, and when its
# feedback arrives; then context, decision and feedback. `HEADER` cells come before the context. The
# feedback is in the row from the start, since the environment answers when a decision is taken, and
# only telling is delayed.
ROUND, ASKED, ARRIVAL, HEADER = range(4)
# Entries of the memory plan: where the policy's state, its copy, the environment's state, report,
# metrics and rows begin; where context, decision and feedback begin within a row; the length of a
# row; the number of workers; whether pending feedback is imputed; and whether `impute` receives the
# ages of decisions (otherwise it receives 0). The plan has `LENGTH` entries.
(
    STATE, COPY, ENVIRONMENT, REPORT, METRICS, ROWS, CONTEXT, DECISION, FEEDBACK, WIDTH,
    WORKERS, IMPUTES, USES_AGES, LENGTH,
) = range(14)  # fmt: skip

# There are four random streams of two words each: the policy's, the environment's, the stream of
# imputed feedback, which is set before every use, and the stream of durations. Durations have a
# stream of their own, so that the n-th decision takes equally long under all policies (common
# random numbers).
PURPOSES: Final = (streams.POLICY, streams.ENVIRONMENT, streams.POLICY, streams.WORKERS)
STREAM_COUNT: Final = len(PURPOSES)
_POLICY_RNG, _ENVIRONMENT_RNG, _IMPUTED_RNG, _DURATION_RNG = range(0, 2 * STREAM_COUNT, 2)

# The arguments of the engine, and two more. `memory_plan` below makes the memory plan, and the last
# metric in `out` is the time.
SIGNATURE: Final = numba_signature(
    "void",
    *ARGUMENTS,
    "int64[::1]",  # the numbers of the rows in order, then room for a copy of them at checkpoints
    "float64[::1]",  # the numbers of the durations' distribution
)


def memory_plan(
    policy: CompiledClass, environment: CompiledClass, sizes: Sizes, e_sizes: Sizes,
    *, workers: int, impute: bool, ages: bool,
) -> IntArray:  # fmt: skip
    """Return the offsets of everything that a block works on, then the options of the loop.

    `impute` says whether pending feedback is imputed, `ages` whether `impute` receives ages.
    """
    records = policy.records
    state_size = policy.state.size(sizes)
    # The main state is first; it has learnt the feedback that arrived, and nothing else. Its copy,
    # with the same layout, is right behind it. `copy_main_state` and the choice between the two
    # (`plan[COPY] * plan[IMPUTES]`) rely on this order.
    starts = [0, state_size, 2 * state_size]
    starts.append(starts[-1] + environment.state.size(e_sizes))
    starts.append(starts[-1] + records.report.layout.size(sizes))
    starts.append(starts[-1] + environment.metrics.size(e_sizes))
    row_starts = [HEADER]
    for record in (records.context, records.decision, records.feedback):
        row_starts.append(row_starts[-1] + record.layout.size(sizes))
    return np.array([*starts, *row_starts, workers, impute, ages], np.int64)


def make_memory(plan: IntArray, numbers: FloatArray) -> tuple[NDArray[Any], ...]:
    """Return the memory of one block: cells, random streams, the order of rows, and `numbers`."""
    workers = int(plan[WORKERS])
    cells = np.empty(int(plan[ROWS]) + workers * int(plan[WIDTH]))
    return cells, np.empty(2 * STREAM_COUNT, np.uint64), np.empty(2 * workers, np.int64), numbers


@kernel
def copy_main_state(cells: FloatArray, plan: Any) -> None:
    """Overwrite the copy with the main state."""
    for cell in range(plan[STATE], plan[COPY]):
        cells[plan[COPY] + cell] = cells[cell]


@kernel
def take_first_arrival(cells: FloatArray, order: IntArray, pending: int, plan: Any) -> int:
    """Free the row whose feedback arrives first, and return its number.

    If several arrive at the same time, the feedback to the earliest decision counts as the first.
    """
    # Rows stay where they are. `order` has the numbers of the pending rows, in the order in which
    # their decisions were taken, and then the numbers of the free rows. The search is linear, since
    # there are few workers.
    first = 0
    for i in range(1, pending):
        arrival = cells[plan[ROWS] + order[i] * plan[WIDTH] + ARRIVAL]
        if arrival < cells[plan[ROWS] + order[first] * plan[WIDTH] + ARRIVAL]:
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

    The kernel `duration` draws how long a decision is pending. It may name ``rng``, ``numbers``,
    and the setting's context, decision and feedback.
    """
    kernels = (setting.allowed, duration, *imputation_kernels(policy))
    digest = driver_digest("asynchronous", policy, environment, *kernels)
    owner = f"{policy.owner.__name__} with workers in {environment.owner.__name__}"
    return compile_cached(
        owner, digest, lambda: _build_loop(setting, policy, environment, duration), SIGNATURE
    )


def _build_loop(
    setting: Setting, policy: CompiledClass, environment: CompiledClass, duration: Kernel
) -> Kernel:
    init = policy.kernels()["init"]
    init_environment = environment.kernels()["init"]
    play = _compile_replication(setting, policy, environment, duration)
    read_p, read_e = input_readers(policy, environment)
    read_s, read_es = state_readers(policy, environment)
    read_p_dims = tuple_reader(len(policy.dims))
    read_e_dims = tuple_reader(len(environment.dims))
    read_plan = tuple_reader(LENGTH)

    def play_block(  # type: ignore[no-untyped-def]
        p_cells, p_dims, e_cells, e_dims, plan_vector, wrong, seed, first, last, checkpoints, out,
        control, cells, rngs, order, numbers,
    ):  # fmt: skip
        # The lengths of arrays, such as `arms`: the policy's, then the environment's.
        shapes = (read_p_dims(p_dims), read_e_dims(e_dims))
        p = read_p(p_cells, 0, shapes[0])
        e = read_e(e_cells, 0, shapes[1])
        # The entries of a tuple are kept in registers. The entries of a vector would be loaded
        # again after a store, which might have changed them.
        plan = read_plan(plan_vector)
        s = read_s(cells, plan[STATE], shapes[0])
        es = read_es(cells, plan[ENVIRONMENT], shapes[1])
        for replication in range(first, last):
            # All replications use one memory, so what the previous replication has left is erased.
            cells[:] = 0.0
            for row in range(plan[WORKERS]):
                order[row] = row
            for stream in range(STREAM_COUNT):
                key = streams.stream_key(seed, replication, PURPOSES[stream])
                rngs[2 * stream] = rngs[2 * stream + 1] = key
            init_environment(e, es, 0, borrow_words(rngs, _ENVIRONMENT_RNG, (2,)))
            init(p, s, 0, borrow_words(rngs, _POLICY_RNG, (2,)))
            column = replication - first
            refused_round = play(
                p, e, cells, rngs, order, numbers, plan, shapes, wrong, checkpoints, out, control,
                column,
            )  # fmt: skip
            if control[STOP] != 0:
                return
            if refused_round > 0:
                control[STOP] = 1
                control[REFUSED_ROUND] = refused_round
                control[REFUSED_REPLICATION] = replication
                return

    return play_block


def _compile_replication(
    setting: Setting, policy: CompiledClass, environment: CompiledClass, duration: Kernel
) -> Kernel:
    """Return the compiled function that plays one replication."""
    decide = _compile_decide(setting, policy, environment)
    draw_feedback = _compile_draw(policy, environment, duration)
    tell = _compile_tell(policy)
    measure = _compile_measure(policy, environment)
    is_stopped = stop_test_kernel(policy)
    read_s = policy.state.reader("S")

    @kernel
    def play(  # type: ignore[no-untyped-def]
        p, e, cells, rngs, order, numbers, plan, shapes, wrong, checkpoints, out, control, column
    ):
        """Play one replication; return 0, or the round in which a decision was refused."""
        s = read_s(cells, plan[STATE], shapes[0])
        rng = borrow_words(rngs, _POLICY_RNG, (2,))
        pending = 0  # the number of pending decisions
        imputed_count = -1
        now = 0.0
        c = 0
        for t in range(1, checkpoints[len(checkpoints) - 1] + 1):
            if t % _SEGMENT == 0:
                control[ROUNDS_DONE] += _SEGMENT
                if control[STOP] != 0:
                    return 0
            # Time moves only here: a worker is free as soon as its feedback arrives. The feedback
            # changes the main state, so the copy is stale (`imputed_count` is -1).
            if pending == plan[WORKERS]:
                row = plan[ROWS] + take_first_arrival(cells, order, pending, plan) * plan[WIDTH]
                now = cells[row + ARRIVAL]
                tell(p, s, rng, cells, row, plan, shapes[0])
                pending -= 1
                imputed_count = -1
            if is_stopped(s):
                # The policy takes no decision after round t - 1. At each remaining checkpoint,
                # `measure` tells the feedback that is still pending, as if the run went on.
                for k in range(c, len(checkpoints)):
                    last_arrival = measure(
                        p, e, cells, rngs, order, plan, shapes, wrong, t - 1, pending, out, k,
                        column,
                    )  # fmt: skip
                    out[k, out.shape[1] - 1, column] = max(now, last_arrival)
                return 0
            row = plan[ROWS] + order[pending] * plan[WIDTH]
            cells[row + ROUND] = t
            cells[row + ASKED] = now
            if not decide(p, e, cells, rngs, order, plan, shapes, t, pending, imputed_count):
                return t
            cells[row + ARRIVAL] = now + draw_feedback(
                e, cells, rngs, numbers, row, plan, shapes, t
            )
            # The copy has all pending decisions but the new one, which the next `decide` imputes.
            imputed_count = pending
            pending += 1
            if t == checkpoints[c]:
                # `measure` overwrites the copy, which is stale afterwards.
                last_arrival = measure(
                    p, e, cells, rngs, order, plan, shapes, wrong, t, pending, out, c, column
                )
                out[c, out.shape[1] - 1, column] = max(now, last_arrival)
                imputed_count = -1
                c += 1
        control[ROUNDS_DONE] += checkpoints[len(checkpoints) - 1] % _SEGMENT
        return 0

    return play


def _compile_decide(setting: Setting, policy: CompiledClass, environment: CompiledClass) -> Kernel:
    """Return the compiled function that takes the next decision, given the pending decisions."""
    records = policy.records
    observe = records.context.make_caller(environment.kernels()["observe"], "e, es, t, rng")
    select = records.decision.make_caller(policy.kernels()["select"], "p, s, t, rng, context")
    allowed = compiled_guard(policy, setting)
    impute = compile_imputation(policy)
    read_s, read_es = state_readers(policy, environment)
    read_context, read_decision, _ = records.readers()
    write_context = records.context.writer()
    write_decision = records.decision.writer()

    @kernel
    def decide(p, e, cells, rngs, order, plan, shapes, t, pending, imputed_count):  # type: ignore[no-untyped-def]
        """Take a decision in the row after the pending rows; return whether it is allowed.

        The copy has the imputed feedback of the first `imputed_count` pending decisions. If
        `imputed_count` is -1, the copy is stale.
        """
        dims = shapes[0]
        es = read_es(cells, plan[ENVIRONMENT], shapes[1])
        row = plan[ROWS] + order[pending] * plan[WIDTH]
        e_rng = borrow_words(rngs, _ENVIRONMENT_RNG, (2,))
        observed_context = observe(e, es, t, e_rng, cells, row + plan[CONTEXT], dims)
        write_context(cells, row + plan[CONTEXT], dims, observed_context)
        context = read_context(cells, row + plan[CONTEXT], dims)
        # Without imputation the product is 0, where the main state begins.
        s = read_s(cells, plan[COPY] * plan[IMPUTES], dims)
        rng = borrow_words(rngs, _POLICY_RNG, (2,))
        if plan[IMPUTES] == 1:
            copy_rng = borrow_words(rngs, _IMPUTED_RNG, (2,))
            if imputed_count < 0:
                copy_main_state(cells, plan)
                # Imputation has a stream of its own, derived from the policy's. It must not move
                # the policy's stream, whose draws would then depend on how many decisions are
                # pending.
                copy_rng[0] = copy_rng[1] = streams.stream_key(rng[0], rng[1], streams.POLICY)
            for i in range(max(imputed_count, 0), pending):
                pending_row = plan[ROWS] + order[i] * plan[WIDTH]
                age = (cells[row + ASKED] - cells[pending_row + ASKED]) * plan[USES_AGES]
                pending_context = read_context(cells, pending_row + plan[CONTEXT], dims)
                pending_decision = read_decision(cells, pending_row + plan[DECISION], dims)
                pending_round = int(cells[pending_row + ROUND])
                impute(p, s, pending_round, copy_rng, age, pending_context, pending_decision)
        decision = select(p, s, t, rng, context, cells, row + plan[DECISION], dims)
        write_decision(cells, row + plan[DECISION], dims, decision)
        return bool(allowed(p, context, decision))

    return decide


def _compile_draw(policy: CompiledClass, environment: CompiledClass, duration: Kernel) -> Kernel:
    """Return the compiled function that draws a decision's feedback and duration."""
    records = policy.records
    respond = records.feedback.make_caller(
        environment.kernels()["respond"], "e, es, t, rng, context, decision"
    )
    expressions = {"rng": "rng", "numbers": "numbers"}
    for group in ("context", "decision", "feedback"):
        expressions |= records.layout_of(group).value_expressions(group)
    args = "rng, numbers, context, decision, feedback"
    draw_duration = bind_kernel("duration", duration, args, expressions, {})
    read_es = environment.state.reader("ES")
    read_context, read_decision, read_feedback = records.readers()
    write_feedback = records.feedback.writer()

    @kernel
    def draw_feedback(e, cells, rngs, numbers, row, plan, shapes, t):  # type: ignore[no-untyped-def]
        """Write the feedback into the row; return for how long the decision is pending."""
        dims = shapes[0]
        es = read_es(cells, plan[ENVIRONMENT], shapes[1])
        e_rng = borrow_words(rngs, _ENVIRONMENT_RNG, (2,))
        context = read_context(cells, row + plan[CONTEXT], dims)
        decision = read_decision(cells, row + plan[DECISION], dims)
        feedback_at = row + plan[FEEDBACK]
        response = respond(e, es, t, e_rng, context, decision, cells, feedback_at, dims)
        write_feedback(cells, feedback_at, dims, response)
        feedback = read_feedback(cells, feedback_at, dims)
        rng = borrow_words(rngs, _DURATION_RNG, (2,))
        return float(draw_duration(rng, numbers, context, decision, feedback))

    return draw_feedback


def _compile_tell(policy: CompiledClass) -> Kernel:
    """Return the compiled function that tells the policy the feedback in one row."""
    update = policy.kernels()["update"]
    read_context, read_decision, read_feedback = policy.records.readers()

    @kernel
    def tell(p, s, rng, cells, row, plan, dims):  # type: ignore[no-untyped-def]
        context = read_context(cells, row + plan[CONTEXT], dims)
        decision = read_decision(cells, row + plan[DECISION], dims)
        feedback = read_feedback(cells, row + plan[FEEDBACK], dims)
        update(p, s, int(cells[row + ROUND]), rng, context, decision, feedback)

    return tell


def _compile_measure(policy: CompiledClass, environment: CompiledClass) -> Kernel:
    """Return the compiled function that computes the metrics at a checkpoint.

    All pending feedback is told on a copy of the state, so that no later round is affected.
    """
    tell = _compile_tell(policy)
    score = environment.kernels()["score"]
    write_stop_metrics = stop_metrics_kernel(policy)
    stop_metric_count = len(STOP_METRICS) if policy.can_stop else 0
    recommend = policy.records.report.make_caller(policy.kernels()["recommend"], "p, s, t, rng")
    read_s, read_es = state_readers(policy, environment)
    read_metrics = environment.metrics.reader("Metrics")

    @kernel
    def measure(p, e, cells, rngs, order, plan, shapes, wrong, t, pending, out, c, column):  # type: ignore[no-untyped-def]
        """Write the metrics; return when the feedback of the last pending decision arrives."""
        # State, stream and order are copied, so that a checkpoint does not affect later rounds.
        copy_main_state(cells, plan)
        s = read_s(cells, plan[COPY], shapes[0])
        es = read_es(cells, plan[ENVIRONMENT], shapes[1])
        rng = borrow_words(rngs, _IMPUTED_RNG, (2,))
        rng[0] = rngs[_POLICY_RNG]
        rng[1] = rngs[_POLICY_RNG + 1]
        order_copy = order[plan[WORKERS] :]
        for i in range(pending):
            order_copy[i] = order[i]
        last_arrival = 0.0
        for remaining in range(pending, 0, -1):
            row = plan[ROWS] + take_first_arrival(cells, order_copy, remaining, plan) * plan[WIDTH]
            last_arrival = cells[row + ARRIVAL]
            tell(p, s, rng, cells, row, plan, shapes[0])
        report = recommend(p, s, t, rng, cells, plan[REPORT], shapes[0])
        for cell in range(plan[METRICS], plan[ROWS]):  # a metric that `score` leaves out is NaN
            cells[cell] = np.nan
        metrics = read_metrics(cells, plan[METRICS], shapes[1])
        e_rng = borrow_words(rngs, _ENVIRONMENT_RNG, (2,))
        score(e, es, t, e_rng, report, metrics)
        first_stop_metric = out.shape[1] - 1 - stop_metric_count
        for m in range(first_stop_metric):
            out[c, m, column] = cells[plan[METRICS] + m]
        write_stop_metrics(s, wrong, t, out, c, first_stop_metric, column)
        return last_arrival

    return measure
