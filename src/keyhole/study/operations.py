"""The operations on a study's log (ask, tell, expire, change arms or policy), and decisions."""

import secrets
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from inspect import signature
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeVar, TypeVarTuple

from keyhole import validation
from keyhole.contract.policy import Policy
from keyhole.play import study_vocabulary
from keyhole.play.saved_learner import DAMAGE_ERRORS
from keyhole.play.study_vocabulary import Values, Words
from keyhole.study import errors, events
from keyhole.study.events import ROW_HEADER
from keyhole.study.group_commit import Call, Transaction
from keyhole.study.state import State
from keyhole.study.storage import Row
from keyhole.study.storage.store import MAX_NAME_LENGTH
from keyhole.text_formatting import count_text

_CHARACTER_PAIRS: Final = [a + b for a in events.ID_CHARACTERS for b in events.ID_CHARACTERS]
_TELLINGS_TEXT: Final = "a sequence of pairs, of a decision's id and its feedback"
_MAX_ITEMS: Final = 10_000  # of one call, since its transaction holds up all other writers
_Arguments = TypeVarTuple("_Arguments")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Decision:
    """A decision to act on, and the id with which to tell its feedback.

    Attributes
    ----------
    id : str
        The id: 26 letters and digits. Ids are ordered by time and impossible to guess.
    words : mapping
        The values of the decision and of its context, by the names that the setting gives them,
        such as ``arm``, ``limit`` or ``allocation``. Each is an attribute as well:
        ``decision.arm``. Type checkers know the attributes of Keyhole's own settings; for other
        settings write ``decision.words["word"]``.
    round : int
        The number of decisions so far, this one included.
    at, until : datetime
        When the decision was handed out (if it is pending, the last time), and when its timeout
        ends, in UTC. `until` is None without a timeout in seconds.
    """

    id: str
    words: Mapping[str, Any]
    round: int
    at: datetime
    until: datetime | None = None

    if TYPE_CHECKING:  # because with `__getattr__`, type checkers would accept any mistyped word
        arm: ClassVar[str]
        threshold: ClassVar[int]
        limit: ClassVar[float]
        allocation: ClassVar[Mapping[str, float]]

    else:

        def __getattr__(self, name: str) -> Any:
            """Return a value of the decision by its name, such as ``arm``."""
            decision_words = object.__getattribute__(self, "words")
            if name in decision_words:
                return decision_words[name]
            attribute_names = f"{', '.join(decision_words)}, id, round, at, until"
            raise AttributeError(f"a decision has {attribute_names}; not {name}")

    def __hash__(self) -> int:
        """Return the hash of the id, so that a decision can be a key of a dictionary."""
        return hash(self.id)

    def __reduce__(self) -> tuple[object, ...]:
        """Return the arguments to unpickle it with."""
        return type(self), (self.id, dict(self.words), self.round, self.at, self.until)

    def as_json(self) -> dict[str, object]:
        """Return the decision as the entries of a JSON object."""
        until = self.until and self.until.isoformat()
        content = {"id": self.id, **self.words, "round": self.round, "at": self.at.isoformat()}
        return content | {"until": until}


@dataclass(frozen=True)
class DecisionRecord:
    """A decision, its status and its feedback.

    Attributes
    ----------
    decision : Decision
        The decision.
    status : str
        "pending", "to ask again" (the decision expired, and waits to be handed out once more),
        "told", "told late", "told too late" (recorded and not learnt), "corrected" or "expired". In
        settings without feedback it is "asked".
    feedback : mapping or None
        The feedback by name, told or assumed when the decision expired; None if there is none.
    settled_at : datetime or None
        When the decision was told, corrected or expired, whichever came last, in UTC. None while it
        is pending or to be asked again, and in settings without feedback.
    """

    decision: Decision
    status: str
    feedback: Mapping[str, Any] | None
    settled_at: datetime | None

    def as_json(self) -> dict[str, object]:
        """Return the record as the entries of a JSON object."""
        settled_at = self.settled_at and self.settled_at.isoformat()
        content = {"status": self.status, "feedback": self.feedback, "settled_at": settled_at}
        return self.decision.as_json() | content


