"""The state of a study, which follows from its log: pending decisions and the policy's state."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.kernel_checks import kernel_argument_names
from keyhole.contract.kernel_compilation import CompiledClass, compiled_policy
from keyhole.contract.policy import Policy, is_done, settled_arms
from keyhole.contract.state_arrays import FloatArray, IntArray, allocate, copy_arm_entries
from keyhole.drivers import pending_decision_step
from keyhole.kernels.kernel_decorators import bounds_checked
from keyhole.play.study_vocabulary import RoundFeedback, StudyRound, Values
from keyhole.study import events
from keyhole.study.definition import Definition
from keyhole.study.events import ROUND, ROW_HEADER
from keyhole.study.log_state import (
    NO_CORRECTIONS,
    Corrections,
    DecisionRowCodec,
    LogState,
    RebuildNeededError,
)
from keyhole.study.storage import Row
from keyhole.validation import explain_memory_errors

MAX_BATCH_SIZE: Final = 4096  # rows that are learnt together
_NO_ROWS: Final = np.zeros((0, 0))
_UNUSED: Final = np.zeros(1)  # in place of the cells of rows, if there are none


class LearningError(RuntimeError):
    """The policy fails at an event of the log, and can neither decide nor recommend.

    The log is intact and can be read and exported. `Study.change_policy` lets another policy learn
    the log.

    Parameters
    ----------
    policy : Policy
        The policy.
    seq : int
        The number of the event.
    error : Exception
        The error that the policy raised.
    """

    def __init__(self, policy: Policy, seq: int, error: Exception) -> None:
        why = str(error) if isinstance(error, RuntimeError) else repr(error)
        super().__init__(
            f"{policy} fails at event {seq}: {why}; the log is whole, and `change_policy` lets "
            "another policy learn it"
        )
        self.policy = policy
        self.seq = seq
        self.error = error

    def __reduce__(self) -> tuple[type["LearningError"], tuple[Policy, int, Exception]]:
        """Return the arguments to unpickle it with."""
        return type(self), (self.policy, self.seq, self.error)


class PolicyState:
    """The arrays of a policy and the kernels that read and write them.

    With the pending mode "impute", the feedback of pending decisions is imputed in a copy of the
    arrays, and the next decision is taken from this copy. A `sibling` is a state of the same
    policy, whose compiled code is shared.
    """

    def __init__(
        self,
        definition: Definition,
        facts: Mapping[str, object],
        sibling: "PolicyState | None" = None,
    ) -> None:
        policy = definition.policy
        self.definition = definition
        self.facts = dict(facts)
        compiled = compiled_policy(type(policy)) if sibling is None else sibling._compiled
        self._compiled: CompiledClass = compiled
        known_quantities = policy.numbers() | self.facts
        self.sizes = compiled.sizes(known_quantities)
        layouts = (compiled.inputs, compiled.state, *compiled.records.layouts)
        with explain_memory_errors(f"{policy} with {self.facts['arms']} arms"):
            self._memory, self._plan, views = allocate(layouts, compiled.dims, self.sizes)
        inputs, self.state, *_, self._recommendation = views
        for name, input_view in inputs.items():
            input_view[...] = known_quantities[name]
        # One flat array holds inputs, state, context, decision, feedback and recommendation, at the
        # offsets in `_plan` (see `allocate`). Imputed feedback goes into a copy, because what the
        # policy learns from real feedback must not depend on when somebody asked.
        self._imputes = definition.pending == "impute"
        self._deciding_memory = self._memory.copy() if self._imputes else self._memory
        self._context_bytes, self._decision_bytes = self._bytes_of_decision(self._deciding_memory)
        self.stream = np.array([definition.seed, 0, 0, 0], np.uint64)
        if sibling is None:
            # Array indexes come from the log, which anybody with access to the database can write.
            # Without bounds checks, an altered row would let kernels write anywhere in memory.
            with bounds_checked():
                self._step = pending_decision_step.compiled_step(compiled, policy.setting)
        else:
            self._step = sibling._step
        self._run_kernel(pending_decision_step.INIT, 0)

    def _bytes_of_decision(self, memory: FloatArray) -> tuple[memoryview, memoryview]:
        """Return the bytes of the context and of the decision in a flat array."""
        begin, middle, end = (8 * int(offset) for offset in self._plan[2:5])
        memory_bytes = memory.data.cast("B")
        return memory_bytes[begin:middle], memory_bytes[middle:end]

    def _run_kernel(self, action: int, t: int, cells: FloatArray = _UNUSED, count: int = 0) -> int:
        """Run an action of `pending_decision_step` on `count` rows; 0 means a refused decision."""
        arrays = self._memory, self._deciding_memory, self._plan, cells, self.stream
        try:
            return int(self._step(*arrays, t, count, action))
        except IndexError as error:
            if "out of bounds" not in str(error):  # raised by the policy's own code
                raise
            raise RuntimeError(
                f"a kernel of {self.definition.policy} reads or writes beyond an array: the kernel "
                "has an error, or the log was not written by a study"
            ) from error

    def decide(self, t: int, context: bytes, rows: FloatArray, *, imputes_all: bool) -> bytes:
        """Return the policy's decision in round `t`, after imputing feedback for `rows`.

        With `imputes_all` the copy is made anew, and `rows` are all pending decisions. Otherwise
        `rows` are the decisions taken since the last call. Without imputation `rows` is empty.
        """
        self._context_bytes[:] = context
        cells = rows.reshape(-1) if len(rows) else _UNUSED
        action = pending_decision_step.DECIDE_ON_COPY  # on the last copy, or without a copy
        if imputes_all and self._imputes:
            action = pending_decision_step.DECIDE  # on a new copy
        if not self._run_kernel(action, t, cells, len(rows)):
            raise ValueError(self.definition.policy.refusal(f"round {t}"))
        return bytes(self._decision_bytes)

    def guard_allows(self, context: bytes, decision: bytes) -> bool:
        """Return whether the setting allows a decision."""
        context_bytes, decision_bytes = self._bytes_of_decision(self._memory)
        context_bytes[:] = context
        decision_bytes[:] = decision
        return bool(self._run_kernel(pending_decision_step.CHECK, 0))

    def learn(self, batch: Sequence[tuple[bytes, int]]) -> None:
        """Learn a batch, in order: pairs of a row with its feedback and the number of its event.

        Raises
        ------
        LearningError
            If a kernel fails. The policy may then have learnt any part of the batch.
        """
        # One call of compiled code learns the batch, and does not say how far it came. To name the
        # event that fails, the batch is learnt again row by row, from a copy of the arrays.
        arrays_before = self.arrays_to_save() if len(batch) > 1 else b""
        try:
            self._learn([row for row, _ in batch])
        except Exception as error:
            seq = batch[0][1]
            if arrays_before:
                seq = self._find_failing_event(batch, arrays_before)
            raise LearningError(self.definition.policy, seq, error) from error

    def _learn(self, rows: list[bytes]) -> None:
        cells = np.frombuffer(bytearray().join(rows))
        self._run_kernel(pending_decision_step.TELL, 0, cells, len(rows))

    def _find_failing_event(self, batch: Sequence[tuple[bytes, int]], arrays_before: bytes) -> int:
        """Return the number of the first event in a batch at which the policy fails."""
        self.restore(arrays_before)
        for row, seq in batch:
            try:
                self._learn([row])
            except Exception:
                return seq
        return batch[-1][1]  # row by row, none failed

    def recommend(self) -> dict[str, NDArray[Any]]:
        """Return the policy's recommendation, as arrays."""
        self._run_kernel(pending_decision_step.RECOMMEND, 0)
        return {name: view.copy() for name, view in self._recommendation.items()}

    def with_arms(self, arms: int, sources: IntArray, targets: IntArray) -> "PolicyState":
        """Return a state of `arms` arms, in which ``targets[i]`` has the values of ``sources[i]``.

        `sources` are arms of this state, `targets` arms of the new state, in which all other arms
        are as at the beginning.
        """
        new_state = PolicyState(self.definition, self.facts | {"arms": arms}, self)
        copy_arm_entries(self._compiled.state.fields, self.state, new_state.state, sources, targets)
        return self._complete_new_state(new_state)

    def with_facts(self, facts: Values) -> "PolicyState":
        """Return a state with these facts and the array lengths that follow from them.

        Each new array begins with the values of the old array. If no fact differs, this state
        itself is returned.
        """
        if all(self.facts[name] == value for name, value in facts.items()):
            return self
        new_state = PolicyState(self.definition, self.facts | facts, self)
        for name, old_array in self.state.items():
            new_state.state[name][tuple(map(slice, old_array.shape))] = old_array
        return self._complete_new_state(new_state)

    def _complete_new_state(self, new_state: "PolicyState") -> "PolicyState":
        """Complete a state whose arrays are filled: rebuild its search trees, copy the stream."""
        # Search trees do not follow arrays that are written from outside, so they are rebuilt.
        memory = new_state._memory[new_state._plan[1] :]
        new_state._compiled.state.rebuild_trees(memory, new_state.sizes)
        new_state.stream[:] = self.stream
        return new_state

    def learn_round(self, t: int, feedback: RoundFeedback) -> None:
        """Learn the feedback of round `t`; sequences may be shorter than their arrays."""
        # The row has two cells of header, then context, decision and feedback as in the flat array.
        ends = self._plan[2:6] - self._plan[2] + pending_decision_step.ROW_HEADER
        row = np.zeros(ends[-1])
        row[0] = t
        channels = self._compiled.records
        groups = (
            (channels.context, feedback.context),
            (channels.decision, feedback.decision),
            (channels.feedback, feedback.feedback),
        )
        for (channel, values), begin, end in zip(groups, ends[:-1], ends[1:], strict=True):
            for name, view in channel.layout.views(row[begin:end], self.sizes).items():
                view[tuple(map(slice, np.shape(values[name])))] = values[name]
        self._run_kernel(pending_decision_step.TELL, 0, row, 1)

    def arrays_to_save(self) -> bytes:
        """Return random stream and arrays as bytes, for a snapshot."""
        return self.stream[:2].tobytes() + self._memory[self._plan[1] : self._plan[2]].tobytes()

    def restore(self, data: bytes) -> None:
        """Restore random stream and arrays from the bytes that `arrays_to_save` returned."""
        self.stream[:2] = np.frombuffer(data[:16], np.uint64)
        self._memory[self._plan[1] : self._plan[2]] = np.frombuffer(data[16:])

    @property
    def kernel_digest(self) -> str:
        """The digest of everything on which the policy's kernels depend."""
        return self._compiled.digest


