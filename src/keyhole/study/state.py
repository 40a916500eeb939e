"""The state of a study (a policy that decides for real), rebuilt from its events in order."""

from collections.abc import Collection, Iterable
from typing import Any, Final, cast

import numpy as np

from keyhole.contract.kernel_checks import kernel_argument_names
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.play.study_vocabulary import Values
from keyhole.study.arms import Arms
from keyhole.study.decision_bytes import DecisionBytes
from keyhole.study.definition import Definition
from keyhole.study.event_checks import EventChecker
from keyhole.study.events import (
    ARM_ADDED,
    ARM_RETIRED,
    ASKED,
    ASKED_AGAIN,
    EXPIRED,
    POLICY_CHANGED,
    ROUND,
    ROW_HEADER,
    STREAM,
    SUM_TOLD,
    TOLD,
    TOLD_LATE,
    TOLD_TOO_LATE,
)
from keyhole.study.learning_batch import AT_ONCE, LearningBatch
from keyhole.study.policy_errors import LearningError, PolicyChangedError
from keyhole.study.policy_state import PolicyState
from keyhole.study.row_codec import FeedbackCodec, RowCodec
from keyhole.study.storage import Row

_NO_ROWS: Final = np.zeros((0, 0))


class State:
    """Pending decisions and the policy's state after some event.

    A decision is kept as a row: round, time of asking, context, decision. Rows hold permanent arm
    numbers; the policy has positions among the arms in use.

    Attributes
    ----------
    pending : dict of str to bytes
        Rows of the pending decisions by id, oldest first.
    to_ask_again : dict of str to None
        Pending decisions that expired and are to be handed out once more.
    awaiting_feedback : dict of str to None
        All other pending decisions.
    asked_again_after : dict of str to int
        Rounds at the time at which a decision was handed out again.
    last : Row or None
        The last event.
    is_dirty : bool
        Whether the state is ahead of `last`: a decision was taken and not yet written, or an event
        was applied in part.
    learns : bool
        Whether the policy learns.

    Parameters
    ----------
    definition : Definition
        The definition of the study.
    since : int, default 0
        The event at which the definition came into force.
    learns : bool, default True
        Whether the policy learns. If not, the state can do all but decide and recommend: for logs
        at which the policy fails.
    """

    def __init__(self, definition: Definition, since: int = 0, *, learns: bool = True) -> None:
        self.definition, self.since, self.learns, self.is_dirty = definition, since, learns, False
        self.policy_state = PolicyState(definition, definition.facts)
        self.arms = Arms(definition.arms)
        self.vocabulary = definition.vocabulary(self.arms.names)
        setting, kind = definition.policy.setting, cast(Any, type(definition.policy))
        arm_fields = self.vocabulary.find_arm_fields()
        self.decisions = DecisionBytes(setting, self.policy_state.sizes, self.arms, arm_fields)
        self.feedback = FeedbackCodec(self.vocabulary, self.policy_state.sizes)
        self.sums = RowCodec(self.vocabulary.sum_fields, self.policy_state.sizes)
        self.checker = EventChecker(self)
        self.last: Row | None = None
        self.seq = self.rounds = self.feedback_count = 0
        self.pending: dict[str, bytes] = {}
        self.to_ask_again: dict[str, None] = {}
        self.awaiting_feedback: dict[str, None] = {}
        self.asked_again_after: dict[str, int] = {}
        # The arms that the policy's arrays are about, while others are in use.
        self._policy_arms: IntArray | None = None
        self._reset_batch()
        # Deciding without a copy changes the policy's own arrays, and learning may draw random
        # numbers: then decisions are replayed in the order of the log. Otherwise feedback alone is
        # replayed, in large batches, and the stream is set from the last decision.
        self.draws_to_learn = draws = "rng" in kernel_argument_names(kind.update)
        self._replays_decisions = learns and (definition.pending != "impute" or draws)
        # Feedback imputed from the age of a run or from random numbers differs between calls and
        # processes: it is imputed again for every decision.
        self._always_reimputes = bool(definition.time_unit) or draws
        by_round = self.vocabulary.round_class if learns else None
        self._round = None if by_round is None else by_round(self.vocabulary, definition.policy)

    def _reset_batch(self) -> None:
        self._batch = LearningBatch()
        self._not_imputed: list[bytes] = []
        self._must_reimpute = True

    # What a row says.

    def row(self, asked: Row) -> bytes:
        """Return the row of a decision, from the event that handed it out."""
        return self.decisions.row_of_event(asked)

    def values(self, row: bytes) -> tuple[Values, Values]:
        """Return context and decision of a row."""
        return self.decisions.values(row)

    def is_allowed(self, row: bytes, *, retired: bool = False) -> bool:
        """Return whether the setting allows a decision, or `retired` if its arm is retired."""
        if (placed := self.decisions.with_positions(row)) is None:
            return retired
        self._update_arms()
        begin = ROW_HEADER.size + self.decisions.context.bytes
        return self.policy_state.is_allowed(placed[ROW_HEADER.size : begin], placed[begin:])

    # What happens.

    def decide(self, context: Values, now: float) -> bytes:
        """Let the policy decide; return the body of the event to write."""
        self.is_dirty = True
        self.catch_up()
        self._end_round()
        seen = self.decisions.context.pack(context)
        anew = self._must_reimpute or self._always_reimputes
        rows = self._rows_to_impute(now, anew)
        taken = self.policy_state.decide(self.rounds + 1, seen, rows, anew=anew)
        self._must_reimpute, self._not_imputed = False, []
        stream = STREAM.pack(*self.policy_state.stream[:2].tolist())
        return ROUND.pack(self.rounds + 1) + seen + self.decisions.with_numbers(taken) + stream

    def _rows_to_impute(self, now: float, anew: bool) -> FloatArray:
        """Return the pending decisions whose feedback is still to be imputed, as kernel rows."""
        rows: Collection[bytes] = self.pending.values() if anew else self._not_imputed
        if self.definition.pending != "impute" or not rows:
            return _NO_ROWS
        return self.decisions.as_cells(rows, now, self.definition.time_unit)

    def _end_round(self) -> None:
        """Let the policy learn the round that has ended, in settings that learn by round."""
        if self._round is None:
            return
        policy = self.policy_state
        try:
            ended = self._round.end(policy.facts, policy.state, self.feedback_count)
            if ended is not None:
                self.policy_state = policy = policy.with_facts(ended.facts)
                policy.learn_round(self.rounds, ended.context, ended.decision, ended.feedback)
        except Exception as error:
            raise LearningError(self.definition.policy, self.seq, error) from error

    def catch_up(self) -> None:
        """Let the policy learn the batch of feedback."""
        self._update_arms()
        if self._batch:
            self._batch.learn(self.policy_state)
            self._must_reimpute = True

    def _learn(self, row: bytes, feedback: bytes, event: int) -> None:
        self.feedback_count += 1
        if not self.learns:
            return
        if self._round is not None:
            self._round.add_feedback(*self.values(row), self.feedback.unpack(feedback))
        elif (placed := self.decisions.with_positions(row)) is not None:
            self._batch.add(placed + feedback[: self.feedback.bytes], event)
            if len(self._batch) == AT_ONCE:
                self.catch_up()
        # The copy still holds imputed feedback of this decision: make it again.
        self._must_reimpute = True

    def apply_all(self, events: Iterable[Row]) -> None:
        """Check and apply events that were read.

        Raises
        ------
        EventError
            For an event that no study can have written.
        PolicyChangedError
            At a change of policy, even if an event before it made the policy fail.
        LearningError
            If the policy fails at an event.
        """
        events, stream = iter(events), None
        for event in events:
            self.checker.check(event)
            try:
                if event.kind == ASKED:
                    if self._replays_decisions:
                        self._replay_decision(event)
                    stream = event.body
                self.apply(event)
            except PolicyChangedError:
                raise
            except Exception as error:
                # The error does not matter if a later event replaces the policy that failed.
                for later in events:
                    self._raise_policy_changed(later)
                if isinstance(error, LearningError):
                    raise
                raise LearningError(self.definition.policy, event.seq, error) from error
        if stream is not None and not self._replays_decisions:
            self.policy_state.stream[:2] = self.decisions.stream_of_event(stream)

    def _replay_decision(self, event: Row) -> None:
        """Repeat a decision for its effect on the policy's state."""
        if self.definition.pending != "impute":
            self.decide(self.decisions.context.unpack(event.body, ROUND.size), event.at)
        self.catch_up()
        self.policy_state.stream[:2] = self.decisions.stream_of_event(event.body)

    def apply(self, event: Row) -> None:
        """Apply one event, read or just decided."""
        self.is_dirty = True
        self._HANDLERS[event.kind](self, event)
        self.seq, self.last = event.seq, event
        self.is_dirty = False

    def _apply_asked(self, event: Row) -> None:
        self.rounds += 1
        row = self.row(event)
        if self.vocabulary.has_feedback:
            self.pending[_id_of(event)] = row
            self.awaiting_feedback[_id_of(event)] = None
        # Otherwise all pending decisions, this one included, are imputed anew anyway.
        if not self._must_reimpute:
            self._not_imputed.append(row)
        if self._round is not None:
            self._round.begin(*self.values(row))

    def _remove_pending(self, id: str) -> bytes:
        """Remove a pending decision and return its row."""
        # This runs for every feedback, and both are empty in most studies.
        if self.asked_again_after or self.to_ask_again:
            self.to_ask_again.pop(id, None)
            self.asked_again_after.pop(id, None)
        self.awaiting_feedback.pop(id, None)
        self._must_reimpute = True
        return self.pending.pop(id)

    def _is_live(self, id: str) -> bool:
        """Return whether the arm of a pending decision is in use."""
        return self.decisions.is_live(self.pending[id])

    def _apply_told(self, event: Row) -> None:
        self._learn(self._remove_pending(_id_of(event)), event.body, event.seq)

    def _apply_expired(self, event: Row) -> None:
        if self.definition.rule.on_timeout == "ask_again" and self._is_live(_id_of(event)):
            self.to_ask_again[_id_of(event)] = None
            self.awaiting_feedback.pop(_id_of(event), None)
            return
        row = self._remove_pending(_id_of(event))
        if event.body:
            self._learn(row, event.body, event.seq)

    def _apply_asked_again(self, event: Row) -> None:
        id = _id_of(event)
        row = self._remove_pending(id)
        # Its timeout begins anew: in seconds by the time in its row, and in decisions.
        header = ROW_HEADER.pack(ROW_HEADER.unpack_from(row)[0], event.at)
        self.pending[id] = header + row[ROW_HEADER.size :]
        self.awaiting_feedback[id] = None
        self.asked_again_after[id] = self.rounds

    def has_expired(self, id: str, now: float) -> bool:
        """Return whether a pending decision has exceeded its timeout."""
        t, at = ROW_HEADER.unpack_from(self.pending[id])
        later = self.rounds - self.asked_again_after.get(id, int(t))
        return self.definition.rule.has_expired(now - at, later)

    def is_later_than(self, id: str, now: float) -> bool:
        """Return whether a pending decision was handed out after `now`: the clock was set back."""
        return bool(ROW_HEADER.unpack_from(self.pending[id])[1] > now)

    def pack_sum(self, values: Values) -> bytes:
        """Return the body of an event for anonymous feedback, checked."""
        if self._round is not None:
            self._round.check_sum(values, self.rounds)
        return self.sums.pack(values)

    def _apply_told_late(self, event: Row) -> None:
        end = self.decisions.bytes
        self._learn(event.body[:end], event.body[end:], event.seq)

    def _ignore(self, event: Row) -> None:
        """Leave the state as it is: feedback that came too late is recorded and not learnt."""

    def _apply_sum(self, event: Row) -> None:
        if self._round is not None:
            self._round.add_sum(self.sums.unpack(event.body))
        self._must_reimpute = True

    def _apply_arm_added(self, event: Row) -> None:
        self._prepare_arms_change()
        self.arms.add(event.body.decode())

    def _apply_arm_retired(self, event: Row) -> None:
        self._prepare_arms_change()
        self.arms.retire(event.body.decode())
        # Decisions on this arm are not asked again: nobody could act on them.
        for id in [id for id in self.to_ask_again if not self._is_live(id)]:
            self._remove_pending(id)

    def _prepare_arms_change(self) -> None:
        """Learn the batch while the policy still has the arms that it is about."""
        if self._batch:
            self.catch_up()
        if self._policy_arms is None:
            self._policy_arms = self.arms.live
        self.checker.forget()
        self._must_reimpute = True

    def _update_arms(self) -> None:
        """Give the policy the arms in use: once, however many came and went."""
        if self._policy_arms is None:
            return
        after = self.arms.positions[self._policy_arms]
        (before,) = np.nonzero(after >= 0)
        self.policy_state = self.policy_state.with_arms(len(self.arms.live), before, after[before])
        self._policy_arms = None

    def _raise_policy_changed(self, event: Row) -> None:
        """Raise `PolicyChangedError` if the policy changes here: `CachedState` then rebuilds."""
        if event.kind == POLICY_CHANGED and event.seq > self.since:
            raise PolicyChangedError(event)

    _HANDLERS: Final[dict[int, Any]] = {
        ASKED: _apply_asked,
        TOLD: _apply_told,
        EXPIRED: _apply_expired,
        ASKED_AGAIN: _apply_asked_again,
        TOLD_LATE: _apply_told_late,
        TOLD_TOO_LATE: _ignore,
        SUM_TOLD: _apply_sum,
        ARM_ADDED: _apply_arm_added,
        ARM_RETIRED: _apply_arm_retired,
        POLICY_CHANGED: _raise_policy_changed,
    }

    # Snapshots.

    def arrays_to_save(self) -> bytes:
        """Return the policy's state as bytes."""
        self.catch_up()
        return self.policy_state.arrays_to_save()

    def round_as_json(self) -> Any:
        """Return the unfinished round; None in settings that do not learn by round."""
        return None if self._round is None else self._round.to_json()

    def restore_round(self, content: Any) -> None:
        """Restore what `round_as_json` returned."""
        if self._round is not None:
            self._round.restore(content)

    def longest_arrays(self, feedback_count: int) -> dict[str, int]:
        """Return bounds on the lengths of growing arrays after so many tellings."""
        return {} if self._round is None else self._round.longest_arrays(feedback_count)

    def recommend(self) -> Any:
        """Return the policy's recommendation, by names."""
        self.catch_up()
        return self.vocabulary.format_report(self.policy_state.recommend(), self.arms.live.tolist())


def _id_of(event: Row) -> str:
    assert event.decision is not None
    return event.decision
