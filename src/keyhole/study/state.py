"""The state of a study (a policy that decides for real), rebuilt from its events in order."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any, Final, cast

import numpy as np

from keyhole.contract.kernel_checks import kernel_argument_names
from keyhole.contract.policy import is_done, settled_arms
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.play.study_vocabulary import Values
from keyhole.study.definition import Definition
from keyhole.study.events import (
    ASKED,
    KINDS,
    POLICY_CHANGED,
    ROUND,
    ROW_HEADER,
    check_event,
)
from keyhole.study.log_state import LogState
from keyhole.study.policy_state import LearningError, PolicyChangedError, PolicyState
from keyhole.study.storage import Row

AT_ONCE: Final = 4096  # rows that are learnt together
_NO_ROWS: Final = np.zeros((0, 0))


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

    Parameters
    ----------
    definition, since
        As in `LogState`.
    learns : bool, default True
        Whether the policy learns. If not, the state can do all but decide and recommend: for logs
        at which the policy fails.
    """

    def __init__(self, definition: Definition, since: int = 0, *, learns: bool = True) -> None:
        super().__init__(definition, since)
        self.learns, self.is_dirty = learns, False
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
        by_round = self.vocabulary.round_class if learns else None
        self._round = None if by_round is None else by_round(self.vocabulary, definition.policy)

    def is_allowed(self, row: bytes, *, retired: bool = False) -> bool:
        """Return whether the setting allows a decision, or `retired` if its arm is retired."""
        if (placed := self.decisions.with_positions(row)) is None:
            return retired
        self._update_arms()
        begin = ROW_HEADER.size + self.decisions.context.bytes
        return self.policy_state.is_allowed(placed[ROW_HEADER.size : begin], placed[begin:])

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
        return self.body_of_decision(seen + self.decisions.with_numbers(taken))

    def body_of_decision(self, cells: bytes) -> bytes:
        """Return the body of the event of the next decision, with the stream as it is now."""
        stream = self.policy_state.stream[:2].tolist()
        return self.decisions.body_of_event(self.rounds + 1, cells, stream)

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
            self.policy_state.learn(self._batch)
            self._batch = []
            self._must_reimpute = True

    def learn(self, event: Row, row: bytes, feedback: bytes) -> None:
        """Let the policy learn the feedback of a decision, together with others."""
        super().learn(event, row, feedback)
        if not self.learns:
            return
        if self._round is not None:
            self._round.add_feedback(*self.values(row), self.feedback.unpack(feedback))
        elif (placed := self.decisions.with_positions(row)) is not None:
            self._batch.append((placed + feedback[: self.feedback.bytes], event.seq))
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
            check_event(self, event)
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
                    if later.kind == POLICY_CHANGED:
                        self.change_policy(later)
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
        KINDS[event.kind].apply(self, event)
        self.seq, self.last = event.seq, event
        self.is_dirty = False

    def add_decision(self, id: str, row: bytes) -> None:
        """Add a decision that was handed out."""
        super().add_decision(id, row)
        # Otherwise all pending decisions, this one included, are imputed anew anyway.
        if not self._must_reimpute:
            self._not_imputed.append(row)
        if self._round is not None:
            self._round.begin(*self.values(row))

    def remove_pending(self, id: str) -> bytes:
        """Remove a pending decision and return its row."""
        self._must_reimpute = True
        return super().remove_pending(id)

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
        return super().pack_sum(values)

    def add_sum(self, body: bytes) -> None:
        """Add anonymous feedback to the round."""
        if self._round is not None:
            self._round.add_sum(self.sums.unpack(body))
        self._must_reimpute = True

    def prepare_arms_change(self) -> None:
        """Learn the batch while the policy still has the arms that it is about."""
        super().prepare_arms_change()
        if self._batch:
            self.catch_up()
        if self._policy_arms is None:
            self._policy_arms = self.arms.live
        self._must_reimpute = True

    def _update_arms(self) -> None:
        """Give the policy the arms in use: once, however many came and went."""
        if self._policy_arms is None:
            return
        after = self.arms.positions[self._policy_arms]
        (before,) = np.nonzero(after >= 0)
        self.policy_state = self.policy_state.with_arms(len(self.arms.live), before, after[before])
        self._policy_arms = None

    def change_policy(self, event: Row) -> None:
        """Raise `PolicyChangedError` if the policy changes here: `CachedState` then rebuilds."""
        if event.seq > self.since:
            raise PolicyChangedError(event)

    # What is settled: see `keyhole.policy.Policy.verdicts`.

    def has_enough(self) -> bool:
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

    def _verdict_arrays(self) -> Mapping[str, Any]:
        """Return the arrays of a policy that can stop; of another, which has no verdicts, none."""
        if not self.definition.policy.verdicts:
            return {}
        # An error leaves a batch that is learnt in part: nobody may use the state then.
        before, self.is_dirty = self.is_dirty, True
        self.catch_up()
        self.is_dirty = before
        return self.policy_state.state

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
