"""One compiled step of a policy, while earlier decisions may still wait for feedback.

Feedback comes late, in any order. The *main* memory has learnt from real feedback alone. Before a
decision, the kernel `impute` imputes feedback on a copy of this memory: of all pending decisions if
the copy is new, or only of those that the last copy lacks. A policy that ignores pending decisions
decides on the main memory itself.

Both memories have the layouts of a learner, in its order: input, state, context, decision,
feedback, report.
"""

from typing import Final

from keyhole.contract import kernel_compilation
from keyhole.contract.kernel_signatures import IMPUTE
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import borrow_words
from keyhole.draws import streams
from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import Kernel
from keyhole.kernels.kernel_decorators import numba_signature

INIT, DECIDE, DECIDE_ON_COPY, TELL, RECOMMEND, CHECK = range(6)
# Entries of the plan: the starts of the six layouts, then the lengths of arrays, such as `arms`.
_INPUTS, _STATE, _CONTEXT, _DECISION, _FEEDBACK, _REPORT, _SIZES = range(7)

# The cells of a row, which belongs to one decision: round, age, context, decision, and for `TELL`
# the feedback.
ROW_HEADER: Final = 2
"""The number of a row's cells before the context."""

SIGNATURE: Final = numba_signature(
    "int64",
    "float64[::1]",  # the main memory
    "float64[::1]",  # its copy; if nothing is imputed, the main memory again
    "int64[::1]",  # the plan: the starts of the six layouts, then the lengths of arrays
    "float64[::1]",  # rows, one after the other
    # the policy's random stream, then the stream of imputed feedback; before `INIT` the first two
    # words are the seed and the replication
    "uint64[::1]",
    "int64",  # round
    "int64",  # number of rows
    "int64",  # the operation
)


def compiled_step(policy: kernel_compilation.CompiledClass, setting: Setting) -> Kernel:
    """Return the machine code of a policy with pending decisions; `SIGNATURE` has its arguments.

    ``INIT`` prepares the state. ``DECIDE`` copies the main state, imputes the feedback of the
    rows on the copy, and decides. ``DECIDE_ON_COPY`` imputes and decides without a new copy.
    ``TELL`` learns from the rows, in order. ``RECOMMEND`` writes the report. ``CHECK`` checks the
    decision in the main memory. The result is 0 for a decision that is not allowed, else 1.
    """
    kernels = (setting.allowed, *imputation_kernels(policy))
    digest = kernel_compilation.driver_digest("pending step", policy, *kernels)
    return compile_cached(
        policy.owner.__name__, digest, lambda: _build_step(policy, setting), SIGNATURE
    )


def has_imputation(policy: kernel_compilation.CompiledClass) -> bool:
    """Return whether the policy imputes the feedback of pending decisions."""
    return "impute" in policy.owner.pending


def imputation_kernels(policy: kernel_compilation.CompiledClass) -> tuple[Kernel, ...]:
    """Return a tuple of the kernel `impute`; an empty tuple if the policy does not impute."""
    return (policy.owner.impute,) if has_imputation(policy) else ()


def compile_imputation(policy: kernel_compilation.CompiledClass) -> Kernel:
    """Return the compiled function ``(p, s, t, rng, age, context, decision)`` that runs `impute`.

    It does nothing if the policy does not impute.
    """
    source = policy.owner.impute if has_imputation(policy) else _do_nothing
    owner = policy.owner.__qualname__
    expressions = IMPUTE.argument_expressions(policy.records)
    helpers = policy.helpers()
    # `impute` may call `update`. It then passes each value of context, decision and feedback as an
    # argument of its own, while the drivers pass the three groups. So `update` is bound again, with
    # the argument list of single values.
    args = kernel_compilation.base_kernel_args(policy.owner)["update"]
    helpers["update"] = kernel_compilation.bind_kernel(
        owner, policy.sources["update"], args, kernel_compilation.identity_mapping(args), helpers
    )
    return kernel_compilation.bind_kernel(owner, source, IMPUTE.args(), expressions, helpers)


