"""Checks that an event read from a database is one that a study can have written.

A study is a policy (a rule that chooses among options) that decides for real; its events are its
decisions and what came of them.
"""

import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final, Protocol

from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT
from keyhole.play.saved_learner import DAMAGE
from keyhole.play.study_vocabulary import Values
from keyhole.study.arms import Arms
from keyhole.study.decision_bytes import DecisionBytes
from keyhole.study.decision_ids import is_id
from keyhole.study.definition import Definition
from keyhole.study.events import (
    ARM_ADDED,
    ARM_RETIRED,
    ASKED,
    ASKED_AGAIN,
    END_OF_TIME,
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
from keyhole.study.row_codec import FeedbackCodec, RowCodec
from keyhole.study.setting_code_errors import convert_read_back_errors, convert_vocabulary_errors
from keyhole.study.storage import Row
from keyhole.study.timeout_rule import NO_REWARD
from keyhole.validate import check_line, short_repr

_CACHED: Final = 4096  # entries of each cache


class EventError(ValueError):
    """An event that no study can have written.

    Parameters
    ----------
    seq : int
        Its number.
    why : str
        The reason.
    """

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"event {seq}: {why}")
        self.seq, self.why = seq, why


class CheckedState(Protocol):
    """The members of a study's state with which events are compared."""

    definition: Definition
    arms: Arms
    decisions: DecisionBytes
    feedback: FeedbackCodec
    sums: RowCodec
    pending: dict[str, bytes]
    to_ask_again: dict[str, None]
    seq: int
    since: int
    rounds: int

    def values(self, row: bytes) -> tuple[Values, Values]:
        """Return context and decision of a row."""

    def is_allowed(self, row: bytes, *, retired: bool = False) -> bool:
        """Return whether the setting allows the decision of a row."""

    def pack_sum(self, values: Values) -> bytes:
        """Return the body of an event for anonymous feedback."""