def new_id(now: float) -> str:
    """Return a new id of a decision: short, ordered by time, and impossible to guess.

    It is a ULID: 48 bits of time in milliseconds, then 80 random bits, in Crockford's base 32.

    Examples
    --------
    >>> len(new_id(0.0)), new_id(1.0) < new_id(2.0)
    (26, True)
    """
    bits = (max(0, int(now * 1000.0)) & (2**48 - 1)) << 80 | secrets.randbits(80)
    return "".join([_CHARACTER_PAIRS[bits >> shift & 1023] for shift in range(120, -1, -10)])


def _run_setting_code(
    state: State, function: Callable[[*_Arguments], _Result], *arguments: *_Arguments
) -> _Result:
    """Return the result of a function that packs new values or reads them back by the vocabulary.

    An error is the vocabulary's fault, and is raised as a `SettingCodeError`.
    """
    try:
        return function(*arguments)
    except (*DAMAGE_ERRORS, struct.error) as error:
        text = f"its values cannot be read back: {events.error_reason(error)}"
        raise events.SettingCodeError(state.vocabulary, text) from error


def ask(
    transaction: Transaction,
    key: str | None,
    context_words: Words,
    exclude: Sequence[str] = (),
    metadata: str = "",
) -> Decision:
    """Return the decision of a used idempotency key, a decision to ask again, or a new decision.

    The decision is about none of the arms of `exclude`. `metadata` is JSON; "" stands for none.
    """
    if key is not None:
        validation.check_short_line("key", key, MAX_NAME_LENGTH)
    state = transaction.state
    context = _call_vocabulary("ask", state.vocabulary.parse_context, (), context_words)
    excluded = _parse_excluded(state, exclude)
    # This comes before overdue decisions expire, since a call with a used key must change nothing.
    if key and (event := transaction.find_by_key(key)) and event.decision:
        return _find_decision_of_key(transaction, event.decision, key, context, excluded)
    _expire_overdue(transaction)
    if excluded and not set(state.unsettled_names()).difference(exclude):
        raise errors.StudyDoneError(
            "exclude must leave an arm that is not settled, and leaves none"
        )
    if not excluded and state.are_all_arms_settled():
        text = f"{state.definition.policy} is done: every arm is settled"
        raise errors.StudyDoneError(f"{text} (after {count_text(state.rounds, 'decision')})")
    if expired_id := _find_to_ask_again(state, context, excluded):
        transaction.write(events.ASKED_AGAIN, expired_id, b"", key, metadata)
        return make_decision(state, expired_id, state.pending[expired_id])
    if state.definition.pending == "wait" and state.pending:
        policy = state.definition.policy
        text = f"{policy} waits for the feedback of {next(iter(state.pending))}"
        if why := policy.explain_waiting():
            text += f" ({why})"
        raise errors.PendingDecisionError(text)
    horizon = state.definition.facts.get("horizon")
    if state.definition.policy.setting.by_round and state.rounds == horizon:
        raise RuntimeError(f"the horizon of {state.rounds} rounds has been reached")
    id = new_id(transaction.now)
    body = state.decide(context, transaction.now, excluded)
    # A decision that the vocabulary cannot read back would make the log unreadable.
    cells = state.decisions.cells_of_event(body)
    _run_setting_code(state, state.checker.check_decision_format, cells)
    transaction.write(events.ASKED, id, body, key, metadata)
    return make_decision(state, id, state.decision_row(transaction.events[-1]))


def run_each(transaction: Transaction, calls: Iterable[Call]) -> list[Any]:
    """Run operations one after the other; return the result of each, or its error.

    An error that makes the transaction unusable is raised.
    """
    outcomes: list[object] = []
    for operation, arguments in calls:
        try:
            outcomes.append(operation(transaction, *arguments))
        except Exception as error:
            if transaction.state.is_dirty or not transaction.store.has_lock():
                raise
            outcomes.append(error)
    return outcomes


