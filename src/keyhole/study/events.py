"""The kinds of events in a study's log: their bodies, their checks, and their named values.

Named values (`Words`) have names of arms, and rewards in the study's units; in exports from 0 to 1.
Numbers in a body have 8 bytes and are little-endian. ``asked again`` has no body; the others have:

``asked``
    round, context, decision, and counter and key of the policy's random stream after the decision;
    then the numbers of the excluded arms as bits, if there are any;
``told``, ``expired``
    feedback, then notes if any; nothing if an expired decision is forgotten or asked again;
``told late`` (is learnt), ``told too late`` (is not), ``corrected`` (is learnt in place of the old)
    the decision's row (round, time, context, decision), then feedback and notes;
``sum told``
    anonymous feedback;
``arm added``, ``arm retired``
    the name of the arm;
``policy changed``
    the new definition, as JSON.
"""

import json
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from keyhole.contract.reward_units import UNIT
from keyhole.play.saved_learner import DAMAGE_ERRORS
from keyhole.play.study_vocabulary import StudyVocabulary, Words
from keyhole.study.arms import pack_numbers
from keyhole.study.storage import Row
from keyhole.validation import check_line, short_repr

if TYPE_CHECKING:
    from keyhole.study.log_state import LogState

(
    ASKED,
    TOLD,
    EXPIRED,
    ASKED_AGAIN,
    TOLD_LATE,
    TOLD_TOO_LATE,
    SUM_TOLD,
    ARM_ADDED,
    ARM_RETIRED,
    POLICY_CHANGED,
    CORRECTED,
) = range(1, 12)

_WITHOUT_DECISION: Final = (SUM_TOLD, ARM_ADDED, ARM_RETIRED, POLICY_CHANGED)
CHANGES: Final = (POLICY_CHANGED, CORRECTED)
"""The kinds of events after which the whole log is learnt anew."""

ROW_HEADER: Final = Struct("<dd")
"""The beginning of a row: round, and time of asking."""
ROUND: Final = Struct("<d")
STREAM: Final = Struct("<QQ")
END_OF_TIME: Final = 2.0**37
"""The upper bound of times, in seconds since 1970: the year 6325."""
MAX_METADATA_BYTES: Final = 1000
# The first columns of a table of events. All other values of an event with feedback are feedback.
COMMON_WORDS: Final = ("seq", "at", "event", "decision", "key", "round")

ID_CHARACTERS: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32
_ID_LENGTH: Final = 26
_CACHE_SIZE: Final = 4096  # entries of each cache
_NO_HEADER: Final = ROW_HEADER.pack(0.0, 0.0)
_NO_SUMS: Final = "a sum is for anonymous feedback, which this setting does not have"
# Values read from a database always have the types of their fields. So if the code of a vocabulary
# raises one of these errors, the code is wrong, not the values.
_CODE_ERRORS: Final = (
    AssertionError, AttributeError, KeyError, NameError, NotImplementedError, TypeError,
    struct.error,
)  # fmt: skip


def is_decision_id(text: object) -> bool:
    """Return whether a value has the form of a decision's id."""
    return isinstance(text, str) and len(text) == _ID_LENGTH and not set(text) - set(ID_CHARACTERS)


class EventError(ValueError):
    """An event that no study can have written.

    Parameters
    ----------
    seq : int
        The number of the event.
    why : str
        The reason.
    """

    def __init__(self, seq: int, why: str) -> None:
        super().__init__(f"event {seq}: {why}")
        self.seq = seq
        self.why = why


def error_reason(error: Exception) -> str:
    """Return the message of a ValueError; for another error, its class and its message."""
    return str(error) if isinstance(error, ValueError) else repr(error)


class SettingCodeError(RuntimeError):
    """The vocabulary of a setting failed: an error in its code, not in stored data.

    Parameters
    ----------
    vocabulary : StudyVocabulary
        The vocabulary.
    why : str
        The reason.
    """

    def __init__(self, vocabulary: StudyVocabulary, why: str) -> None:
        vocabulary_class = type(vocabulary)
        super().__init__(
            f"the vocabulary of setting {vocabulary.setting.name!r} failed "
            f"({vocabulary_class.__module__}.{vocabulary_class.__qualname__}): {why}"
        )


