"""Rows of open decisions in one memory, and what lies beside them, for the loop with workers."""

from typing import Any

import numpy as np

from keyhole.contract.compiled_class import Component
from keyhole.contract.state_memory import FloatArray, IntArray
from keyhole.drivers.engine import Sizes
from keyhole.kernels.jit import kernel

# Cells of a row before its context.
ROUND, TAKEN, BACK, HEAD = range(4)
# Entries of the memory plan: where state, copy, the world's state, report, metrics and rows begin;
# where in a row context, decision and feedback do; how long it is; how many workers there are,
# whether open decisions are imagined, and whether ages are consumption.
(
    STATE, COPY, ENVIRONMENT, REPORT, METRICS, ROWS, CONTEXT, DECISION, FEEDBACK, WIDTH,
    WORKERS, IMAGINE, AGED, LENGTH,
) = range(14)  # fmt: skip


def memory_plan(
    policy: Component, environment: Component, sizes: Sizes, w_sizes: Sizes,
    *, workers: int, impute: bool, aged: bool,
) -> IntArray:  # fmt: skip
    """Return where everything lies that a block works on, and how it plays."""
    ways = policy.channels
    state = policy.state.size(sizes)
    starts = [0, state, 2 * state]
    starts.append(starts[-1] + environment.state.size(w_sizes))
    starts.append(starts[-1] + ways.report.layout.size(sizes))
    starts.append(starts[-1] + environment.metrics.size(w_sizes))
    row = [HEAD]
    for channel in (ways.context, ways.decision, ways.feedback):
        row.append(row[-1] + channel.layout.size(sizes))
    return np.array([*starts, *row, workers, impute, aged], np.int64)


@kernel
def copy_state(cells: FloatArray, at: Any) -> None:
    """Begin the copy anew from what is settled."""
    for cell in range(at[STATE], at[COPY]):
        cells[at[COPY] + cell] = cells[cell]


@kernel
def resolve_oldest(cells: FloatArray, order: IntArray, opened: int, at: Any) -> int:
    """Return the row that comes back first, of equals the one taken first, and list it last."""
    first = 0
    for i in range(1, opened):
        back = cells[at[ROWS] + order[i] * at[WIDTH] + BACK]
        if back < cells[at[ROWS] + order[first] * at[WIDTH] + BACK]:
            first = i
    row = order[first]
    for i in range(first, opened - 1):
        order[i] = order[i + 1]
    order[opened - 1] = row
    return int(row)
