"""The memory of a simulation with several workers: a row for each decision without feedback yet.

It is for policies (rules that choose among options) of which several decisions are open at a time.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.compiled_class import CompiledClass
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.draws import streams
from keyhole.drivers.engine import Sizes
from keyhole.kernels.kernel_declaration import kernel

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
