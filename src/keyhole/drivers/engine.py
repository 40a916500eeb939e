"""The compiled loop: many replications of one policy in one world.

Several replications are played in turn, round by round (*lanes*): one alone is bound by latency,
since every decision waits for the update before it. Each round is played in two passes, first the
decisions of all lanes, then what follows from them. A whole round is more than a processor looks
ahead, so that it would hardly begin the next lane's while it waits; a decision is short enough to
be overlapped with those of its neighbours. See docs/performance.md for what that brings. Neither
lanes nor passes can change a result: each replication has its own streams and its own memory.
"""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import Component, add_checks, digest_of, tuple_of
from keyhole.contract.kernel_signatures import KernelRecords
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import FloatArray, IntArray, Layout, borrow_word
from keyhole.draws.streams import ENVIRONMENT, POLICY, stream_key
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel, fingerprint
from keyhole.kernels.jit import kernel, signature

Kernels = Mapping[str, Kernel]
Sizes = Mapping[str, int]

LANES: Final = 8
# Rounds between two looks at the stop flag: well under a second for any policy, and far too many
# for the look to cost anything.
_SEGMENT: Final = 1024
# States of different lanes lie on different cache lines (8 cells of 8 bytes).
_LINE: Final = 8

# Cells of the control vector that a running block shares with its caller.
STOP, ROUNDS_DONE, REFUSED_ROUND, REFUSED_REPLICATION = range(4)

# Entries of the memory plan.
_STATE, _WORLD, _WORLDS, _CONTEXT, _DECISION, _FEEDBACK, _REPORT, _METRICS = range(8)

SIGNATURE: Final = signature(
    "void",
    "float64[::1]",  # what the policy reads
    "int64[::1]",  # the integers its shapes refer to
    "float64[::1]",  # what the world reads
    "int64[::1]",  # the integers its shapes refer to
    "int64[::1]",  # where everything lies: see `memory_plan`
    "uint64",  # seed
    "int64",  # first replication
    "int64",  # one past the last
    "int64[::1]",  # checkpoints
    "float64[:, :, ::1]",  # out: checkpoint x metric x replication
    "int64[::1]",  # control
    "float64[::1]",  # scratch
    "uint64[::1]",  # streams
)


