"""Many rounds of a policy in one call, for learners: what was decided is in a log."""

from typing import Final

from keyhole.contract.compiled_class import Component, digest_of
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import borrow_int
from keyhole.drivers.policy_step import PLAN, REFUSED, ROUNDS, Words, learner_kernels
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel, fingerprint
from keyhole.kernels.jit import kernel, signature

# What a call may return, in place of how many decisions were the policy's own.
NOT_ITS_OWN, IMPOSSIBLE = -4, -5

SIGNATURE: Final = signature(
    "int64",
    "uint64[::1]",  # the learner
    "uint64[:, ::1]",  # a row a round: the cells of context and decision, and the first ones of
    # the feedback, which are all that is told
    "int64",  # whether decisions must be the policy's own
)


def compiled_replay(side: Component, setting: Setting) -> Kernel:
    """Return the machine code of a policy that goes through a log; see `SIGNATURE`.

    It stops at the first row that cannot be gone through: the round of the learner tells which.
    """
    digest = digest_of("replay", side.digest, fingerprint(setting.allowed))
    owner = side.owner.__name__
    return compile_cached(owner, digest, lambda: _build(side, setting), SIGNATURE, alone=True)


@kernel
def store_decision(words: Words, log: Words, row: int, begin: int, first: int, last: int) -> None:
    """Copy cells of a row, whose first one belongs at `begin`, to where they belong."""
    for cell in range(first, last):
        words[cell] = log[row, cell - begin]


@kernel
def are_decisions_equal(
    words: Words, log: Words, row: int, begin: int, first: int, last: int
) -> bool:
    """Return whether cells of a row are what lies where they belong."""
    equal = True
    for cell in range(first, last):
        equal &= words[cell] == log[row, cell - begin]
    return equal


def _build(side: Component, setting: Setting) -> Kernel:
    parts = learner_kernels(side, setting)
    seen, select, allowed, update = parts.seen, parts.select, parts.allowed, parts.update
    read_context, read_decision = parts.read_context, parts.read_decision
    read_feedback, write_decision = parts.read_feedback, parts.write_decision

    def replay(words, log, strict):  # type: ignore[no-untyped-def]
        p, s, rng, plan, cells, dims = seen(words)
        head, own = borrow_int(words, 0, (PLAN,)), 0
        begin, decided, told = plan[2], plan[3], plan[4]
        for row in range(log.shape[0]):
            t = head[ROUNDS] + 1
            store_decision(words, log, row, begin, begin, decided)
            context = read_context(cells, begin, dims)
            decision = select(p, s, t, rng, context, cells, decided, dims)
            write_decision(cells, decided, dims, decision)
            if not allowed(p, context, decision):
                return REFUSED
            if are_decisions_equal(words, log, row, begin, decided, told):
                own += 1
            elif strict:
                return NOT_ITS_OWN
            else:
                store_decision(words, log, row, begin, decided, told)
                if not allowed(p, context, read_decision(cells, decided, dims)):
                    return IMPOSSIBLE
            store_decision(words, log, row, begin, told, begin + log.shape[1])
            taken, feedback = read_decision(cells, decided, dims), read_feedback(cells, told, dims)
            update(p, s, t, rng, context, taken, feedback)
            head[ROUNDS] = t
        return own

    return replay