class State(LogState):
    """The pending decisions and the policy's state after some event.

    The policy knows an arm by its position among the arms in use, not by its number in the log.

    Attributes
    ----------
    last_event : Row or None
        The last event.
    is_dirty : bool
        Whether the state is ahead of `last_event`: a decision was taken and is not yet written, or
        an event was applied in part.
    round : StudyRound or None
        The unfinished round; None in settings that do not learn by round, and if the policy does
        not learn.

    Parameters
    ----------
    definition, definition_seq, corrections
        As in `LogState`.
    learns : bool, default True
        Whether the policy learns. False is for a log at which it fails; the state can then do
        everything except decide and recommend.
    """

    def __init__(
        self,
        definition: Definition,
        definition_seq: int = 0,
        corrections: Corrections = NO_CORRECTIONS,
        *,
        learns: bool = True,
    ) -> None:
        super().__init__(definition, definition_seq, corrections)
        self.learns = learns
        self.is_dirty = False
        self.policy_state = PolicyState(definition, definition.facts)
        self.last_event: Row | None = None
        # The numbers of the arms in the policy's arrays; None if these are the arms in use.
        self._policy_arms: IntArray | None = None
        self._batch: list[tuple[bytes, int]] = []  # rows with feedback to learn, and event numbers
        self._rows_not_imputed: list[bytes] = []
        self._must_reimpute = True
        # If the policy decides without a copy, deciding changes its own arrays. If it draws random
        # numbers to learn, the order of decisions and feedback matters. In both cases decisions are
        # replayed in the order of the log. In other cases only feedback is replayed, in large
        # batches, and the random stream is set from the last decision.
        kernels = cast(Any, type(definition.policy))
        self.draws_to_learn = "rng" in kernel_argument_names(kernels.update)
        self._imputes = definition.pending == "impute"
        self._replays_decisions = learns and (self.draws_to_learn or not self._imputes)
        # Feedback that is imputed from the age of a run or from random numbers differs between
        # calls and processes, so it is imputed again for every decision.
        self._always_reimputes = bool(definition.time_unit) or self.draws_to_learn
        self.study_round: StudyRound | None = None
        if learns and self.vocabulary.round_class is not None:
            self.study_round = self.vocabulary.round_class(self.vocabulary, definition.policy)

    def guard_allows(self, row: bytes, *, may_be_retired: bool) -> bool:
        """Return whether the setting allows a decision.

        If an arm of the decision is retired, the kernel that checks decisions has no position for
        it. The result is then `may_be_retired`.
        """
        if (policy_row := self.decisions.with_positions(row)) is None:
            return may_be_retired
        self._update_arms()
        return self.policy_state.guard_allows(*self.decisions.split_row(policy_row))

    def decide(self, context: Values, now: float, excluded: Sequence[int] = ()) -> bytes:
        """Let the policy decide without the excluded arms; return the body of the event."""
        self.is_dirty = True
        self.learn_batch()
        self._end_round()
        cells = self.decisions.context.pack(context)
        if excluded:
            cells += self._decide_without(excluded, cells, now)
            return self.next_event_body(cells, excluded)
        imputes_all = self._must_reimpute or self._always_reimputes
        rows = self._rows_to_impute(self.decisions, now, imputes_all)
        decision = self.policy_state.decide(self.rounds + 1, cells, rows, imputes_all=imputes_all)
        self._must_reimpute = False
        self._rows_not_imputed = []
        return self.next_event_body(cells + self.decisions.with_numbers(decision))

    def next_event_body(self, cells: bytes, excluded: Sequence[int] = ()) -> bytes:
        """Return the body of the next decision's event, with the present random stream."""
        stream = self.policy_state.stream[:2].tolist()
        return self.decisions.event_body(self.rounds + 1, cells, stream, excluded)

    def _decide_without(self, excluded: Sequence[int], context: bytes, now: float) -> bytes:
        """Return the decision of the policy as if some arms had just been retired.

        The policy's state stays as it is, but its random stream goes on.
        """
        # Kernels cannot be told to leave out an arm. But the kernels of a policy with `off_policy`
        # only count (`update`) and read the counts (`select`), so they can decide on a state that
        # has only the other arms. To decide repeatedly until the decision is about one of them
        # would not give the policy's decision among these arms, and might not end.
        arms = self.arms.without(excluded)
        decisions = self.decisions.with_arms(arms)
        sources = self.arms.positions[arms.numbers_in_use]
        reduced_state = self.policy_state.with_arms(len(sources), sources, np.arange(len(sources)))
        rows = self._rows_to_impute(decisions, now, imputes_all=True)
        decision = reduced_state.decide(self.rounds + 1, context, rows, imputes_all=True)
        self.policy_state.stream[:2] = reduced_state.stream[:2]
        return decisions.with_numbers(decision)

    def _rows_to_impute(
        self, decisions: DecisionRowCodec, now: float, imputes_all: bool
    ) -> FloatArray:
        """Return the decisions whose feedback is to be imputed now, as rows for kernels."""
        rows: Collection[bytes] = self.pending.values() if imputes_all else self._rows_not_imputed
        if not self._imputes or not rows:
            return _NO_ROWS
        return decisions.kernel_rows(rows, now, self.definition.time_unit)

    def _end_round(self) -> None:
        """Let the policy learn the round that has ended, in settings that learn by round."""
        if self.study_round is None:
            return
        try:
            feedback = self.study_round.end(
                self.policy_state.facts, self.policy_state.state, self.feedback_count
            )
            if feedback is not None:
                self.policy_state = self.policy_state.with_facts(feedback.facts)
                self.policy_state.learn_round(self.rounds, feedback)
        except Exception as error:
            raise LearningError(self.definition.policy, self.seq, error) from error

    def learn_batch(self) -> None:
        """Let the policy learn the batch of feedback."""
        self._update_arms()
        if self._batch:
            self.policy_state.learn(self._batch)
            self._batch = []
            self._must_reimpute = True

    def learn(self, event: Row, row: bytes, feedback: bytes) -> None:
        """Let the policy learn the feedback of a decision, in a batch or when the round ends.

        Feedback about a retired arm is only counted, since the policy no longer has the arm.
        """
        super().learn(event, row, feedback)
        if not self.learns:
            return
        if self.study_round is not None:
            values = self.feedback.unpack(feedback)
            self.study_round.add_feedback(*self.decisions.unpack_row(row), values)
        elif (policy_row := self.decisions.with_positions(row)) is not None:
            self._batch.append((policy_row + feedback[: self.feedback.learnt_size], event.seq))
            if len(self._batch) == MAX_BATCH_SIZE:
                self.learn_batch()
        # The copy still holds imputed feedback of this decision, so it must be made anew.
        self._must_reimpute = True

    def apply_all(self, rows: Iterable[Row]) -> None:
        """Check and apply events that were read from the log.

        Raises
        ------
        EventError
            For an event that no study can have written.
        RebuildNeededError
            At a change of policy or a correction for which this state was not made, even if the
            policy failed at an earlier event.
        LearningError
            If the policy fails at an event.
        """
        rows = iter(rows)
        last_decision: bytes | None = None
        for event in rows:
            events.check_event(self, event)
            try:
                if event.kind == events.ASKED:
                    if self._replays_decisions:
                        self._replay_decision(event)
                    last_decision = event.body
                self.apply(event)
            except RebuildNeededError:
                raise
            except Exception as error:
                # The error does not matter if a later event replaces the policy, or the feedback
                # at which it fails. `apply` then raises a `RebuildNeededError`.
                for later_event in rows:
                    if later_event.kind in events.CHANGES:
                        super().apply(later_event)
                if isinstance(error, LearningError):
                    raise
                raise LearningError(self.definition.policy, event.seq, error) from error
        if last_decision is not None and not self._replays_decisions:
            self.policy_state.stream[:2] = self.decisions.stream_of_event(last_decision)

    def _replay_decision(self, event: Row) -> None:
        """Repeat a decision for its effect on the policy's state, if it had any.

        A decision that excluded arms changed only the random stream: see `_decide_without`.
        """
        is_of_all_arms = len(event.body) == self.decisions.event_size
        if not self._imputes and is_of_all_arms:
            self.decide(self.decisions.context.unpack(event.body, ROUND.size), event.at)
        self.learn_batch()
        self.policy_state.stream[:2] = self.decisions.stream_of_event(event.body)

    def apply(self, event: Row) -> None:
        """Apply an event that was read from the log or is about to be written."""
        self.is_dirty = True
        super().apply(event)
        self.seq = event.seq
        self.last_event = event
        self.is_dirty = False

    def add_decision(self, id: str, row: bytes) -> None:
        """Add a decision that was handed out."""
        super().add_decision(id, row)
        # If `_must_reimpute`, all pending decisions are imputed anew, this one included.
        if not self._must_reimpute:
            self._rows_not_imputed.append(row)
        if self.study_round is not None:
            self.study_round.begin(*self.decisions.unpack_row(row))

    def remove_pending(self, id: str) -> bytes:
        """Remove a pending decision and return its row."""
        self._must_reimpute = True
        return super().remove_pending(id)

    def overdue_ids(self, now: float) -> list[str]:
        """Return the ids of the pending decisions that are overdue, oldest first."""
        rule = self.definition.rule
        ids: list[str] = []
        for id in self.awaiting_feedback:
            round_number, asked_at = ROW_HEADER.unpack_from(self.pending[id])
            later_decisions = self.rounds - self.rounds_when_asked_again.get(id, int(round_number))
            if rule.is_overdue(now - asked_at, later_decisions):
                ids.append(id)
            # The oldest comes first, so the first decision within its timeout ends the search. But
            # if the clock was set back, a decision may have a time in the future, and decisions
            # after it may be overdue all the same.
            elif asked_at <= now:
                break
        return ids

    def check_sum(self, values: Values) -> None:
        """Refuse anonymous feedback that is impossible at this time."""
        if self.study_round is not None:
            self.study_round.check_sum(values, self.rounds)

    def add_sum(self, body: bytes) -> None:
        """Add anonymous feedback to the round."""
        if self.study_round is not None:
            self.study_round.add_sum(self.sums.unpack(body))
        self._must_reimpute = True

    def prepare_arms_change(self) -> None:
        """Learn the batch while the policy still has the arms of its rows."""
        super().prepare_arms_change()
        if self._batch:
            self.learn_batch()
        if self._policy_arms is None:
            self._policy_arms = self.arms.numbers_in_use
        self._must_reimpute = True

    def _update_arms(self) -> None:
        """Give the policy the arms in use; one step adds and retires all that have changed."""
        if self._policy_arms is None:
            return
        targets = self.arms.positions[self._policy_arms]
        (sources,) = np.nonzero(targets >= 0)
        arms = len(self.arms.numbers_in_use)
        self.policy_state = self.policy_state.with_arms(arms, sources, targets[sources])
        self._policy_arms = None

    def apply_policy_change(self, event: Row) -> None:
        """Raise `RebuildNeededError` at a change of policy for which this state was not made."""
        if event.seq > self.definition_seq:
            raise RebuildNeededError

    # Settled arms: see `keyhole.policy.Policy.verdicts`.

    def are_all_arms_settled(self) -> bool:
        """Return whether the policy is done: every arm is settled."""
        policy = self.definition.policy
        return bool(policy.verdicts) and is_done(policy, self._verdict_arrays())

    def settled_names(self) -> dict[str, str]:
        """Return the verdicts on the settled arms in use, by name."""
        names = self.arms.names_in_use
        verdicts = settled_arms(self.definition.policy, self._verdict_arrays())
        return {names[position]: verdict for position, verdict in verdicts.items()}

    def unsettled_names(self) -> list[str]:
        """Return the names of the arms in use that are not settled."""
        settled = self.settled_names()
        return [name for name in self.arms.names_in_use if name not in settled]

    def is_settled(self, id: str) -> bool:
        """Return whether a pending decision is about arms, and all of these are settled."""
        arms = self.decisions.arm_numbers(self.pending[id])
        if not arms or not (arrays := self._verdict_arrays()):
            return False
        return all(arrays["settled"][self.arms.positions[arm]] for arm in arms)

    def _verdict_arrays(self) -> Mapping[str, FloatArray | IntArray]:
        """Return the policy's arrays; an empty mapping if the policy cannot stop."""
        if not self.definition.policy.verdicts:
            return {}
        # If learning fails halfway, the state stays dirty, so that nobody uses it.
        was_dirty, self.is_dirty = self.is_dirty, True
        self.learn_batch()
        self.is_dirty = was_dirty
        return self.policy_state.state

    def arrays_to_save(self) -> bytes:
        """Return the policy's state as bytes, for a snapshot."""
        self.learn_batch()
        return self.policy_state.arrays_to_save()

    def recommend(self) -> Any:
        """Return the policy's recommendation, by the names of arms."""
        self.learn_batch()
        numbers = self.arms.numbers_in_use.tolist()
        return self.vocabulary.format_report(self.policy_state.recommend(), numbers)
