"""The engine: the compiled loop that simulates many replications of one policy in one environment.

Eight replications, the *lanes*, are played in turn, round by round. A single lane would be bound by
latency, since every decision waits for the update before it. Each round has two passes: the
decisions of all lanes, then their feedback and updates. A whole round has more instructions than a
processor looks ahead, but a decision is short enough to overlap with other lanes' decisions
(measured in docs/performance.md). Lanes and passes cannot change a result, since each replication
has its own random streams and memory. One call plays a *block*, a range of replications.
"""

from collections.abc import Mapping
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
from keyhole.contract.state_arrays import FloatArray, IntArray, borrow_words
from keyhole.draws.streams import ENVIRONMENT, POLICY, stream_key
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_decorators import kernel, numba_signature
from keyhole.metric import STOP_METRICS

Sizes = Mapping[str, int]

LANES: Final = 8
# Rounds between two checks of the stop flag. For any policy, they take well under a second, but
# long enough that the check does not count.
_SEGMENT: Final = 1024
# A cache line has eight cells of 8 bytes. States of different lanes lie on different lines; blocks
# of other threads have buffers of their own.
_LINE_CELLS: Final = 8

# Cells of the control vector that a running block shares with its caller.
STOP, ROUNDS_DONE, REFUSED_ROUND, REFUSED_REPLICATION = range(4)

# Entries of the memory plan. The first two are the lengths of a lane's cells (of the policy, and of
# the environment), the others offsets; `_CONTEXT` and `_DECISION` count from a lane's policy cells.
_POLICY_CELLS, _ENVIRONMENT_CELLS, _ENVIRONMENTS_START = range(3)
_CONTEXT, _DECISION, _FEEDBACK, _REPORT, _METRICS = range(3, 8)

ARGUMENTS: Final = (
    "float64[::1]",  # the policy's inputs
    "int64[::1]",  # the sizes in the policy's shapes, then a zero: a vector must not be empty
    "float64[::1]",  # the environment's inputs
    "int64[::1]",  # the sizes in the environment's shapes, then a zero
    "int64[::1]",  # the memory plan: see `memory_plan`
    "float64[::1]",  # 1 for each wrong verdict on an arm, else 0: arms x verdicts
    "uint64",  # seed
    "int64",  # first replication
    "int64",  # one past the last replication
    "int64[::1]",  # checkpoints
    "float64[:, :, ::1]",  # out: checkpoint x metric x replication; stop metrics last
    "int64[::1]",  # the control vector
    "float64[::1]",  # the cells that `make_memory` returns
    "uint64[::1]",  # the random streams that `make_memory` returns
)
SIGNATURE: Final = numba_signature("void", *ARGUMENTS)