def memory_plan(
    policy: Component, environment: Component, sizes: Sizes, w_sizes: Sizes
) -> IntArray:
    """Return where everything lies that a block works on.

    In order: how many cells a lane takes on the policy's side and on the world's, in whole cache
    lines; where the worlds' sides begin, after those of all policies; where context and decision
    begin on the policy's side, after its state; where the feedback, the report and the metrics
    begin, which lanes share, since they are used at once.
    """
    channels = policy.channels
    context = policy.state.size(sizes)
    decision = context + channels.context.layout.size(sizes)
    ends = (decision + channels.decision.layout.size(sizes), environment.state.size(w_sizes))
    lanes = [cells // _LINE * _LINE + _LINE for cells in ends]
    plan = [*lanes, LANES * lanes[0], context, decision, LANES * sum(lanes)]
    for channel in (channels.feedback, channels.report):
        plan.append(plan[-1] + channel.layout.size(sizes))
    return np.array(plan, np.int64)


def working_memory(plan: IntArray, metrics: int) -> tuple[FloatArray, NDArray[np.uint64]]:
    """Return the memory that a block works in: compiled code allocates nothing.

    That is the cells, and the streams of all lanes; `metrics` are the numbers that the world writes
    at a checkpoint, whether they are kept or not.
    """
    return np.empty(int(plan[_METRICS]) + metrics), np.empty(4 * LANES, np.uint64)


def compiled_engine(setting: Setting, policy: Component, environment: Component) -> Kernel:
    """Return the machine code that plays a policy in a world, and takes what `SIGNATURE` lists."""
    digest = digest_of("engine", policy.digest, environment.digest, fingerprint(setting.allowed))
    owner = f"{policy.owner.__name__} in {environment.owner.__name__}"
    return compile_cached(owner, digest, lambda: _build(setting, policy, environment), SIGNATURE)


def _build(setting: Setting, policy: Component, environment: Component) -> Kernel:
    for_policy, for_world = policy.kernels(), environment.kernels()
    lane_of = _lane_reader(policy, environment)
    start = _start(for_policy, for_world, lane_of)
    advance = _advance(for_policy, for_world, lane_of, policy.channels, add_checks(policy, setting))
    measure = _measure(for_policy, for_world, lane_of, policy.channels, environment.metrics)
    read_p, read_e = policy.inputs.reader("P"), environment.inputs.reader("E")
    p_sizes, e_sizes = tuple_of(len(policy.dims)), tuple_of(len(environment.dims))
    read_plan = tuple_of(_METRICS + 1)

    def block(  # type: ignore[no-untyped-def]
        p_cells, p_dims, e_cells, e_dims, plan, seed, first, last, checkpoints, out, control,
        cells, words,
    ):  # fmt: skip
        shapes = (p_sizes(p_dims), e_sizes(e_dims))
        p, e = read_p(p_cells, 0, shapes[0]), read_e(e_cells, 0, shapes[1])
        at = read_plan(plan)
        for group in range(first, last, LANES):
            lanes = min(LANES, last - group)
            start(p, e, cells, words, at, shapes, seed, group, lanes)
            t = 0
            for c in range(len(checkpoints)):
                while t < checkpoints[c]:
                    stop = min(t + _SEGMENT, checkpoints[c])
                    if control[STOP] != 0:
                        return
                    refused = advance(p, e, cells, words, at, shapes, t, stop, lanes)
                    if refused >= 0:
                        control[STOP] = 1
                        control[REFUSED_ROUND] = t + 1 + refused // LANES
                        control[REFUSED_REPLICATION] = group + refused % LANES
                        return
                    control[ROUNDS_DONE] += lanes * (stop - t)
                    t = stop
                place = (c, group - first)
                measure(p, e, cells, words, at, shapes, t, lanes, place, out)

    return block


def _lane_reader(policy: Component, environment: Component) -> Kernel:
    """Return the compiled access to one lane: both states, both streams."""
    read_s, read_w = policy.state.reader("S"), environment.state.reader("W")

    @kernel
    def lane_of(cells: Any, words: Any, at: Any, shapes: Any, lane: int) -> Any:
        return (
            read_s(cells, lane * at[_STATE], shapes[0]),
            read_w(cells, at[_WORLDS] + lane * at[_WORLD], shapes[1]),
            borrow_word(words, 4 * lane, (2,)),
            borrow_word(words, 4 * lane + 2, (2,)),
        )

    return lane_of


def _start(for_policy: Kernels, for_world: Kernels, lane_of: Kernel) -> Kernel:
    """Return the compiled beginning of some replications."""
    init, begin = for_policy["init"], for_world["init"]

    @kernel
    def start(
        p: Any, e: Any, cells: Any, words: Any, at: Any, shapes: Any,
        seed: int, group: int, lanes: int,
    ) -> None:  # fmt: skip
        for cell in range(at[_FEEDBACK]):
            cells[cell] = 0.0
        for lane in range(lanes):
            s, w, p_rng, w_rng = lane_of(cells, words, at, shapes, lane)
            p_rng[0] = p_rng[1] = stream_key(seed, group + lane, POLICY)
            w_rng[0] = w_rng[1] = stream_key(seed, group + lane, ENVIRONMENT)
            begin(e, w, 0, w_rng)
            init(p, s, 0, p_rng)

    return start


def _advance(
    for_policy: Kernels,
    for_world: Kernels,
    lane_of: Kernel,
    channels: KernelRecords,
    allowed: Kernel,
) -> Kernel:
    """Return the compiled rounds, the only part where speed matters."""
    observe = channels.context.producer(for_world["observe"], "e, w, t, rng")
    select = channels.decision.producer(for_policy["select"], "p, s, t, rng, context")
    respond = channels.feedback.producer(for_world["respond"], "e, w, t, rng, context, decision")
    update = for_policy["update"]
    read_context, write_context = channels.context.reader(), channels.context.writer()
    read_decision, write_decision = channels.decision.reader(), channels.decision.writer()

    @kernel
    def advance(
        p: Any, e: Any, cells: Any, words: Any, at: Any, shapes: Any,
        begun: int, stop: int, lanes: int,
    ) -> int:  # fmt: skip
        """Play rounds begun + 1 .. stop; return -1, or where a decision was refused."""
        dims = shapes[0]
        for t in range(begun + 1, stop + 1):
            for lane in range(lanes):
                s, w, p_rng, w_rng = lane_of(cells, words, at, shapes, lane)
                side = lane * at[_STATE]
                seen, taken = side + at[_CONTEXT], side + at[_DECISION]
                context = observe(e, w, t, w_rng, cells, seen, dims)
                decision = select(p, s, t, p_rng, context, cells, taken, dims)
                if not allowed(p, context, decision):
                    return (t - begun - 1) * LANES + lane
                write_context(cells, seen, dims, context)
                write_decision(cells, taken, dims, decision)
            for lane in range(lanes):
                s, w, p_rng, w_rng = lane_of(cells, words, at, shapes, lane)
                side = lane * at[_STATE]
                seen, taken = side + at[_CONTEXT], side + at[_DECISION]
                context = read_context(cells, seen, dims)
                decision = read_decision(cells, taken, dims)
                feedback = respond(e, w, t, w_rng, context, decision, cells, at[_FEEDBACK], dims)
                update(p, s, t, p_rng, context, decision, feedback)
        return -1

    return advance


def _measure(
    for_policy: Kernels,
    for_world: Kernels,
    lane_of: Kernel,
    channels: KernelRecords,
    layout: Layout,
) -> Kernel:
    """Return the compiled taking of the metrics at a checkpoint."""
    recommend = channels.report.producer(for_policy["recommend"], "p, s, t, rng")
    score, read_metrics = for_world["score"], layout.reader("Metrics")

    @kernel
    def measure(
        p: Any, e: Any, cells: Any, words: Any, at: Any, shapes: Any,
        t: int, lanes: int, place: Any, out: Any,
    ) -> None:  # fmt: skip
        begin = at[_METRICS]
        metrics = read_metrics(cells, begin, shapes[1])
        for lane in range(lanes):
            s, w, p_rng, w_rng = lane_of(cells, words, at, shapes, lane)
            report = recommend(p, s, t, p_rng, cells, at[_REPORT], shapes[0])
            for cell in range(begin, len(cells)):  # what `score` leaves out is no number
                cells[cell] = np.nan
            score(e, w, t, w_rng, report, metrics)
            for m in range(out.shape[1]):
                out[place[0], m, place[1] + lane] = cells[begin + m]

    return measure
