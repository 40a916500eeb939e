"""The compiled loop in which a learner learns from a log of decisions and what came of them.

A learner is a policy (a rule that chooses among options) at work. Only what it has seen matters, so
that the decisions in the log may have been another's.
"""

from typing import Final

from keyhole.contract.compiled_class import CompiledClass, code_digest
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import borrow_int
from keyhole.drivers.learner_step import PLAN, REFUSED, ROUNDS, Words, learner_kernels
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_declaration import kernel, signature

# Results that are no count of decisions equal to the policy's own.
DIFFERENT_DECISION, NOT_ALLOWED = -4, -5

SIGNATURE: Final = signature(
    "int64",
    "uint64[::1]",  # the learner
    # a row a round: the cells of context, decision and feedback, as in the learner; the last ones
    # of the feedback may be left out, if the policy's kernels do not read them
    "uint64[:, ::1]",
    "int64",  # whether decisions must be the policy's own
)


def compiled_replay(compiled: CompiledClass, setting: Setting) -> Kernel:
    """Return the machine code that replays a log on a learner; `SIGNATURE` has its arguments.

    It stops at the first row that cannot be replayed; the learner's round says which one.
    """
    digest = code_digest("replay", compiled, setting.allowed)
    owner = compiled.owner.__name__
    return compile_cached(
        owner, digest, lambda: _build(compiled, setting), SIGNATURE, hold_gil=True
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


def _build(compiled: CompiledClass, setting: Setting) -> Kernel:
    kernels = learner_kernels(compiled, setting)
    unpack, select = kernels.unpack, kernels.select
    allowed, update = kernels.allowed, kernels.update
    read_context, read_decision = kernels.read_context, kernels.read_decision
    read_feedback, write_decision = kernels.read_feedback, kernels.write_decision

    def replay(words, log, strict):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = unpack(words)
        header, same = borrow_int(words, 0, (PLAN,)), 0
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
                same += 1
            elif strict:
                return DIFFERENT_DECISION
            else:
                store_decision(words, log, row, context_at, decision_at, feedback_at)
                if not allowed(p, context, read_decision(cells, decision_at, dims)):
                    return NOT_ALLOWED
            store_decision(words, log, row, context_at, feedback_at, context_at + log.shape[1])
            logged = read_decision(cells, decision_at, dims)
            feedback = read_feedback(cells, feedback_at, dims)
            update(p, s, t, rng, context, logged, feedback)
            header[ROUNDS] = t
        return same

    return replay