# Events are checked before they reach a kernel: whoever can write to a database can also compute
# checksums, and must still not decide where machine code writes.
class EventChecker:
    """Refuses events that cannot follow a study's state.

    A value is checked as if a user gave it: formatted by the vocabulary and parsed again, it must
    be the same.
    """

    def __init__(self, state: CheckedState) -> None:
        self._state = state
        # In unit scale: in other units a value may differ in its last bit when parsed again.
        self._vocabulary = replace(state.definition, scale=UNIT).vocabulary(state.arms.names)
        # A log has the same few decisions and rewards again and again: the checks are cached by
        # their bytes, until the arms change (`forget`).
        self._check_decision = lru_cache(_CACHED)(self._parse_decision)
        self._check_past_decision = lru_cache(_CACHED)(self._parse_past_decision)
        self._check_feedback = lru_cache(_CACHED)(self._parse_feedback)
        self._check_words = lru_cache(_CACHED)(self._parse)

    def check(self, event: Row) -> None:
        """Refuse an event that cannot be the next one.

        Raises
        ------
        EventError
            With the reason.
        """
        try:
            if event.seq != self._state.seq + 1:
                raise ValueError(f"the log has a gap: event {event.seq} follows {self._state.seq}")
            check = self._CHECKS.get(event.kind)
            if check is None:
                raise ValueError(f"its kind is {short_repr(event.kind)}, which is unknown")
            check_time(event.at)
            if event.key is not None:
                if event.kind not in (ASKED, ASKED_AGAIN):
                    raise ValueError("an event of its kind has no key")
                check_line("key", event.key)
            if (event.decision is None) != (
                event.kind in (SUM_TOLD, ARM_ADDED, ARM_RETIRED, POLICY_CHANGED)
            ):
                raise ValueError(
                    f"decision must be given or absent as the kind requires, got {event.decision!r}"
                )
            check(self, event)
        except (*DAMAGE, struct.error) as error:
            why = str(error) if isinstance(error, ValueError) else f"it is malformed ({error!r})"
            raise EventError(event.seq, why) from error

    def forget(self) -> None:
        """Clear the caches, since other arms are in use."""
        self._check_decision.cache_clear()
        self._check_past_decision.cache_clear()
        self._check_feedback.cache_clear()
        self._check_words.cache_clear()

    # Decisions.

    def _check_asked(self, event: Row) -> None:
        state = self._state
        if not is_id(event.decision) or event.decision in state.pending:
            raise ValueError(f"decision must be a new id, got {short_repr(event.decision)}")
        size = ROUND.size + state.decisions.bytes - ROW_HEADER.size + STREAM.size
        if len(event.body) != size:
            raise ValueError(f"it must have {size} bytes, got {len(event.body)}")
        if ROUND.unpack_from(event.body)[0] != state.rounds + 1:
            raise ValueError(f"round must be {state.rounds + 1}")
        horizon = state.definition.facts.get("horizon")
        if (
            state.definition.policy.setting.by_round
            and event.seq > state.since
            and state.rounds == horizon
        ):
            raise ValueError(f"round must be at most the horizon, {horizon}")
        self._check_decision(event.body[ROUND.size : -STREAM.size])

    def _parse_decision(self, cells: bytes) -> None:
        """Refuse context and decision of a row that the setting does not allow."""
        self._check_words(cells)
        if not self._state.is_allowed(ROW_HEADER.pack(0.0, 0.0) + cells):
            raise ValueError("its decision is not allowed")

    def _parse_past_decision(self, cells: bytes) -> None:
        """Refuse context and decision of a row, whose arm may have been retired since."""
        self._check_words(cells)
        if not self._state.is_allowed(ROW_HEADER.pack(0.0, 0.0) + cells, retired=True):
            raise ValueError("its decision was not allowed")

    def _parse(self, cells: bytes) -> None:
        vocabulary, values = self._vocabulary, self._state.values(ROW_HEADER.pack(0.0, 0.0) + cells)
        with convert_vocabulary_errors(vocabulary):
            named = vocabulary.format_decision(*values)
            if vocabulary.parse_decision(named) != values:
                raise ValueError(f"its decision is not allowed, {short_repr(named)}")

    def check_words(self, row: bytes) -> None:
        """Refuse a row whose decision cannot be formatted, of an arm that never existed."""
        self._check_words(row[ROW_HEADER.size :])

    def check_pending(self, row: bytes) -> None:
        """Refuse the row of a pending decision that no study can have had."""
        t, at = ROW_HEADER.unpack_from(row)
        if not 1 <= t <= self._state.rounds or t != int(t):
            raise ValueError(f"round must be from 1 to {self._state.rounds}, got {t}")
        check_time(at)
        self._check_past_decision(row[ROW_HEADER.size :])

    # Feedback.

    def _parse_feedback(self, cells: bytes, feedback: bytes) -> None:
        """Refuse feedback that cannot have been told of a decision."""
        vocabulary, form = self._vocabulary, self._state.feedback
        values = *self._state.values(ROW_HEADER.pack(0.0, 0.0) + cells), form.unpack(feedback)
        with convert_vocabulary_errors(vocabulary):
            named = vocabulary.format_feedback(*values)
            if form.pack(vocabulary.parse_feedback(*values[:2], **named)) != feedback:
                raise ValueError(f"its feedback is invalid, {short_repr(named)}")

    def _check_told(self, event: Row) -> None:
        self._check_feedback(self._find_pending(event)[ROW_HEADER.size :], event.body)

    def _find_pending(self, event: Row) -> bytes:
        """Return the row of a decision that must be pending."""
        row = self._state.pending.get(str(event.decision))
        if row is None:
            raise ValueError(f"decision must be a pending one, got {short_repr(event.decision)}")
        return row

    def _check_expired(self, event: Row) -> None:
        row = self._find_pending(event)
        if self._state.definition.rule.on_timeout == NO_REWARD:
            self._check_feedback(row[ROW_HEADER.size :], event.body)
        else:
            _check_empty(event)

    def _check_asked_again(self, event: Row) -> None:
        if event.decision not in self._state.to_ask_again:
            raise ValueError(f"decision must be one to ask again, got {event.decision!r}")
        _check_empty(event)

    def _check_told_late(self, event: Row) -> None:
        state = self._state
        if not is_id(event.decision) or event.decision in state.pending:
            raise ValueError(f"decision must be a settled one, got {short_repr(event.decision)}")
        if ((rule := state.definition.rule.on_timeout) == NO_REWARD) != (
            event.kind == TOLD_TOO_LATE
        ):
            raise ValueError(f"late feedback must be of the other kind with on_timeout={rule!r}")
        end = state.decisions.bytes
        self.check_pending(event.body[:end])
        self._check_feedback(event.body[ROW_HEADER.size : end], event.body[end:])

    def _check_sum(self, event: Row) -> None:
        if not self._vocabulary.sum_fields:
            raise ValueError("a sum is for anonymous feedback, which this setting does not have")
        self._parse_sum(event.body)

    def _parse_sum(self, body: bytes) -> None:
        """Refuse an anonymous sum that cannot have been told."""
        state, vocabulary = self._state, self._vocabulary
        values = state.sums.unpack(body)
        with convert_vocabulary_errors(vocabulary):
            named = vocabulary.format_sum(values)
            if state.pack_sum(vocabulary.parse_sum(**named)) != body:
                raise ValueError(f"its sum is invalid, {short_repr(named)}")

    # What is to be written.

    def check_new_decision(self, decided: bytes) -> None:
        """Refuse to write a decision that could not be read again."""
        with convert_read_back_errors(self._vocabulary):
            self._check_words(decided[ROUND.size : -STREAM.size])

    def check_new_feedback(self, row: bytes, feedback: bytes) -> None:
        """Refuse to write feedback that could not be read again."""
        with convert_read_back_errors(self._vocabulary):
            self._check_feedback(row[ROW_HEADER.size :], feedback)

    def check_new_sum(self, body: bytes) -> None:
        """Refuse to write a sum that could not be read again."""
        with convert_read_back_errors(self._vocabulary):
            self._parse_sum(body)

    # What may change.

    def _check_arm_added(self, event: Row) -> None:
        self._state.definition.check_arms_change()
        self._state.arms.check_new("arm", check_line("arm", event.body.decode()))

    def _check_arm_retired(self, event: Row) -> None:
        self._state.definition.check_arms_change()
        self._state.arms.check_can_retire("arm", event.body.decode())

    def _check_policy_changed(self, event: Row) -> None:
        """Do nothing: `read_changed_definition` checks the definition, which needs the policies."""

    _CHECKS: Final[dict[int, Callable[[Any, Row], None]]] = {
        ASKED: _check_asked,
        TOLD: _check_told,
        EXPIRED: _check_expired,
        ASKED_AGAIN: _check_asked_again,
        TOLD_LATE: _check_told_late,
        TOLD_TOO_LATE: _check_told_late,
        SUM_TOLD: _check_sum,
        ARM_ADDED: _check_arm_added,
        ARM_RETIRED: _check_arm_retired,
        POLICY_CHANGED: _check_policy_changed,
    }


def read_changed_definition(
    first: Definition, data: bytes, policies: Iterable[type[Policy]], event: int
) -> Definition:
    """Return the definition written by an event, in which only the policy may differ."""
    found = Definition.from_bytes(data, policies)
    try:
        first.check_successor(found)
    except ValueError as error:
        raise EventError(event, str(error)) from error
    return found


def check_time(at: float) -> None:
    """Refuse a time that no event can have."""
    if not 0.0 <= at < END_OF_TIME:
        raise ValueError(f"its time must be in seconds since 1970, got {at}")


def _check_empty(event: Row) -> None:
    if event.body:
        raise ValueError(f"it must have no bytes, got {len(event.body)}")
