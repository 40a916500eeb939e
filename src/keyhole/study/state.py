"""The state of a study, rebuilt from its events: pending decisions, arms, and the policy's state.

Values are packed into rows of 8 bytes each: round, time, context and decision, and feedback.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, cast

import numpy as np

from keyhole.contract.compiled_class import compiled_policy
from keyhole.contract.kernel_checks import kernel_argument_names
from keyhole.contract.policy import is_done, settled_arms
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.play.study_vocabulary import StudyRound, Values
from keyhole.study import events
from keyhole.study.arms import Arms
from keyhole.study.definition import Definition
from keyhole.study.events import ROUND, ROW_HEADER
from keyhole.study.policy_state import LearningError, PolicyState, RebuildError
from keyhole.study.row_codec import DecisionRowCodec, FeedbackCodec, RowCodec
from keyhole.study.storage import Row

Corrections = Mapping[str, Row]
"""The last correction of each decision that was corrected, by its id."""
NO_CORRECTIONS: Final[Corrections] = MappingProxyType({})
MAX_BATCH_SIZE: Final = 4096  # rows that are learnt together
_NO_ROWS: Final = np.zeros((0, 0))


def drop_signs_of_zeros(values: Values) -> Values:
    """Replace -0.0 by 0.0, an equal number with other bits, which a row would keep."""
    return {name: _drop_sign_of_zero(value) for name, value in values.items()}


def _drop_sign_of_zero(value: object) -> object:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_drop_sign_of_zero(item) for item in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


class LogState:
    """What the events of a log say by themselves: the arms, and the pending decisions.

    A decision is kept as a row: round, time of asking, context, decision. Rows hold permanent arm
    numbers. Heirs add what they make of feedback: `State` lets the policy learn it, and
    `DecisionCounts` counts it.

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
    rounds, feedback_count : int
        How many decisions there are, and of how many the feedback is learnt: told in time or late,
        or assumed at a timeout.
    seq : int
        The number of the last event.
    assumes_no_reward : bool
        Whether a decision that expires counts as one with a reward of 0.

    Parameters
    ----------
    definition : Definition
        The definition of the study.
    since : int, default 0
        The event at which the definition came into force.
    corrections : dict of str to Row, optional
        The last correction of each decision that was corrected, by its id: see `find_corrections`.
        Its feedback is learnt in the place of what was told.
    """

    def __init__(
        self, definition: Definition, since: int = 0, corrections: Corrections = NO_CORRECTIONS
    ) -> None:
        self.definition, self.since = definition, since
        self.corrections = corrections
        self._last_correction = max((event.seq for event in corrections.values()), default=0)
        policy = definition.policy
        sizes = compiled_policy(type(policy)).sizes(policy.numbers() | definition.facts)
        self.arms = Arms(definition.arms)
        self.vocabulary = definition.vocabulary(self.arms.names)
        arm_fields = self.vocabulary.find_arm_fields()
        self.decisions = DecisionRowCodec(policy.setting, sizes, self.arms, arm_fields)
        self.feedback = FeedbackCodec(self.vocabulary, sizes)
        self.sums = RowCodec(self.vocabulary.sum_fields, sizes)
        self.checker = events.ValueChecker(self)
        self.seq = self.rounds = self.feedback_count = 0
        self.pending: dict[str, bytes] = {}
        self.to_ask_again: dict[str, None] = {}
        self.awaiting_feedback: dict[str, None] = {}
        self.asked_again_after: dict[str, int] = {}
        self.assumes_no_reward = definition.rule.assumes_no_reward

    # What a row says.

    @property
    def untold(self) -> int:
        """The number of decisions that expired for good and taught nothing."""
        if not self.vocabulary.has_feedback:
            return 0
        return self.rounds - self.feedback_count - len(self.pending)

    def row(self, event: Row) -> bytes:
        """Return the row of a decision, from the event that handed it out."""
        # The time is no part of the body: it is a column of the log.
        (round_number,) = ROUND.unpack_from(event.body)
        cells = self.decisions.cells_of_event(event.body)
        return ROW_HEADER.pack(round_number, event.at) + cells

    def values(self, row: bytes) -> tuple[Values, Values]:
        """Return context and decision of a row."""
        return self.decisions.values(row)

    def split_late_body(self, body: bytes) -> tuple[bytes, bytes]:
        """Return the row and the feedback in the body of an event of late feedback."""
        return body[: self.decisions.bytes], body[self.decisions.bytes :]

    def corrected(self, event: Row, feedback: bytes) -> bytes:
        """Return the feedback of an event as it was last corrected; else as it was told."""
        correction = self.corrections.get(str(event.decision))
        return feedback if correction is None else self.split_late_body(correction.body)[1]

    def is_live(self, id: str) -> bool:
        """Return whether the arm of a pending decision is in use."""
        return self.decisions.is_live(self.pending[id])

    def is_allowed(self, row: bytes, *, may_be_retired: bool = False) -> bool:
        """Return whether the setting allows a decision; one of a retired arm only if it may be."""
        raise NotImplementedError  # only a policy's kernels know

    def pack_sum(self, values: Values) -> bytes:
        """Return the body of an event for anonymous feedback."""
        return self.sums.pack(values)

    # What happens: see `events`.

    def add_decision(self, id: str, row: bytes) -> None:
        """Add a decision that was handed out."""
        self.rounds += 1
        if self.vocabulary.has_feedback:
            self.pending[id] = row
            self.awaiting_feedback[id] = None

    def remove_pending(self, id: str) -> bytes:
        """Remove a pending decision and return its row."""
        # This runs for every feedback, and both are empty in most studies.
        if self.asked_again_after or self.to_ask_again:
            self.to_ask_again.pop(id, None)
            self.asked_again_after.pop(id, None)
        self.awaiting_feedback.pop(id, None)
        return self.pending.pop(id)

    def learn(self, event: Row, row: bytes, feedback: bytes) -> None:
        """Learn the feedback of a decision."""
        self.feedback_count += 1

    def add_sum(self, body: bytes) -> None:
        """Learn anonymous feedback."""

    def prepare_arms_change(self) -> None:
        """Prepare for other arms."""
        self.checker.clear_caches()

    def change_policy(self, event: Row) -> None:
        """Replace the policy."""

    def correct(self, event: Row) -> None:
        """Raise `RebuildError` unless the correction was known from the beginning."""
        if event.seq > self._last_correction:
            raise RebuildError


def find_corrections(rows: Iterable[Row]) -> Corrections:
    """Return the last correction of each decision in a log, by its id."""
    return {str(row.decision): row for row in rows if row.kind == events.CORRECTED}


class State(LogState):
    """Pending decisions and the policy's state after some event.

    The policy has positions among the arms in use.

    Attributes
    ----------
    last : Row or None
        The last event.
    is_dirty : bool
        Whether the state is ahead of `last`: a decision was taken and not yet written, or an event
        was applied in part.
    learns : bool
        Whether the policy learns.
    round : StudyRound or None
        The unfinished round; None in settings that do not learn by round.

    Parameters
    ----------
    definition, since, corrections
        As in `LogState`.
    learns : bool, default True
        Whether the policy learns. If not, the state can do all but decide and recommend: for logs
        at which the policy fails.
    """

    def __init__(
        self,
        definition: Definition,
        since: int = 0,
        corrections: Corrections = NO_CORRECTIONS,
        *,
        learns: bool = True,
    ) -> None:
        super().__init__(definition, since, corrections)
        self.learns = learns
        self.is_dirty = False
        self.policy_state = PolicyState(definition, definition.facts)
        self.last: Row | None = None
        # The arms that the policy's arrays are about, while others are in use.
        self._policy_arms: IntArray | None = None
        self._batch: list[tuple[bytes, int]] = []  # rows with feedback to learn, and event numbers
        self._not_imputed: list[bytes] = []
        self._must_reimpute = True
        # Deciding without a copy changes the policy's own arrays, and learning may draw random
        # numbers: then decisions are replayed in the order of the log. Otherwise feedback alone is
        # replayed, in large batches, and the stream is set from the last decision.
        kernels = cast(Any, type(definition.policy))
        self.draws_to_learn = draws = "rng" in kernel_argument_names(kernels.update)
        self._replays_decisions = learns and (definition.pending != "impute" or draws)
        # Feedback imputed from the age of a run or from random numbers differs between calls and
        # processes: it is imputed again for every decision.
        self._always_reimputes = bool(definition.time_unit) or draws
        self.round: StudyRound | None = None
        if learns and self.vocabulary.round_class is not None:
            self.round = self.vocabulary.round_class(self.vocabulary, definition.policy)

    def is_allowed(self, row: bytes, *, may_be_retired: bool = False) -> bool:
        """Return whether the setting allows a decision; one of a retired arm only if it may be."""
        if (policy_row := self.decisions.with_positions(row)) is None:
            return may_be_retired
        self._update_arms()
        begin = ROW_HEADER.size + self.decisions.context.bytes
        return self.policy_state.is_allowed(policy_row[ROW_HEADER.size : begin], policy_row[begin:])

    def decide(self, context: Values, now: float, excluded: Sequence[int] = ()) -> bytes:
        """Let the policy decide, without some arms; return the body of the event to write."""
        self.is_dirty = True
        self.learn_batch()
        self._end_round()
        cells = self.decisions.context.pack(context)
        if excluded:
            cells += self._decide_without(excluded, cells, now)
            return self.body_of_decision(cells, excluded)
        imputes_all = self._must_reimpute or self._always_reimputes
        rows = self._rows_to_impute(self.decisions, now, imputes_all)
        decision = self.policy_state.decide(self.rounds + 1, cells, rows, imputes_all=imputes_all)
        self._must_reimpute = False
        self._not_imputed = []
        return self.body_of_decision(cells + self.decisions.with_numbers(decision))

    def body_of_decision(self, cells: bytes, excluded: Sequence[int] = ()) -> bytes:
        """Return the body of the event of the next decision, with the stream as it is now."""
        stream = self.policy_state.stream[:2].tolist()
        return self.decisions.body_of_event(self.rounds + 1, cells, stream, excluded)

    def _decide_without(self, excluded: Sequence[int], context: bytes, now: float) -> bytes:
        """Return the decision of the policy as if some arms had just been retired.

        Its state stays as it is; its random stream goes on.
        """
        # Kernels have no mask. Those of a policy whose `update` counts, and whose `select` reads
        # the counts (`off_policy`), decide as well on a state that has the other arms alone.
        # Masking what the policy has decided, or asking again until it is another arm, would not
        # be its decision, and need not end.
        arms = self.arms.without(excluded)
        decisions = self.decisions.with_arms(arms)
        sources = self.arms.positions[arms.live]
        view = self.policy_state.with_arms(len(sources), sources, np.arange(len(sources)))
        rows = self._rows_to_impute(decisions, now, imputes_all=True)
        decision = view.decide(self.rounds + 1, context, rows, imputes_all=True)
        self.policy_state.stream[:2] = view.stream[:2]
        return decisions.with_numbers(decision)

    def _rows_to_impute(
        self, decisions: DecisionRowCodec, now: float, imputes_all: bool
    ) -> FloatArray:
        """Return the pending decisions whose feedback is still to be imputed, as kernel rows."""
        rows: Collection[bytes] = self.pending.values() if imputes_all else self._not_imputed
        if self.definition.pending != "impute" or not rows:
            return _NO_ROWS
        return decisions.as_cells(rows, now, self.definition.time_unit)

    def _end_round(self) -> None:
        """Let the policy learn the round that has ended, in settings that learn by round."""
        if self.round is None:
            return
        policy = self.policy_state
        try:
            round_feedback = self.round.end(policy.facts, policy.state, self.feedback_count)
            if round_feedback is not None:
                self.policy_state = policy = policy.with_facts(round_feedback.facts)
                policy.learn_round(self.rounds, round_feedback)
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
        """Let the policy learn the feedback of a decision, together with others."""
        super().learn(event, row, feedback)
        if not self.learns:
            return
        if self.round is not None:
            self.round.add_feedback(*self.values(row), self.feedback.unpack(feedback))
        elif (policy_row := self.decisions.with_positions(row)) is not None:
            self._batch.append((policy_row + feedback[: self.feedback.bytes], event.seq))
            if len(self._batch) == MAX_BATCH_SIZE:
                self.learn_batch()
        # The copy still holds imputed feedback of this decision: make it again.
        self._must_reimpute = True

    def apply_all(self, rows: Iterable[Row]) -> None:
        """Check and apply events that were read.

        Raises
        ------
        EventError
            For an event that no study can have written.
        RebuildError
            At a change of policy or a correction, even if an event before it made the policy fail.
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
            except RebuildError:
                raise
            except Exception as error:
                # The error does not matter if a later event replaces the policy that failed, or
                # the feedback at which it failed.
                for later in rows:
                    if later.kind in events.CHANGES:
                        events.KINDS[later.kind].apply(self, later)
                if isinstance(error, LearningError):
                    raise
                raise LearningError(self.definition.policy, event.seq, error) from error
        if last_decision is not None and not self._replays_decisions:
            self.policy_state.stream[:2] = self.decisions.stream_of_event(last_decision)

    def _replay_decision(self, event: Row) -> None:
        """Repeat a decision for its effect on the policy's state; without some arms it has none."""
        is_of_all_arms = len(event.body) == self.decisions.bytes_of_event
        if self.definition.pending != "impute" and is_of_all_arms:
            self.decide(self.decisions.context.unpack(event.body, ROUND.size), event.at)
        self.learn_batch()
        self.policy_state.stream[:2] = self.decisions.stream_of_event(event.body)

    def apply(self, event: Row) -> None:
        """Apply one event, read or just decided."""
        self.is_dirty = True
        events.KINDS[event.kind].apply(self, event)
        self.seq, self.last = event.seq, event
        self.is_dirty = False

    def add_decision(self, id: str, row: bytes) -> None:
        """Add a decision that was handed out."""
        super().add_decision(id, row)
        # Otherwise all pending decisions, this one included, are imputed anew anyway.
        if not self._must_reimpute:
            self._not_imputed.append(row)
        if self.round is not None:
            self.round.begin(*self.values(row))

    def remove_pending(self, id: str) -> bytes:
        """Remove a pending decision and return its row."""
        self._must_reimpute = True
        return super().remove_pending(id)

    def overdue(self, now: float) -> list[str]:
        """Return the pending decisions that have exceeded their timeout, oldest first."""
        rule = self.definition.rule
        ids: list[str] = []
        for id in self.awaiting_feedback:
            round_number, asked_at = ROW_HEADER.unpack_from(self.pending[id])
            later_decisions = self.rounds - self.asked_again_after.get(id, int(round_number))
            if rule.has_expired(now - asked_at, later_decisions):
                ids.append(id)
            # Oldest first, so the first decision within its timeout ends the search. A decision
            # dated in the future, since the clock was set back, says nothing of those after it.
            elif asked_at <= now:
                break
        return ids

    def pack_sum(self, values: Values) -> bytes:
        """Return the body of an event for anonymous feedback, checked."""
        if self.round is not None:
            self.round.check_sum(values, self.rounds)
        return super().pack_sum(values)

    def add_sum(self, body: bytes) -> None:
        """Add anonymous feedback to the round."""
        if self.round is not None:
            self.round.add_sum(self.sums.unpack(body))
        self._must_reimpute = True

    def prepare_arms_change(self) -> None:
        """Learn the batch while the policy still has the arms that it is about."""
        super().prepare_arms_change()
        if self._batch:
            self.learn_batch()
        if self._policy_arms is None:
            self._policy_arms = self.arms.live
        self._must_reimpute = True

    def _update_arms(self) -> None:
        """Give the policy the arms in use: once, however many came and went."""
        if self._policy_arms is None:
            return
        targets = self.arms.positions[self._policy_arms]
        (sources,) = np.nonzero(targets >= 0)
        arms = len(self.arms.live)
        self.policy_state = self.policy_state.with_arms(arms, sources, targets[sources])
        self._policy_arms = None

    def change_policy(self, event: Row) -> None:
        """Raise `RebuildError` if the policy changes here: `CachedState` then rebuilds."""
        if event.seq > self.since:
            raise RebuildError

    # What is settled: see `keyhole.policy.Policy.verdicts`.

    def are_all_arms_settled(self) -> bool:
        """Return whether the policy has enough: every arm is settled."""
        policy = self.definition.policy
        return bool(policy.verdicts) and is_done(policy, self._verdict_arrays())

    def settled_names(self) -> dict[str, str]:
        """Return the verdict on each settled arm in use, by name."""
        names = self.arms.names_in_use
        verdicts = settled_arms(self.definition.policy, self._verdict_arrays())
        return {names[position]: verdict for position, verdict in verdicts.items()}

    def unsettled_names(self) -> list[str]:
        """Return the arms in use that are not settled."""
        settled = self.settled_names()
        return [name for name in self.arms.names_in_use if name not in settled]

    def is_settled(self, id: str) -> bool:
        """Return whether a pending decision is about settled arms alone."""
        arrays = self._verdict_arrays()
        positions = self.decisions.positions(self.pending[id]) if arrays else []
        return bool(positions) and all(arrays["settled"][position] for position in positions)

    def _verdict_arrays(self) -> Mapping[str, FloatArray | IntArray]:
        """Return the arrays of a policy that can stop; of another, which has no verdicts, none."""
        if not self.definition.policy.verdicts:
            return {}
        # An error leaves a batch that is learnt in part: nobody may use the state then.
        was_dirty, self.is_dirty = self.is_dirty, True
        self.learn_batch()
        self.is_dirty = was_dirty
        return self.policy_state.state

    def arrays_to_save(self) -> bytes:
        """Return the policy's state as bytes, for a snapshot."""
        self.learn_batch()
        return self.policy_state.arrays_to_save()

    def recommend(self) -> Any:
        """Return the policy's recommendation, by names."""
        self.learn_batch()
        return self.vocabulary.format_report(self.policy_state.recommend(), self.arms.live.tolist())
