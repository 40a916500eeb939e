"""A policy at work while decisions are open: what is told comes late, in any order.

The *settled* memory has learnt from feedback alone. Before a decision is taken, open ones are
imagined on a copy of it, by the policy's kernel `impute`; between two tellings only those that
are new. Where a policy ignores what is open, it decides on the settled memory itself.

Both memories are laid out alike, as those of learners: input, state, context, decision, feedback,
report. An open decision, or a telling, is a row of numbers: its round, its age, its context, its
decision and its feedback.
"""

from typing import Final

from keyhole.contract.compiled_class import (
    Component,
    add_checks,
    base_kernels,
    bind_kernel,
    digest_of,
    tuple_of,
)
from keyhole.contract.kernel_signatures import IMAGINE, POLICY
from keyhole.contract.setting import Setting
from keyhole.contract.state_memory import borrow_word
from keyhole.draws import streams
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel, fingerprint, fresh_copy
from keyhole.kernels.jit import signature

INIT, DECIDE, IMAGINED, TELL, RECOMMEND, CHECK = range(6)

HEAD: Final = 2
"""Cells of a row before its context: the round, and the age."""

SIGNATURE: Final = signature(
    "int64",
    "float64[::1]",  # the settled memory
    "float64[::1]",  # its copy; the settled one again where nothing is imagined
    "int64[::1]",  # where each of the six begins, then the integers shapes refer to
    "float64[::1]",  # rows, one after the other
    "uint64[::1]",  # the policy's stream, and the one that imagining draws from
    "int64",  # round
    "int64",  # how many rows
    "int64",  # what to do
)


def compiled_pending_step(side: Component, setting: Setting) -> Kernel:
    """Return the machine code of a policy with open decisions; it takes what `SIGNATURE` lists.

    What it does: ``INIT`` begins; ``DECIDE`` copies the settled state, imagines all rows and
    decides; ``IMAGINED`` imagines the rows on the copy as it is, and decides; ``TELL`` learns the
    rows, one after the other; ``RECOMMEND`` fills the report; ``CHECK`` asks whether the decision
    in the settled memory is allowed. It returns 1, or 0 for a decision that is not.
    """
    prints = (fingerprint(setting.allowed), *_prints(side))
    digest = digest_of("open step", side.digest, *prints)
    return compile_cached(side.owner.__name__, digest, lambda: _build(side, setting), SIGNATURE)


def has_imputation(side: Component) -> bool:
    """Return whether the policy has something to impute."""
    return "impute" in side.owner.pending  # type: ignore[attr-defined]


def _prints(side: Component) -> tuple[str, ...]:
    return (fingerprint(side.owner.impute),) if has_imputation(side) else ()  # type: ignore[attr-defined]


def compile_imputation(side: Component) -> Kernel:
    """Return the compiled ``(p, s, t, rng, age, context, decision)`` that imagines one decision.

    Without something to impute it does nothing.
    """
    source = side.owner.impute if has_imputation(side) else _nothing  # type: ignore[attr-defined]
    words = IMAGINE.words(side.channels)
    lent = {name: fresh_copy(helper) for name, helper in side.helper_sources.items()}
    if side.base is not None:
        lent |= base_kernels(side.base)
    update = next(rule for rule in POLICY if rule.name == "update")
    spelt = update.spelling(side.owner.setting)  # type: ignore[attr-defined]
    given = {name: name for name in spelt.split(", ")}
    lent["update"] = bind_kernel(
        side.owner.__qualname__, side.sources["update"], spelt, given, lent
    )
    return bind_kernel(side.owner.__qualname__, source, IMAGINE.call(), words, lent)


def _nothing() -> int:
    return 0


def _build(side: Component, setting: Setting) -> Kernel:
    kernels, channels = side.kernels(watched=True), side.channels
    init, update, allowed = kernels["init"], kernels["update"], add_checks(side, setting)
    impute = compile_imputation(side)
    select = channels.decision.producer(kernels["select"], "p, s, t, rng, context")
    recommend = channels.report.producer(kernels["recommend"], "p, s, t, rng")
    sizes = tuple_of(len(side.dims), start=6)
    read_p, read_s = side.inputs.reader("P"), side.state.reader("S")
    read_context, read_decision = channels.context.reader(), channels.decision.reader()
    read_feedback, write_decision = channels.feedback.reader(), channels.decision.writer()

    def step(settled, copy, plan, rows, words, t, count, what):  # type: ignore[no-untyped-def]
        dims = sizes(plan)
        p, s = read_p(settled, plan[0], dims), read_s(settled, plan[1], dims)
        rng, other = borrow_word(words, 0, (2,)), borrow_word(words, 2, (2,))
        if what == INIT:
            rng[0] = rng[1] = streams.stream_key(rng[0], rng[1], streams.POLICY)
            init(p, s, t, rng)
        elif what in (DECIDE, IMAGINED):
            if what == DECIDE:
                for cell in range(plan[1], plan[2]):
                    copy[cell] = settled[cell]
                other[0] = other[1] = streams.stream_key(rng[0], rng[1], streams.POLICY)
            seen = read_s(copy, plan[1], dims)
            begin, width = HEAD, HEAD + plan[4] - plan[2]
            for row in range(count):
                at = row * width
                context = read_context(rows, at + begin, dims)
                taken = read_decision(rows, at + begin + plan[3] - plan[2], dims)
                impute(p, seen, int(rows[at]), other, rows[at + 1], context, taken)
            context = read_context(copy, plan[2], dims)
            decision = select(p, seen, t, rng, context, copy, plan[3], dims)
            write_decision(copy, plan[3], dims, decision)
            return 1 if allowed(p, context, decision) else 0
        elif what == TELL:
            width = HEAD + plan[5] - plan[2]
            for row in range(count):
                at = row * width + HEAD
                context = read_context(rows, at, dims)
                taken = read_decision(rows, at + plan[3] - plan[2], dims)
                told = read_feedback(rows, at + plan[4] - plan[2], dims)
                update(p, s, int(rows[at - HEAD]), rng, context, taken, told)
        elif what == CHECK:
            context = read_context(settled, plan[2], dims)
            return 1 if allowed(p, context, read_decision(settled, plan[3], dims)) else 0
        else:
            recommend(p, s, t, rng, settled, plan[5], dims)
        return 1

    return step
