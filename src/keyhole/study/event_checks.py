"""Checks of events that were read: they are what a study can have written."""

import struct
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from keyhole.contract.policy import Policy
from keyhole.contract.scale import UNIT
from keyhole.play.saved_learner import DAMAGE
from keyhole.study.decision_ids import is_id
from keyhole.study.definition import Definition
from keyhole.study.events import (
    ADDED,
    AGAIN,
    ARRIVED,
    ASKED,
    CHANGED,
    END_OF_TIME,
    HEAD,
    KEPT,
    LAPSED,
    LATE,
    RETIRED,
    ROUND,
    STREAM,
    TOLD,
)
from keyhole.study.storage import Row
from keyhole.study.timeout_rule import NO_REWARD
from keyhole.study.vocabulary_errors import naming_vocabulary, reading_back
from keyhole.validate import check_line, short_repr

if TYPE_CHECKING:
    from keyhole.study.state import State

_CACHED: Final = 4096  # decisions, and feedback, that have been checked before


class EventError(ValueError):
    """An event that no study can have written.

    Parameters
    ----------
    seq : int
        Its number.
    why : str
        Why not.
    """

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"event {seq}: {why}")
        self.seq, self.why = seq, why


class EventChecker:
    """Refuses events that cannot be the next one of a study.

    What is refused never reaches a kernel: whoever can write to a database can give an event the
    right checksum, and must still not decide where machine code writes. Values are checked as they
    are when users give them: formatted as words, and parsed again, they must be the same.
    """

    def __init__(self, fold: "State") -> None:
        self._fold = fold
        # In other units a value may not be the same to the bit when it is parsed.
        self._words = replace(fold.head, scale=UNIT).vocabulary(fold.arms.names)
        self._check_decision = lru_cache(_CACHED)(self._parse_decision)
        self._check_past_decision = lru_cache(_CACHED)(self._parse_past_decision)
        self._check_feedback = lru_cache(_CACHED)(self._parse_feedback)
        self._check_words = lru_cache(_CACHED)(self._parse)

    def check(self, event: Row) -> None:
        """Refuse an event that cannot be the next one.

        Raises
        ------
        EventError
            Which says why.
        """
        try:
            if event.seq != self._fold.seq + 1:
                raise ValueError(f"the log has a gap: event {event.seq} follows {self._fold.seq}")
            check = self._CHECKS.get(event.kind)
            if check is None:
                raise ValueError(f"its kind is {short_repr(event.kind)}, which is not known here")
            check_time(event.at)
            if event.key is not None:
                if event.kind not in (ASKED, AGAIN):
                    raise ValueError("an event of its kind has no key")
                check_line("key", event.key)
            if (event.decision is None) != (event.kind in (ARRIVED, ADDED, RETIRED, CHANGED)):
                raise ValueError(f"decision must be as its kind has it, got {event.decision!r}")
            check(self, event)
        except (*DAMAGE, struct.error) as error:
            why = str(error) if isinstance(error, ValueError) else f"it is malformed ({error!r})"
            raise EventError(event.seq, why) from error

    def forget(self) -> None:
        """Check all decisions anew, as other arms are in use."""
        self._check_decision.cache_clear()
        self._check_past_decision.cache_clear()
        self._check_feedback.cache_clear()
        self._check_words.cache_clear()

    # Decisions.

    def _asked(self, event: Row) -> None:
        fold = self._fold
        if not is_id(event.decision) or event.decision in fold.open:
            raise ValueError(f"decision must be a new id, got {short_repr(event.decision)}")
        size = ROUND.size + fold.decisions.bytes - HEAD.size + STREAM.size
        if len(event.body) != size:
            raise ValueError(f"it must have {size} bytes, got {len(event.body)}")
        if ROUND.unpack_from(event.body)[0] != fold.rounds + 1:
            raise ValueError(f"round must be {fold.rounds + 1}")
        horizon = fold.head.facts.get("horizon")
        if fold.head.policy.setting.by_round and event.seq > fold.since and fold.rounds == horizon:
            raise ValueError(f"round must be at most the horizon, {horizon}")
        self._check_decision(event.body[ROUND.size : -STREAM.size])

    def _parse_decision(self, cells: bytes) -> None:
        """Refuse the context and decision of a row, if nobody can have decided so."""
        self._check_words(cells)
        if not self._fold.is_allowed(HEAD.pack(0.0, 0.0) + cells):
            raise ValueError("its decision is none that is allowed")

    def _parse_past_decision(self, cells: bytes) -> None:
        """Refuse the context and decision of a row, of an arm that may have been retired since."""
        self._check_words(cells)
        if not self._fold.is_allowed(HEAD.pack(0.0, 0.0) + cells, retired=True):
            raise ValueError("its decision is none that was allowed")

    def _parse(self, cells: bytes) -> None:
        words, values = self._words, self._fold.values(HEAD.pack(0.0, 0.0) + cells)
        with naming_vocabulary(words):
            said = words.format_decision(*values)
            if words.parse_decision(said) != values:
                raise ValueError(f"its decision is none that is allowed, {short_repr(said)}")

    def check_words(self, row: bytes) -> None:
        """Refuse the row of a decision that words cannot say, of an arm that never was."""
        self._check_words(row[HEAD.size :])

    def check_pending(self, row: bytes) -> None:
        """Refuse the row of a pending decision that no study can have had."""
        t, at = HEAD.unpack_from(row)
        if not 1 <= t <= self._fold.rounds or t != int(t):
            raise ValueError(f"round must be from 1 to {self._fold.rounds}, got {t}")
        check_time(at)
        self._check_past_decision(row[HEAD.size :])

    # Feedback.

    def _parse_feedback(self, cells: bytes, told: bytes) -> None:
        """Refuse feedback that nobody can have told of a decision."""
        words, form = self._words, self._fold.feedback
        values = *self._fold.values(HEAD.pack(0.0, 0.0) + cells), form.unpack(told)
        with naming_vocabulary(words):
            said = words.format_feedback(*values)
            if form.pack(words.parse_feedback(*values[:2], **said)) != told:
                raise ValueError(f"its feedback is none that can be told, {short_repr(said)}")

    def _told(self, event: Row) -> None:
        self._check_feedback(self._pending(event)[HEAD.size :], event.body)

    def _pending(self, event: Row) -> bytes:
        """Return the row of a decision that must be pending."""
        row = self._fold.open.get(str(event.decision))
        if row is None:
            raise ValueError(f"decision must be a pending one, got {short_repr(event.decision)}")
        return row

    def _lapsed(self, event: Row) -> None:
        row = self._pending(event)
        if self._fold.head.rule.on_timeout == NO_REWARD:
            self._check_feedback(row[HEAD.size :], event.body)
        else:
            _check_empty(event)

    def _again(self, event: Row) -> None:
        if event.decision not in self._fold.returned:
            raise ValueError(f"decision must be to be handed out again, got {event.decision!r}")
        _check_empty(event)

    def _late(self, event: Row) -> None:
        fold = self._fold
        if not is_id(event.decision) or event.decision in fold.open:
            raise ValueError(f"decision must be a settled one, got {short_repr(event.decision)}")
        if (fold.head.rule.on_timeout == NO_REWARD) != (event.kind == KEPT):
            raise ValueError(
                f"late feedback is not dealt with so after {fold.head.rule.on_timeout!r}"
            )
        end = fold.decisions.bytes
        self.check_pending(event.body[:end])
        self._check_feedback(event.body[HEAD.size : end], event.body[end:])

    def _arrived(self, event: Row) -> None:
        if not self._words.sum_fields:
            raise ValueError("a sum is told where feedback is anonymous, and not here")
        self._parse_sum(event.body)

    def _parse_sum(self, told: bytes) -> None:
        """Refuse a sum that nobody can have told."""
        fold, words = self._fold, self._words
        values = fold.sums.unpack(told)
        with naming_vocabulary(words):
            said = words.format_sum(values)
            if fold.packed_sum(words.parse_sum(**said)) != told:
                raise ValueError(f"it is no sum that can be told, {short_repr(said)}")

    # What is to be written.

    def check_new_decision(self, decided: bytes) -> None:
        """Refuse the body of a decision that could not be read again."""
        with reading_back(self._words):
            self._check_words(decided[ROUND.size : -STREAM.size])

    def check_new_feedback(self, row: bytes, told: bytes) -> None:
        """Refuse feedback of the decision of a row that could not be read again."""
        with reading_back(self._words):
            self._check_feedback(row[HEAD.size :], told)

    def check_new_sum(self, told: bytes) -> None:
        """Refuse a sum that could not be read again."""
        with reading_back(self._words):
            self._parse_sum(told)

    # What may change.

    def _added(self, event: Row) -> None:
        self._fold.head.check_arms_change()
        self._fold.arms.check_new("arm", check_line("arm", event.body.decode()))

    def _retired(self, event: Row) -> None:
        self._fold.head.check_arms_change()
        self._fold.arms.check_can_retire("arm", event.body.decode())

    def _changed(self, event: Row) -> None:
        """Leave it to whoever reads the definition, which needs the policies that there are."""

    _CHECKS: Final[dict[int, Callable[[Any, Row], None]]] = {
        ASKED: _asked,
        TOLD: _told,
        LAPSED: _lapsed,
        AGAIN: _again,
        LATE: _late,
        KEPT: _late,
        ARRIVED: _arrived,
        ADDED: _added,
        RETIRED: _retired,
        CHANGED: _changed,
    }


def read_successor(
    first: Definition, data: bytes, policies: Iterable[type[Policy]], event: int
) -> Definition:
    """Return the definition that holds since an event, which may change but the policy."""
    found = Definition.from_bytes(data, policies)
    try:
        first.check_successor(found)
    except ValueError as error:
        raise EventError(event, str(error)) from error
    return found


def check_time(at: float) -> None:
    """Refuse what is no time of an event."""
    if not 0.0 <= at < END_OF_TIME:
        raise ValueError(f"its time must be in seconds since 1970, got {at}")


def _check_empty(event: Row) -> None:
    if event.body:
        raise ValueError(f"it must have no bytes, got {len(event.body)}")