@contextmanager
def convert_vocabulary_errors(vocabulary: StudyVocabulary) -> Iterator[None]:
    """Raise errors of a vocabulary's code as `SettingCodeError`."""
    try:
        yield
    except _CODE_ERRORS as error:
        raise SettingCodeError(vocabulary, repr(error)) from error


# Checks: each refuses an event of its kind that cannot follow a state.


def _check_asked(state: "LogState", event: Row) -> None:
    if not is_decision_id(event.decision) or event.decision in state.pending:
        raise ValueError(f"decision must be a new id, got {short_repr(event.decision)}")
    size = state.decisions.event_size
    if len(event.body) < size:
        raise ValueError(f"it must have {size} bytes, got {len(event.body)}")
    if ROUND.unpack_from(event.body)[0] != state.rounds + 1:
        raise ValueError(f"round must be {state.rounds + 1}")
    horizon = state.definition.facts.get("horizon")
    is_by_round = state.definition.policy.setting.by_round
    # Events from before a change of policy may have been written without a horizon.
    if is_by_round and event.seq > state.definition_seq and state.rounds == horizon:
        raise ValueError(f"round must be at most the horizon, {horizon}")
    state.checker.check_decision(state.decisions.cells_of_event(event.body))
    if excluded_bits := event.body[size:]:
        numbers = state.decisions.excluded_arm_numbers(event.body)
        if not all(map(state.arms.is_in_use, numbers)) or pack_numbers(numbers) != excluded_bits:
            raise ValueError("excluded arms must be in use, and no zero byte may follow their bits")
        if not set(numbers).isdisjoint(state.decisions.arm_numbers(state.decision_row(event))):
            raise ValueError("its decision must not be about an arm that it excludes")


def _check_told(state: "LogState", event: Row) -> None:
    _check_feedback(state, event, _require_pending(state, event), event.body)


def _check_expired(state: "LogState", event: Row) -> None:
    if state.assumes_no_reward:
        _check_told(state, event)
    else:
        _require_pending(state, event)
        _check_body_is_empty(event)


def _check_asked_again(state: "LogState", event: Row) -> None:
    if event.decision not in state.to_ask_again:
        raise ValueError(f"decision must be one to ask again, got {event.decision!r}")
    _check_body_is_empty(event)


def _check_told_late(state: "LogState", event: Row) -> None:
    rule = state.definition.rule.on_timeout
    if state.assumes_no_reward != (event.kind == TOLD_TOO_LATE):
        raise ValueError(f"late feedback of this kind needs another on_timeout than {rule!r}")
    _check_late_feedback(state, event)


def _check_late_feedback(state: "LogState", event: Row) -> None:
    if not is_decision_id(event.decision) or event.decision in state.pending:
        raise ValueError(f"decision must be a settled one, got {short_repr(event.decision)}")
    row, feedback = state.split_late_body(event.body)
    state.checker.check_pending_row(row)
    _check_feedback(state, event, row, feedback)


def _check_sum(state: "LogState", event: Row) -> None:
    if not state.vocabulary.sum_fields:
        raise ValueError(_NO_SUMS)
    state.checker.check_sum(event.body)


def _check_arm_added(state: "LogState", event: Row) -> None:
    state.definition.check_arms_change()
    state.arms.check_new("arm", check_line("arm", event.body.decode()))


def _check_arm_retired(state: "LogState", event: Row) -> None:
    state.definition.check_arms_change()
    state.arms.check_can_retire("arm", event.body.decode())


def _leave_unchecked(state: "LogState", event: Row) -> None:
    """Leave a change of policy to `Definition.read_change`, which needs the policies."""


def _check_body_is_empty(event: Row) -> None:
    if event.body:
        raise ValueError(f"it must have no bytes, got {len(event.body)}")