def ask_many(
    transaction: Transaction,
    n: int,
    key: str | None,
    context_words: Words,
    exclude: Sequence[str] = (),
    metadata: str = "",
) -> list[Decision | Exception]:
    """Ask `n` times; return decisions or errors. With `key`, keys are ``key/0``, ``key/1``, ..."""
    validation.check_integer("n", n, validation.Range(ge=1, le=_MAX_ITEMS))
    if key is not None:
        validation.check_line("key", key)
        validation.check_short_line("key", f"{key}/{n - 1}", MAX_NAME_LENGTH)
    keys = (None if key is None else f"{key}/{i}" for i in range(n))
    options = context_words, exclude, metadata
    return run_each(transaction, ((ask, (item_key, *options)) for item_key in keys))


def _parse_excluded(state: State, names: Sequence[str]) -> list[int]:
    """Return the numbers of the arms to exclude; refuse them if the policy cannot exclude arms."""
    if not names:
        return []
    study_vocabulary.check_exclusion(state.definition.policy, state.vocabulary)
    return state.arms.find_excluded("exclude", names)


def _find_decision_of_key(
    transaction: Transaction, id: str, key: str, context: Values, excluded: Sequence[int]
) -> Decision:
    """Return the decision of a key that was used before; refuse a call to which it does not fit.

    The decision must have the context of the call, and be about no arm that the call excludes.
    """
    state = transaction.state
    row = _find_decision_row(transaction, id)
    if (first_context := state.decisions.unpack_row(row)[0]) != context:
        raise errors.KeyUsedError(
            f"key must be new for another context, got {key!r}, which was used with {first_context}"
        )
    if excluded and not set(excluded).isdisjoint(state.decisions.arm_numbers(row)):
        raise errors.KeyUsedError(
            f"key must be new: the decision of {key!r} is about an excluded arm"
        )
    return make_decision(state, id, row)


def find_decision(transaction: Transaction, key: str) -> Decision:
    """Return the decision of a key that was used before."""
    validation.check_short_line("key", key, MAX_NAME_LENGTH)
    event = transaction.find_by_key(key)
    if event and (id := event.decision):
        return make_decision(transaction.state, id, _find_decision_row(transaction, id))
    raise errors.UnknownDecisionError(
        "key must be that of a decision of this study, asked or imported as pending, got "
        f"{validation.short_repr(key)}"
    )


def _find_decision_row(transaction: Transaction, id: str) -> bytes:
    """Return the row of a decision, pending or not."""
    first_event = _find_events(transaction, id)[0]
    # A pending decision that was handed out again has a later time than its first event.
    return transaction.state.pending.get(id) or transaction.state.decision_row(first_event)


def make_decision(state: State, id: str, row: bytes) -> Decision:
    """Return the decision of a row."""
    round_number, asked_at = events.ROW_HEADER.unpack_from(row)
    values = state.decisions.unpack_row(row)
    decision_words = MappingProxyType(state.vocabulary.format_decision(*values))
    timeout = state.definition.rule.timeout
    until = None if timeout is None else datetime.fromtimestamp(asked_at + timeout, UTC)
    time = datetime.fromtimestamp(asked_at, UTC)
    return Decision(id, decision_words, int(round_number), time, until)


def pending_decisions(state: State, limit: int | None = None) -> list[Decision]:
    """Return the pending decisions, oldest first, at most `limit`."""
    rows = islice(state.pending.items(), limit)
    return [make_decision(state, id, row) for id, row in rows]


def find_record(transaction: Transaction, decision: str | Decision) -> DecisionRecord:
    """Return a decision with its status and its feedback."""
    state = transaction.state
    id = _id_of_decision(decision)
    decision_events = _find_events(transaction, id)
    last_event = decision_events[-1]
    row = state.pending.get(id) or state.decision_row(decision_events[0])
    status = events.KINDS[last_event.kind].name
    feedback = None
    settled_at = None
    if id in state.pending:
        status = "to ask again" if id in state.to_ask_again else "pending"
    elif len(decision_events) > 1:  # not so in a setting without feedback
        settled_at = datetime.fromtimestamp(last_event.at, UTC)
        if body := _feedback_of_event(state, last_event):
            feedback = _format_feedback(state, row, body)
    return DecisionRecord(make_decision(state, id, row), status, feedback, settled_at)


