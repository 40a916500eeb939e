"""Checks of a policy that decides while earlier decisions wait for feedback, as in a study."""

import warnings
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from keyhole.contract.kernel_compilation import compiled_policy
from keyhole.contract.pending_mode_inference import describe_declaration_doubts
from keyhole.contract.policy import Policy
from keyhole.contract.state_arrays import FloatArray, allocate
from keyhole.drivers.learner_step import Words
from keyhole.drivers.pending_decision_step import DECIDE, INIT, ROW_HEADER, TELL, compiled_step
from keyhole.kernels.kernel_decorators import bounds_checked
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.testing.check_context import CheckContext, decision_as_numbers

_PENDING_AT_A_TIME: Final = 4


class PolicyWithPending:
    """A policy with pending decisions: its state, and a copy that learns imputed feedback, too."""

    def __init__(self, subject: CheckContext, mode: str) -> None:
        self._policy = policy = subject.policy
        compiled = compiled_policy(type(policy))
        input_values = policy.numbers() | subject.facts
        layouts = (compiled.inputs, compiled.state, *compiled.records.layouts)
        sizes = compiled.sizes(input_values)
        self.cells, self._plan, views = allocate(layouts, compiled.dims, sizes)
        inputs, self.views, self._context_views, self.decision_views, self._feedback, _ = views
        for name, view in inputs.items():
            view[...] = input_values[name]
        with bounds_checked():
            self._step = compiled_step(compiled, policy.setting)
        self._words = np.array([subject.seed, 0, 0, 0], np.uint64)
        self._imputes = mode == "impute"
        self._run(self.cells, np.zeros(1), 0, 0, INIT)
        # A policy that ignores pending decisions needs no copy: it decides on the state itself.
        self.copy = self.cells.copy() if self._imputes else self.cells
        # The plan has the cells where inputs, state, context, decision, feedback and report begin.
        # A row for `DECIDE` holds context and decision; a row for `TELL` also holds the feedback.
        starts = self._plan[1:6].tolist()
        self.state = slice(starts[0], starts[1])
        self._context = slice(starts[1], starts[2])
        self._decision = slice(starts[2], starts[3])
        self._context_and_decision = slice(starts[1], starts[3])
        self._context_to_feedback = slice(starts[1], starts[4])

    def ask(
        self, environment: InteractiveEnvironment, pending_rows: Sequence[FloatArray]
    ) -> FloatArray:
        """Decide while other decisions are pending; return the row of decision and feedback."""
        for name, value in environment.observe().items():
            self._context_views[name][...] = value
        # The views of the context are in the cells, but the decision is taken on the copy.
        self.copy[self._context] = self.cells[self._context]
        # A policy that ignores pending decisions is not shown them.
        pending_rows = pending_rows if self._imputes else ()
        width = ROW_HEADER + self._context_and_decision.stop - self._context_and_decision.start
        # The zero is not read; without it, NumPy would refuse to concatenate an empty list.
        rows = np.concatenate([*(row[:width] for row in pending_rows), np.zeros(1)])
        if not self._run(self.copy, rows, environment.rounds, len(pending_rows), DECIDE):
            raise AssertionError(self._policy.refusal(f"round {environment.rounds}"))
        self.cells[self._decision] = self.copy[self._decision]
        for name, value in environment.respond(self.decision_views).items():
            self._feedback[name][...] = value
        return np.concatenate([[environment.rounds, 0.0], self.cells[self._context_to_feedback]])

    def tell(self, row: FloatArray) -> None:
        """Learn from one decision and its feedback."""
        self._run(self.copy, row, int(row[0]), 1, TELL)

    def try_tell(self, row: FloatArray, stream: Words) -> Words:
        """Tell a row, and restore the state; return the bits that the state had in between.

        `stream` is the position in the policy's stream from which its update draws.
        """
        cells = self.cells.copy()
        words_before = self._words.copy()
        self._words[:2] = stream
        self.tell(row)
        bits = self.state_bits()
        self.cells[:] = cells
        self._words[:] = words_before
        return bits

    def state_bits(self) -> Words:
        """Return the state as bits, in which NaN equals itself, and -0.0 differs from 0.0."""
        views = [view.ravel().view(np.uint64) for view in self.views.values()]
        return np.concatenate([np.zeros(0, np.uint64), *views])

    @property
    def stream_position(self) -> Words:
        """The position in the policy's stream of random numbers."""
        return self._words[:2].copy()

    def _run(self, copy: FloatArray, rows: FloatArray, t: int, count: int, operation: int) -> int:
        return int(self._step(self.cells, copy, self._plan, rows, self._words, t, count, operation))