def _check_feedback(state: "LogState", event: Row, row: bytes, feedback: bytes) -> None:
    """Refuse feedback, or its last correction, that the decision of a row cannot have."""
    for body in {feedback, state.corrected_feedback(event.decision, feedback)}:
        state.checker.check_feedback(row[ROW_HEADER.size :], body)


def _require_pending(state: "LogState", event: Row) -> bytes:
    """Return the row of an event's decision; refuse a decision that is not pending."""
    if row := state.pending.get(str(event.decision)):
        return row
    raise ValueError(f"decision must be a pending one, got {short_repr(event.decision)}")


# Each of these functions returns the named values in an event's body. An event about a pending
# decision needs the row of the decision, `decision_row`.


def _format_asked(state: "LogState", event: Row, decision_row: bytes) -> Words:
    row = state.decision_row(event)
    stream = [f"{number:016x}" for number in state.decisions.stream_of_event(event.body)]
    excluded = [state.arms.names[arm] for arm in state.decisions.excluded_arm_numbers(event.body)]
    # Tables and exports are made without `check_event`.
    state.checker.check_decision_format(row[ROW_HEADER.size :])
    values = state.decisions.unpack_row(row)
    with convert_vocabulary_errors(state.vocabulary):
        decision_words = state.vocabulary.format_decision(*values)
    (round_number,) = ROUND.unpack_from(event.body)
    if not 0 <= round_number <= 2.0**53 or round_number != int(round_number):
        raise ValueError(f"round must be a whole number, got {round_number}")
    exclusion = {"excluded": excluded} if excluded else {}
    return {"round": int(round_number), **decision_words, **exclusion, "stream": stream}


def _format_told(state: "LogState", event: Row, decision_row: bytes) -> Words:
    if not event.body:
        return {}
    return _format_feedback(state, decision_row, event.body)


def _format_late(state: "LogState", event: Row, decision_row: bytes) -> Words:
    return _format_feedback(state, *state.split_late_body(event.body))


def _format_feedback(state: "LogState", row: bytes, feedback: bytes) -> Words:
    values = *state.decisions.unpack_row(row), state.feedback.unpack(feedback)
    with convert_vocabulary_errors(state.vocabulary):
        return state.vocabulary.format_feedback(*values)


def _format_sum(state: "LogState", event: Row, decision_row: bytes) -> Words:
    if not state.vocabulary.sum_fields:
        raise ValueError(_NO_SUMS)
    values = state.sums.unpack(event.body)
    with convert_vocabulary_errors(state.vocabulary):
        return state.vocabulary.format_sum(values)


def _format_arm(state: "LogState", event: Row, decision_row: bytes) -> Words:
    return {"arm": event.body.decode()}


def _format_policy(state: "LogState", event: Row, decision_row: bytes) -> Words:
    definition = json.loads(event.body)
    # A table shows the policy as text, whatever an edited log has here.
    return {"head": definition | {"policy": str(definition["policy"])}}


def _format_nothing(state: "LogState", event: Row, decision_row: bytes) -> Words:
    return {}


# Each of these functions returns the body of an event from its named values.


def _pack_asked(state: "LogState", event_words: Words, decision_row: bytes) -> bytes:
    context, decision = state.vocabulary.parse_decision(event_words)
    cells = state.decisions.context.pack(context) + state.decisions.decision.pack(decision)
    stream = (int(digits, 16) for digits in event_words["stream"])
    names = event_words.get("excluded", ())
    excluded = [state.vocabulary.arm_number("excluded", name) for name in names]
    return state.decisions.event_body(event_words["round"], cells, stream, excluded)


def _pack_told(state: "LogState", event_words: Words, decision_row: bytes) -> bytes:
    values = state.decisions.unpack_row(decision_row)
    feedback = state.vocabulary.parse_feedback(*values, **_body_words(event_words))
    return state.feedback.pack(feedback)


def _pack_expired(state: "LogState", event_words: Words, decision_row: bytes) -> bytes:
    if not _body_words(event_words):
        return b""
    return _pack_told(state, event_words, decision_row)