def _feedback_of_event(state: State, event: Row) -> bytes:
    """Return the feedback in the body of an event that told or assumed it."""
    if event.kind in (events.TOLD, events.EXPIRED):
        return event.body
    return state.split_late_body(event.body)[1]


def _format_feedback(state: State, row: bytes, body: bytes) -> Mapping[str, Any]:
    values = *state.decisions.unpack_row(row), state.feedback.unpack(body)
    return state.vocabulary.format_feedback(*values)


def _expire_overdue(transaction: Transaction) -> None:
    """Expire all decisions that have exceeded their timeout, oldest first."""
    for id in transaction.state.overdue_ids(transaction.now):
        _expire(transaction, id)


def ids_to_ask_again(state: State) -> list[str]:
    """Return the ids of the decisions that expired and are to be handed out once more, in order.

    A decision whose arms have all been settled meanwhile is left out, since nobody needs its
    feedback.
    """
    return [id for id in state.to_ask_again if not state.is_settled(id)]


def _find_to_ask_again(state: State, context: Values, excluded: Sequence[int]) -> str | None:
    """Return the id of a decision to hand out again, or None.

    The decision has this context, and is about no excluded arm.
    """
    packed_context = state.decisions.context.pack(context)
    for id in state.to_ask_again:
        row = state.pending[id]
        is_same_context = state.decisions.split_row(row)[0] == packed_context
        is_excluded = not set(excluded).isdisjoint(state.decisions.arm_numbers(row))
        if is_same_context and not is_excluded and not state.is_settled(id):
            return id
    return None


def _expire(transaction: Transaction, id: str) -> None:
    """Expire a pending decision, with the consequence that the timeout rule sets."""
    state = transaction.state
    body = b""
    if state.assumes_no_reward:
        row = state.pending[id]
        with events.convert_vocabulary_errors(state.vocabulary):
            feedback = state.vocabulary.default_feedback(*state.decisions.unpack_row(row))
        try:
            body = pack_feedback(state, row, (), feedback)
        except (TypeError, ValueError) as error:
            text = f"default_feedback is {feedback}, which cannot be told: {error}"
            raise events.SettingCodeError(state.vocabulary, text) from error
    transaction.write(events.EXPIRED, id, body)


def expire(transaction: Transaction, decision: str | Decision) -> None:
    """Expire a decision; refuse one that is not pending."""
    id = _id_of_decision(decision)
    if not isinstance(id, str) or id not in transaction.state.pending:
        _find_events(transaction, id)  # raises another error if there is no such decision
        raise errors.DifferentFeedbackError(f"id must be of a pending decision; {id} is settled")
    _expire(transaction, id)


def _find_events(transaction: Transaction, id: str) -> list[Row]:
    """Return the events of a decision in order, the asking first; refuse an unknown id."""
    decision_events = transaction.events_of_decision(id) if events.is_decision_id(id) else []
    if not decision_events:
        raise errors.UnknownDecisionError(
            f"id must be that of a decision of this study, got {validation.short_repr(id)}"
        )
    event_kinds = [event.kind for event in decision_events]
    if why := _find_contradiction(transaction.state, id, event_kinds):
        transaction.store.raise_damaged(transaction.study_number, id, why)
    return decision_events