def memory_plan(
    policy: CompiledClass, environment: CompiledClass, sizes: Sizes, e_sizes: Sizes
) -> IntArray:
    """Return the offsets, in cells, of everything that a block works on.

    In order: the lengths of a lane's policy cells and environment cells, in whole cache lines; the
    start of the environment cells, after the policy cells of all lanes; the starts of context and
    decision within a lane's policy cells, after the state; the starts of feedback, report and
    metrics. Lanes share the cells of these three, since each lane has used them before the next one
    writes them.
    """
    records = policy.records
    context = policy.state.size(sizes)
    decision = context + records.context.layout.size(sizes)
    lengths = (decision + records.decision.layout.size(sizes), environment.state.size(e_sizes))
    lane_lengths = [cells // _LINE_CELLS * _LINE_CELLS + _LINE_CELLS for cells in lengths]
    environments_start = LANES * lane_lengths[0]
    feedback = LANES * sum(lane_lengths)
    plan = [*lane_lengths, environments_start, context, decision, feedback]
    for record in (records.feedback, records.report):
        plan.append(plan[-1] + record.layout.size(sizes))
    return np.array(plan, np.int64)


def make_memory(plan: IntArray, metric_cells: int) -> tuple[FloatArray, NDArray[np.uint64]]:
    """Return the memory of one block, since compiled code allocates none: cells, random streams.

    `metric_cells` is how many numbers the environment writes at a checkpoint, kept or not.
    """
    # A lane has two streams of two words: the policy's and the environment's.
    return np.empty(int(plan[_METRICS]) + metric_cells), np.empty(4 * LANES, np.uint64)


def compiled_engine(setting: Setting, policy: CompiledClass, environment: CompiledClass) -> Kernel:
    """Return the machine code for a policy in an environment; `ARGUMENTS` are its arguments."""
    digest = driver_digest("engine", policy, environment, setting.allowed)
    owner = f"{policy.owner.__name__} in {environment.owner.__name__}"
    return compile_cached(
        owner, digest, lambda: _build_loop(setting, policy, environment), SIGNATURE
    )


def _build_loop(setting: Setting, policy: CompiledClass, environment: CompiledClass) -> Kernel:
    read_lane = _compile_lane_reader(policy, environment)
    start = _compile_start(policy, environment, read_lane)
    play_rounds = _compile_play_rounds(setting, policy, environment, read_lane)
    measure = _compile_measure(policy, environment, read_lane)
    are_all_stopped = _compile_are_all_stopped(policy, read_lane)
    read_p, read_e = input_readers(policy, environment)
    read_p_dims = tuple_reader(len(policy.dims))
    read_e_dims = tuple_reader(len(environment.dims))
    read_plan = tuple_reader(_METRICS + 1)

    def play_block(  # type: ignore[no-untyped-def]
        p_cells, p_dims, e_cells, e_dims, plan_vector, wrong, seed, first, last, checkpoints, out,
        control, cells, rngs,
    ):  # fmt: skip
        # The lengths of arrays, such as `arms`: the policy's, then the environment's.
        shapes = (read_p_dims(p_dims), read_e_dims(e_dims))
        p = read_p(p_cells, 0, shapes[0])
        e = read_e(e_cells, 0, shapes[1])
        plan = read_plan(plan_vector)
        for group_start in range(first, last, LANES):
            lanes = min(LANES, last - group_start)
            start(p, e, cells, rngs, plan, shapes, seed, group_start, lanes)
            t = 0
            for c in range(len(checkpoints)):
                while t < checkpoints[c]:
                    segment_end = min(t + _SEGMENT, checkpoints[c])
                    # Another thread may set the flag at any time. It is read without a lock: if it
                    # is missed, one more segment is played. Results of a stopped block are dropped.
                    if control[STOP] != 0:
                        return
                    refusal = play_rounds(p, e, cells, rngs, plan, shapes, t, segment_end, lanes)
                    if refusal >= 0:
                        control[STOP] = 1
                        control[REFUSED_ROUND] = t + 1 + refusal // LANES
                        control[REFUSED_REPLICATION] = group_start + refusal % LANES
                        return
                    if are_all_stopped(cells, rngs, plan, shapes, lanes):
                        segment_end = checkpoints[c]
                    control[ROUNDS_DONE] += lanes * (segment_end - t)
                    t = segment_end
                position = (c, group_start - first)  # checkpoint and column
                measure(p, e, cells, rngs, plan, shapes, wrong, t, lanes, position, out)

    return play_block


def input_readers(policy: CompiledClass, environment: CompiledClass) -> tuple[Kernel, Kernel]:
    """Return the compiled functions that read the inputs of a policy and of an environment."""
    return policy.inputs.reader("P"), environment.inputs.reader("E")


def state_readers(policy: CompiledClass, environment: CompiledClass) -> tuple[Kernel, Kernel]:
    """Return the compiled functions that read the states of a policy and of an environment."""
    return policy.state.reader("S"), environment.state.reader("ES")


def _compile_lane_reader(policy: CompiledClass, environment: CompiledClass) -> Kernel:
    """Return the compiled function that returns one lane's two states and two random streams."""
    read_s, read_es = state_readers(policy, environment)

    # The views are made in every round. This costs nothing: they count no references (decision
    # 002), so only addresses are computed.
    @kernel
    def read_lane(cells, rngs, plan, shapes, lane):  # type: ignore[no-untyped-def]
        return (
            read_s(cells, lane * plan[_POLICY_CELLS], shapes[0]),
            read_es(cells, plan[_ENVIRONMENTS_START] + lane * plan[_ENVIRONMENT_CELLS], shapes[1]),
            borrow_words(rngs, 4 * lane, (2,)),
            borrow_words(rngs, 4 * lane + 2, (2,)),
        )

    return read_lane


def _compile_start(policy: CompiledClass, environment: CompiledClass, read_lane: Kernel) -> Kernel:
    """Return the compiled function that initialises the lanes."""
    init = policy.kernels()["init"]
    init_environment = environment.kernels()["init"]

    @kernel
    def start(p, e, cells, rngs, plan, shapes, seed, group_start, lanes):  # type: ignore[no-untyped-def]
        # States start as zeros. Feedback, report and metrics are written before they are read.
        for cell in range(plan[_FEEDBACK]):
            cells[cell] = 0.0
        for lane in range(lanes):
            s, es, p_rng, e_rng = read_lane(cells, rngs, plan, shapes, lane)
            # A stream begins with its key in both words.
            p_rng[0] = p_rng[1] = stream_key(seed, group_start + lane, POLICY)
            e_rng[0] = e_rng[1] = stream_key(seed, group_start + lane, ENVIRONMENT)
            init_environment(e, es, 0, e_rng)
            init(p, s, 0, p_rng)

    return start


def _compile_play_rounds(
    setting: Setting, policy: CompiledClass, environment: CompiledClass, read_lane: Kernel
) -> Kernel:
    """Return the compiled function that plays rounds, the only part where speed matters."""
    records = policy.records
    kernels = policy.kernels()
    e_kernels = environment.kernels()
    observe = records.context.make_caller(e_kernels["observe"], "e, es, t, rng")
    select = records.decision.make_caller(kernels["select"], "p, s, t, rng, context")
    respond = records.feedback.make_caller(e_kernels["respond"], "e, es, t, rng, context, decision")
    update = kernels["update"]
    allowed = compiled_guard(policy, setting)
    is_stopped = stop_test_kernel(policy)
    read_context, read_decision, _ = records.readers()
    write_context = records.context.writer()
    write_decision = records.decision.writer()

    @kernel
    def play_rounds(p, e, cells, rngs, plan, shapes, rounds_played, last_round, lanes):  # type: ignore[no-untyped-def]
        """Play the rounds from `rounds_played` + 1 to `last_round`.

        Return -1 if all decisions are allowed. If one is refused, return its lane plus LANES times
        the rounds that this call played before.
        """
        dims = shapes[0]
        for t in range(rounds_played + 1, last_round + 1):
            # First pass: decisions. They are short and do not depend on one another, so the
            # processor overlaps decisions of several lanes (measured, UCB1: a run takes 0.78 of the
            # time; eight lanes without passes, or passes over four lanes, gain nothing).
            for lane in range(lanes):
                s, es, p_rng, e_rng = read_lane(cells, rngs, plan, shapes, lane)
                if is_stopped(s):
                    continue
                lane_start = lane * plan[_POLICY_CELLS]
                context_at = lane_start + plan[_CONTEXT]
                decision_at = lane_start + plan[_DECISION]
                context = observe(e, es, t, e_rng, cells, context_at, dims)
                decision = select(p, s, t, p_rng, context, cells, decision_at, dims)
                # The guard protects memory, since an arm out of range would let the environment,
                # which checks no indices, write beyond its arrays.
                if not allowed(p, context, decision):
                    return (t - rounds_played - 1) * LANES + lane
                # Single values are returned in registers, and stored for the second pass.
                write_context(cells, context_at, dims, context)
                write_decision(cells, decision_at, dims, decision)
            # Second pass: feedback and updates. All lanes share the cells of the feedback, which
            # are read before the next lane writes them.
            for lane in range(lanes):
                s, es, p_rng, e_rng = read_lane(cells, rngs, plan, shapes, lane)
                if is_stopped(s):
                    continue
                lane_start = lane * plan[_POLICY_CELLS]
                context_at = lane_start + plan[_CONTEXT]
                decision_at = lane_start + plan[_DECISION]
                context = read_context(cells, context_at, dims)
                decision = read_decision(cells, decision_at, dims)
                feedback = respond(e, es, t, e_rng, context, decision, cells, plan[_FEEDBACK], dims)
                update(p, s, t, p_rng, context, decision, feedback)
        return -1

    return play_rounds


def _compile_are_all_stopped(policy: CompiledClass, read_lane: Kernel) -> Kernel:
    """Return the compiled function that says whether the policy is done in every lane."""
    is_stopped = stop_test_kernel(policy)

    @kernel
    def are_all_stopped(cells, rngs, plan, shapes, lanes):  # type: ignore[no-untyped-def]
        for lane in range(lanes):
            if not is_stopped(read_lane(cells, rngs, plan, shapes, lane)[0]):
                return False
        return True

    return are_all_stopped


def _compile_measure(
    policy: CompiledClass, environment: CompiledClass, read_lane: Kernel
) -> Kernel:
    """Return the compiled function that computes the metrics at a checkpoint."""
    count_rounds = _rounds_used if policy.can_stop else _rounds_used_without_stop
    write_stop_metrics = stop_metrics_kernel(policy)
    stop_metric_count = len(STOP_METRICS) if policy.can_stop else 0
    recommend = policy.records.report.make_caller(policy.kernels()["recommend"], "p, s, t, rng")
    score = environment.kernels()["score"]
    read_metrics = environment.metrics.reader("Metrics")

    @kernel
    def measure(p, e, cells, rngs, plan, shapes, wrong, t, lanes, position, out):  # type: ignore[no-untyped-def]
        metrics_at = plan[_METRICS]
        first_stop_metric = out.shape[1] - stop_metric_count
        metrics = read_metrics(cells, metrics_at, shapes[1])
        for lane in range(lanes):
            s, es, p_rng, e_rng = read_lane(cells, rngs, plan, shapes, lane)
            rounds = count_rounds(s, t)
            report = recommend(p, s, rounds, p_rng, cells, plan[_REPORT], shapes[0])
            for cell in range(metrics_at, len(cells)):  # a metric that `score` leaves out is NaN
                cells[cell] = np.nan
            score(e, es, rounds, e_rng, report, metrics)
            for m in range(first_stop_metric):
                out[position[0], m, position[1] + lane] = cells[metrics_at + m]
            write_stop_metrics(
                s, wrong, rounds, out, position[0], first_stop_metric, position[1] + lane
            )

    return measure


@kernel
def _is_stopped(s: Any) -> bool:
    return bool(s.stopped[0] != 0)


@kernel
def _never_stops(s: Any) -> bool:
    return False


@kernel
def _rounds_used(s: Any, t: int) -> int:
    return s.stopped[0] if s.stopped[0] != 0 else t


@kernel
def _rounds_used_without_stop(s: Any, t: int) -> int:
    return t


@kernel
def _write_stop_metrics(s, wrong, rounds, out, c, first_metric, column):  # type: ignore[no-untyped-def]
    arms = len(s.settled)
    verdicts = len(wrong) // arms
    settled_arms = 0.0
    wrong_arms = 0.0
    for arm in range(arms):
        code = s.settled[arm]
        if not 0 <= code <= verdicts:
            raise ValueError("settled must be 0 or the number of a verdict, from 1")
        if code > 0:
            settled_arms += 1.0
            wrong_arms += wrong[arm * verdicts + code - 1]
    # In the order of `STOP_METRICS`.
    out[c, first_metric, column] = rounds
    out[c, first_metric + 1, column] = s.stopped[0] == 0
    out[c, first_metric + 2, column] = settled_arms / arms
    out[c, first_metric + 3, column] = wrong_arms / arms
    out[c, first_metric + 4, column] = wrong_arms > 0.0
    out[c, first_metric + 5, column] = wrong_arms / max(settled_arms, 1.0)


@kernel
def _skip_stop_metrics(s, wrong, rounds, out, c, first_metric, column):  # type: ignore[no-untyped-def]
    pass


def stop_test_kernel(policy: CompiledClass) -> Kernel:
    """Return the compiled function (state of the policy) -> whether the policy is done."""
    return _is_stopped if policy.can_stop else _never_stops


def stop_metrics_kernel(policy: CompiledClass) -> Kernel:
    """Return the compiled function that writes the `keyhole.metric.STOP_METRICS` of a policy.

    Its arguments are the state, the wrong verdicts as in `ARGUMENTS`, the rounds used, the array
    `out`, and the position in `out`: checkpoint, first metric and column. For a policy that cannot
    stop, the function does nothing.
    """
    return _write_stop_metrics if policy.can_stop else _skip_stop_metrics