def _advise_waiting(subject: CheckContext) -> str:
    """Return the advice for a policy that declares a mode it does not support."""
    return f'declare `pending = ("wait",)` in the class {type(subject.policy).__name__}'


def pending_modes(policy: Policy) -> Iterator[str]:
    """Yield the policy's pending modes except "wait", in which no decision is pending."""
    yield from (mode for mode in policy.pending if mode != "wait")


def one_at_a_time_nothing_is_pending(subject: CheckContext) -> None:
    """Check that no `pending` mode changes a decision if feedback always precedes the next one."""
    expected_decisions, _ = subject.played
    for mode in pending_modes(subject.policy):
        policy = PolicyWithPending(subject, mode)
        environment = subject.environment()
        for t, decision in enumerate(expected_decisions, start=1):
            policy.tell(policy.ask(environment, ()))
            assert decision_as_numbers(policy.decision_views) == decision, (
                f"{subject.policy}: with nothing pending, {mode!r} changed the decision of round "
                f"{t}: what `select` writes into the state is lost with the copy; "
                f"{_advise_waiting(subject)}"
            )


def feedback_belongs_to_its_decision(subject: CheckContext) -> None:
    """Check that what is learnt from feedback does not depend on later decisions.

    A policy whose `update` reads what the last `select` wrote must wait. If this check passes, but
    the code of the policy suggests that it must wait, there is a warning.
    """
    if "ignore" in subject.policy.pending:
        _compare_with_late_feedback(subject)
    if doubts := describe_declaration_doubts(type(subject.policy)):
        warnings.warn(doubts, stacklevel=2)


def _compare_with_late_feedback(subject: CheckContext) -> None:
    """Check that feedback has the same effect at once as after a further decision."""
    policy = PolicyWithPending(subject, "ignore")
    environment = subject.environment()
    while environment.rounds + 1 < subject.horizon:
        row = policy.ask(environment, ())
        bits_after_first = policy.state_bits()
        stream = policy.stream_position
        bits_at_once = policy.try_tell(row, stream)
        later_row = policy.ask(environment, (row,))
        is_unchanged = policy.state_bits() == bits_after_first
        bits_later = policy.try_tell(row, stream)
        # Numbers that the later decision itself changed are not compared. Both updates draw from
        # the same position of the stream.
        assert (bits_at_once[is_unchanged] == bits_later[is_unchanged]).all(), (
            f"{subject.policy}: what it learns from the decision of round {int(row[0])} depends on "
            f"a later decision; {_advise_waiting(subject)}"
        )
        policy.tell(later_row)
        policy.tell(row)


def pending_decisions_are_safe(subject: CheckContext) -> None:
    """Check four pending decisions at a time, told in any order.

    All decisions must be allowed, no index may leave its array, the state must not become NaN, and
    imputed feedback must not change the state learnt from real feedback.
    """
    for mode in pending_modes(subject.policy):
        policy = PolicyWithPending(subject, mode)
        environment = subject.environment()
        rows: list[FloatArray] = []
        rng = np.random.default_rng(subject.seed)
        while environment.rounds < subject.horizon:
            state_before = policy.cells[policy.state].tobytes()
            try:
                rows.append(policy.ask(environment, rows))
                is_unchanged = policy.cells[policy.state].tobytes() == state_before
                # Feedback comes in random order. If it came in the order of the decisions, a policy
                # that confuses them might pass.
                if len(rows) == _PENDING_AT_A_TIME:
                    policy.tell(rows.pop(rng.integers(_PENDING_AT_A_TIME)))
            except IndexError as error:
                raise AssertionError(
                    f"{subject.policy}: with decisions pending, a kernel reads or writes beyond an "
                    f"array in round {environment.rounds}"
                ) from error
            # In the mode "ignore" there is no copy, so `select` writes into the state itself.
            assert mode == "ignore" or is_unchanged, (
                f"{subject.policy}: imputed feedback changed the state learnt from real feedback, "
                f"in round {environment.rounds}"
            )
            for name, values in policy.views.items():
                assert not np.isnan(values).any(), (
                    f"{subject.policy}: with decisions pending, {name} became NaN in round "
                    f"{environment.rounds}"
                )