def _do_nothing() -> int:
    return 0


def _build_step(policy: kernel_compilation.CompiledClass, setting: Setting) -> Kernel:
    kernels = policy.kernels(nan_checked=True)
    records = policy.records
    init = kernels["init"]
    update = kernels["update"]
    allowed = kernel_compilation.compiled_guard(policy, setting)
    impute = compile_imputation(policy)
    select = records.decision.make_caller(kernels["select"], "p, s, t, rng, context")
    recommend = records.report.make_caller(kernels["recommend"], "p, s, t, rng")
    read_dims = kernel_compilation.tuple_reader(len(policy.dims), start=_SIZES)
    read_p = policy.inputs.reader("P")
    read_s = policy.state.reader("S")
    read_context, read_decision, read_feedback = records.readers()
    write_decision = records.decision.writer()

    # All operations are one function, since each function that Python calls is compiled, kept and
    # loaded by itself, and the operations share most of what they call.
    def step(main, copy, plan, rows, rngs, t, row_count, operation):  # type: ignore[no-untyped-def]
        dims = read_dims(plan)
        p = read_p(main, plan[_INPUTS], dims)
        s = read_s(main, plan[_STATE], dims)
        rng = borrow_words(rngs, 0, (2,))
        copy_rng = borrow_words(rngs, 2, (2,))
        if operation == INIT:
            rng[0] = rng[1] = streams.stream_key(rng[0], rng[1], streams.POLICY)
            init(p, s, t, rng)
        elif operation in (DECIDE, DECIDE_ON_COPY):
            if operation == DECIDE:
                # Only the state is copied: the inputs of the copy never change, and the caller has
                # written the context into the copy.
                for cell in range(plan[_STATE], plan[_CONTEXT]):
                    copy[cell] = main[cell]
                # The copy's stream is derived from the policy's stream. Neither this nor imputing
                # advances the policy's stream: what the policy draws must not depend on how many
                # decisions are pending.
                copy_rng[0] = copy_rng[1] = streams.stream_key(rng[0], rng[1], streams.POLICY)
            copy_state = read_s(copy, plan[_STATE], dims)
            # A row has context and decision side by side, as they lie in the memory.
            width = ROW_HEADER + plan[_FEEDBACK] - plan[_CONTEXT]
            for row in range(row_count):
                start = row * width
                context_at = start + ROW_HEADER
                context = read_context(rows, context_at, dims)
                decision = read_decision(rows, context_at + plan[_DECISION] - plan[_CONTEXT], dims)
                age = rows[start + 1]
                impute(p, copy_state, int(rows[start]), copy_rng, age, context, decision)
            context = read_context(copy, plan[_CONTEXT], dims)
            decision = select(p, copy_state, t, rng, context, copy, plan[_DECISION], dims)
            write_decision(copy, plan[_DECISION], dims, decision)
            return int(allowed(p, context, decision))
        elif operation == TELL:
            # Here a row has the feedback as well.
            width = ROW_HEADER + plan[_REPORT] - plan[_CONTEXT]
            for row in range(row_count):
                start = row * width
                context_at = start + ROW_HEADER
                context = read_context(rows, context_at, dims)
                decision = read_decision(rows, context_at + plan[_DECISION] - plan[_CONTEXT], dims)
                feedback = read_feedback(rows, context_at + plan[_FEEDBACK] - plan[_CONTEXT], dims)
                update(p, s, int(rows[start]), rng, context, decision, feedback)
        elif operation == CHECK:
            context = read_context(main, plan[_CONTEXT], dims)
            return int(allowed(p, context, read_decision(main, plan[_DECISION], dims)))
        else:
            recommend(p, s, t, rng, main, plan[_REPORT], dims)
        return 1

    return step