def _pack_late(state: "LogState", event_words: Words, decision_row: bytes) -> bytes:
    return decision_row + _pack_told(state, event_words, decision_row)


def _pack_sum(state: "LogState", event_words: Words, decision_row: bytes) -> bytes:
    return state.sums.pack(state.vocabulary.parse_sum(**_body_words(event_words)))


def _pack_arm(state: "LogState", event_words: Words, decision_row: bytes) -> bytes:
    return str(event_words["arm"]).encode()


def _pack_policy(state: "LogState", event_words: Words, decision_row: bytes) -> bytes:
    # The fields get the order that they have in the setting today.
    setting = state.definition.setting_as_json()
    return json.dumps({**event_words["head"], "setting": setting}).encode()


def _pack_nothing(state: "LogState", event_words: Words, decision_row: bytes) -> bytes:
    return b""


def _body_words(event_words: Words) -> Words:
    """Return the named values of an event that come from its body."""
    return {name: value for name, value in event_words.items() if name not in COMMON_WORDS}


class EventKind(NamedTuple):
    """A kind of event: its name, its functions, and whether it may have an idempotency key.

    `LogState.apply` has the effect of each kind.
    """

    name: str
    check: Callable[["LogState", Row], None]
    format_body: Callable[["LogState", Row, bytes], Words] = _format_nothing
    pack_body: Callable[["LogState", Words, bytes], bytes] = _pack_nothing
    may_have_key: bool = False


KINDS: Final[Mapping[int, EventKind]] = {
    ASKED: EventKind("asked", _check_asked, _format_asked, _pack_asked, may_have_key=True),
    TOLD: EventKind("told", _check_told, _format_told, _pack_told),
    EXPIRED: EventKind("expired", _check_expired, _format_told, _pack_expired),
    ASKED_AGAIN: EventKind("asked again", _check_asked_again, may_have_key=True),
    TOLD_LATE: EventKind("told late", _check_told_late, _format_late, _pack_late),
    TOLD_TOO_LATE: EventKind("told too late", _check_told_late, _format_late, _pack_late),
    SUM_TOLD: EventKind("sum told", _check_sum, _format_sum, _pack_sum),
    ARM_ADDED: EventKind("arm added", _check_arm_added, _format_arm, _pack_arm),
    ARM_RETIRED: EventKind("arm retired", _check_arm_retired, _format_arm, _pack_arm),
    POLICY_CHANGED: EventKind("policy changed", _leave_unchecked, _format_policy, _pack_policy),
    CORRECTED: EventKind("corrected", _check_late_feedback, _format_late, _pack_late),
}


# Events are checked before they reach a kernel. Whoever can write to a database can also compute
# checksums, but must not be able to decide where machine code writes.
def check_event(state: "LogState", event: Row) -> None:
    """Refuse an event that cannot follow a state.

    Raises
    ------
    EventError
        With the number of the event and the reason.
    """
    try:
        if event.seq != state.seq + 1:
            raise ValueError(f"the log has a gap: event {event.seq} follows {state.seq}")
        if (event_kind := KINDS.get(event.kind)) is None:
            raise ValueError(f"its kind is {short_repr(event.kind)}, which is unknown")
        check_time(event.at)
        if event.key is not None:
            if not event_kind.may_have_key:
                raise ValueError("an event of its kind has no key")
            check_line("key", event.key)
        if (event.decision is None) != (event.kind in _WITHOUT_DECISION):
            raise ValueError(
                f"decision must be given or absent as the kind requires, got {event.decision!r}"
            )
        event_kind.check(state, event)
    except (*DAMAGE_ERRORS, struct.error) as error:
        why = str(error) if isinstance(error, ValueError) else f"it is malformed ({error!r})"
        raise EventError(event.seq, why) from error


