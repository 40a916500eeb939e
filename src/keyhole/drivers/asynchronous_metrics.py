"""The metrics of a simulation with several workers, when some feedback has not come back yet.

A policy is a rule that chooses among options, feedback what came of a decision. At a checkpoint all
of it is told on a copy of the policy's state, so that the checkpoint affects no later round.
"""

from typing import Any

import numpy as np

from keyhole.contract.compiled_class import CompiledClass
from keyhole.contract.state_arrays import borrow_word
from keyhole.drivers.pending_memory import (
    CONTEXT,
    COPY,
    DECISION,
    ENVIRONMENT,
    FEEDBACK,
    METRICS,
    REPORT,
    RETURNS,
    ROUND,
    ROWS,
    WIDTH,
    WORKERS,
    copy_state,
    take_first_arrival,
)
from keyhole.drivers.stop_metrics import compile_stop_metrics
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_declaration import kernel
from keyhole.metric import STOP_METRICS


def compile_tell(policy: CompiledClass) -> Kernel:
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


def compile_measure(policy: CompiledClass, environment: CompiledClass) -> Kernel:
    """Return the compiled function that computes the metrics at a checkpoint."""
    tell, score = compile_tell(policy), environment.kernels()["score"]
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