def _find_contradiction(state: State, id: str, kinds: Sequence[int]) -> str:
    """Return why the events of a decision contradict the state; "" if there is no contradiction.

    Each event has passed its checksum, but a damaged index may have lost an event.
    """
    if kinds[0] != events.ASKED or kinds.count(events.ASKED) > 1:
        return "the first of its events, and no other, must be the one that handed it out"
    if not state.vocabulary.has_feedback:
        return ""
    late_kinds = (events.TOLD_LATE, events.TOLD_TOO_LATE, events.CORRECTED)
    last_kind = [event_kind for event_kind in kinds if event_kind not in late_kinds][-1]
    has_expired = last_kind == events.EXPIRED and id not in state.to_ask_again
    is_over = has_expired or last_kind == events.TOLD
    if is_over and id in state.pending:
        return "it is pending, although it was settled"
    if not is_over and id not in state.pending:
        return "it is settled, but the event that settled it is missing"
    return ""


def _id_of_decision(decision: str | Decision) -> str:
    """Return the id of a decision; return any other value as it is, for the caller to refuse."""
    return decision.id if isinstance(decision, Decision) else decision


def check_id(decision: str | Decision) -> str:
    """Return the id of a decision; refuse a value that cannot be an id."""
    id = _id_of_decision(decision)
    if not events.is_decision_id(id):
        raise ValueError(
            f"an id must be that of a decision of this study, got {validation.short_repr(id)}"
        )
    return id


def tell(
    transaction: Transaction, decision: str | Decision, unnamed: Sequence[object], feedback: Words
) -> None:
    """Record the feedback of a decision."""
    state = transaction.state
    id = _id_of_decision(decision)
    # A reward counts only within the timeout. An ask expires overdue decisions, but perhaps nobody
    # has asked since this decision became overdue.
    if state.assumes_no_reward:
        _expire_overdue(transaction)
    row = state.pending.get(id) if isinstance(id, str) else None
    if row is not None:
        transaction.write(events.TOLD, id, pack_feedback(state, row, unnamed, feedback))
        return
    decision_events = _find_events(transaction, id)
    row = state.decision_row(decision_events[0])
    body = pack_feedback(state, row, unnamed, feedback)
    told_body = _find_told_feedback(state, decision_events)
    if told_body == body:  # no error: the answer to the first call may have been lost
        return
    if told_body is not None:
        raise errors.DifferentFeedbackError(
            f"{id} was told {_format_feedback(state, row, told_body)} before, and cannot be told "
            "other feedback; `correct` corrects a mistake"
        )
    # With "no_reward" the policy has learnt a reward of 0, so this feedback is only recorded.
    late_kind = events.TOLD_TOO_LATE if state.assumes_no_reward else events.TOLD_LATE
    transaction.write(late_kind, id, row + body)


def tell_many(transaction: Transaction, tellings: object) -> list[Exception | None]:
    """Record the feedback of decisions."""
    pairs = validation.check_sequence("tellings", tellings, _TELLINGS_TEXT)
    if len(pairs) > _MAX_ITEMS:
        raise ValueError(f"tellings must be at most {_MAX_ITEMS:,}, got {len(pairs):,}")
    return run_each(transaction, [_make_tell_call(pair) for pair in pairs])


def _make_tell_call(pair: object) -> Call:
    """Return the call that tells a decision its feedback, given by name or as one value."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise TypeError(f"tellings must be {_TELLINGS_TEXT}, got {validation.short_repr(pair)}")
    decision, feedback = pair
    if isinstance(feedback, Mapping):
        return tell, (decision, (), feedback)
    return tell, (decision, (feedback,), {})


def _find_told_feedback(state: State, decision_events: Sequence[Row]) -> bytes | None:
    """Return a decision's last feedback, told or corrected; None if none was told."""
    told_kinds = (events.TOLD, events.TOLD_LATE, events.TOLD_TOO_LATE, events.CORRECTED)
    told_events = [event for event in decision_events if event.kind in told_kinds]
    return _feedback_of_event(state, told_events[-1]) if told_events else None