class ValueChecker:
    """Refuses decisions and feedback that no study can have written.

    The vocabulary formats a value as `Words`, and parsing them must give the value again. Decisions
    are given as *cells*, the bytes of a row after its header.
    """

    def __init__(self, state: "LogState") -> None:
        self._state = state
        # Rewards are in [0, 1] here: in other units a parsed value may differ in its last bit.
        self._vocabulary = replace(state.definition, scale=UNIT).vocabulary(state.arms.names)
        self.clear_caches()

    def clear_caches(self) -> None:
        """Forget which values were checked, since other arms are in use now."""
        # A log repeats a few decisions and rewards, so checks are cached by their bytes.
        self.check_decision_format = lru_cache(_CACHE_SIZE)(self._check_decision_format)
        self.check_decision = lru_cache(_CACHE_SIZE)(self._check_decision)
        self.check_feedback = lru_cache(_CACHE_SIZE)(self._check_feedback)

    def _check_decision_format(self, cells: bytes) -> None:
        """Refuse a decision that cannot be formatted, such as one on an arm that never existed."""
        values = self._state.decisions.unpack_row(_NO_HEADER + cells)
        with convert_vocabulary_errors(self._vocabulary):
            decision_words = self._vocabulary.format_decision(*values)
            if self._vocabulary.parse_decision(decision_words) != values:
                raise ValueError(f"its decision is not allowed, {short_repr(decision_words)}")

    def _check_decision(self, cells: bytes, may_be_retired: bool = False) -> None:
        """Refuse a decision that the setting does not allow.

        A decision on a retired arm is refused, too, unless `may_be_retired`.
        """
        self.check_decision_format(cells)
        if not self._state.guard_allows(_NO_HEADER + cells, may_be_retired=may_be_retired):
            raise ValueError("its decision is not allowed")

    def check_pending_row(self, row: bytes) -> None:
        """Refuse a row that no decision can have had while it was pending."""
        round_number, asked_at = ROW_HEADER.unpack_from(row)
        if not 1 <= round_number <= self._state.rounds or round_number != int(round_number):
            raise ValueError(f"round must be from 1 to {self._state.rounds}, got {round_number}")
        check_time(asked_at)
        self.check_decision(row[ROW_HEADER.size :], may_be_retired=True)

    def _check_feedback(self, cells: bytes, feedback: bytes) -> None:
        """Refuse feedback that cannot have been told of a decision."""
        codec = self._state.feedback
        values = *self._state.decisions.unpack_row(_NO_HEADER + cells), codec.unpack(feedback)
        with convert_vocabulary_errors(self._vocabulary):
            feedback_words = self._vocabulary.format_feedback(*values)
            body = codec.pack(self._vocabulary.parse_feedback(*values[:2], **feedback_words))
            if body != feedback:
                raise ValueError(f"its feedback is invalid, {short_repr(feedback_words)}")

    def check_sum(self, body: bytes) -> None:
        """Refuse an anonymous sum that cannot have been told."""
        values = self._state.sums.unpack(body)
        with convert_vocabulary_errors(self._vocabulary):
            sum_words = self._vocabulary.format_sum(values)
            values = self._vocabulary.parse_sum(**sum_words)
            self._state.check_sum(values)
            if self._state.sums.pack(values) != body:
                raise ValueError(f"its sum is invalid, {short_repr(sum_words)}")


def format_metadata(metadata: object) -> str:
    """Return metadata as JSON; refuse all but a JSON object of at most `MAX_METADATA_BYTES`.

    Examples
    --------
    >>> format_metadata({"who": "ann", "version": 3})
    '{"who": "ann", "version": 3}'
    """
    try:
        text = json.dumps(metadata, ensure_ascii=False, allow_nan=False)
        size = len(text.encode())
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"metadata must be a JSON object, got {short_repr(metadata)}") from error
    if not isinstance(metadata, dict) or json.loads(text) != metadata:
        raise TypeError(f"metadata must be a JSON object, got {short_repr(metadata)}")
    if size > MAX_METADATA_BYTES:
        raise ValueError(f"metadata must have at most 1,000 bytes as JSON, got {size:,}")
    return text


def check_time(time: float) -> None:
    """Refuse a time that no event can have."""
    if not 0.0 <= time < END_OF_TIME:
        raise ValueError(f"its time must be in seconds since 1970, got {time}")