def correct(
    transaction: Transaction, decision: str | Decision, unnamed: Sequence[object], feedback: Words
) -> None:
    """Record feedback that replaces the feedback that was told."""
    state = transaction.state
    id = _id_of_decision(decision)
    decision_events = _find_events(transaction, id)
    if id in state.pending:
        raise ValueError(f"id must be of a decision that was told; {id} is pending: tell it")
    told_body = _find_told_feedback(state, decision_events)
    if told_body is None:
        raise ValueError(f"id must be of a decision that was told; {id} has expired")
    policy = state.definition.policy
    if not policy.off_policy:
        raise ValueError(
            "correct needs a policy that can learn from decisions of others (off_policy), got "
            f"{policy}: with other feedback it would have taken other decisions since then"
        )
    row = state.decision_row(decision_events[0])
    body = pack_feedback(state, row, unnamed, feedback)
    if body != told_body:
        transaction.write_change(events.CORRECTED, id, row + body)


def pack_feedback(state: State, row: bytes, unnamed: Sequence[object], feedback: Words) -> bytes:
    """Check the feedback of a decision and return its bytes."""
    arguments = (*state.decisions.unpack_row(row), *unnamed)
    values = _call_vocabulary("tell", state.vocabulary.parse_feedback, arguments, feedback)
    body = _run_setting_code(state, state.feedback.pack, values)
    _run_setting_code(state, state.checker.check_feedback, row[ROW_HEADER.size :], body)
    return body


def _call_vocabulary(
    operation: str, method: Callable[..., Values], arguments: Sequence[object], keywords: Words
) -> Values:
    """Call a method of the vocabulary; if the arguments do not fit, name those that it takes."""
    try:
        values = method(*arguments, **keywords)
    except TypeError as error:
        parameters = signature(method)
        names = [name for name in parameters.parameters if name not in ("context", "decision")]
        usage = f"{operation} takes {', '.join(names) or 'nothing'} in this study"
        try:
            parameters.bind(*arguments, **keywords)
        except TypeError as reason:
            raise TypeError(f"{usage}: {reason}") from None
        raise error  # the arguments fit, so the error comes from the vocabulary's code
    study_vocabulary.check_reserved_words(keywords)
    return values


def tell_sum(transaction: Transaction, unnamed: Sequence[object], feedback: Words) -> None:
    """Record anonymous feedback."""
    state = transaction.state
    if not state.vocabulary.sum_fields:
        raise TypeError("tell_sum is for anonymous feedback; here each decision is told by its id")
    values = _call_vocabulary("tell_sum", state.vocabulary.parse_sum, unnamed, feedback)
    state.check_sum(values)
    body = _run_setting_code(state, state.sums.pack, values)
    _run_setting_code(state, state.checker.check_sum, body)
    transaction.write(events.SUM_TOLD, None, body)


def add_arms(transaction: Transaction, names: Sequence[str]) -> None:
    """Add arms, all or none."""
    transaction.state.definition.check_arms_change()
    for name in names:
        transaction.state.arms.check_new("name", name)
    for name in names:
        transaction.write(events.ARM_ADDED, None, name.encode())


def retire_arm(transaction: Transaction, name: str) -> None:
    """Retire an arm."""
    transaction.state.definition.check_arms_change()
    transaction.state.arms.check_can_retire("name", name)
    transaction.write(events.ARM_RETIRED, None, name.encode())


def change_policy(transaction: Transaction, policy: Policy, facts: Mapping[str, object]) -> None:
    """Replace the policy."""
    state = transaction.state
    definition = state.definition.with_policy(policy, facts)
    # The policy that has taken all decisions so far need not learn from decisions of others.
    is_first_policy = policy == state.definition.policy and state.definition_seq == 0
    if not is_first_policy:
        check_off_policy(policy, state.rounds)
    if len(state.arms.names) > len(state.definition.arms) or state.arms.has_retired_arms:
        definition.check_arms_change()
    transaction.write_change(events.POLICY_CHANGED, None, definition.to_bytes())


def check_off_policy(policy: Policy, decision_count: int) -> None:
    """Refuse a policy that cannot learn from decisions of others, if there are decisions."""
    if decision_count and not policy.off_policy:
        decisions = count_text(decision_count, "decision")
        raise ValueError(
            f"policy must be one that can learn from decisions of others (off_policy), got {policy}"
            f": the log has {decisions} that it has not taken; begin a new study with it"
        )
