"""What a study does in a turn: each verb sees the state, and writes what follows from it."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from inspect import signature
from types import MappingProxyType
from typing import Any

from keyhole.contract.descriptions import count_text
from keyhole.contract.policy import Policy
from keyhole.play.reserved_words import check_words
from keyhole.study.decision import ConflictError, Decision, PendingDecisionError
from keyhole.study.decision_ids import is_id, new_id
from keyhole.study.events import (
    ADDED,
    AGAIN,
    ARRIVED,
    ASKED,
    HEAD,
    KEPT,
    LAPSED,
    LATE,
    RETIRED,
    TOLD,
)
from keyhole.study.row_codec import drop_signs_of_zeros
from keyhole.study.state import State
from keyhole.study.storage import Row
from keyhole.study.timeout_rule import NO_REWARD
from keyhole.study.vocabulary_errors import naming_vocabulary
from keyhole.study.writer import Transaction
from keyhole.validate import short_repr, suggestion


def ask(turn: Transaction, key: str | None, given: Mapping[str, Any]) -> Decision:
    """Return a new decision, or one that is to be handed out again."""
    fold = turn.fold
    context = _called("ask", fold.vocabulary.parse_context, (), given)
    if key is not None and (row := turn.find_by_key(key)) is not None and row.decision is not None:
        return _handed_out(turn, row.decision, key, context)
    _lapse_all(turn)
    if again := _returned(fold, context):
        turn.write(AGAIN, again, b"", key)
        return make_decision(fold, again, fold.open[again])
    if fold.head.pending == "wait" and fold.open:
        policy, why = fold.head.policy, fold.head.policy.explain_waiting()
        text = f"{policy} waits for the feedback of {next(iter(fold.open))}"
        raise PendingDecisionError(f"{text} ({why})" if why else text)
    if fold.head.policy.setting.by_round and fold.rounds == fold.head.facts.get("horizon"):
        raise RuntimeError(f"the horizon of {fold.rounds} rounds has been reached")
    id, decided = new_id(turn.now), fold.decide(context, turn.now)
    fold.checker.check_new_decision(decided)
    turn.write(ASKED, id, decided, key)
    return make_decision(fold, id, fold.row(turn.rows[-1]))


def _handed_out(turn: Transaction, id: str, key: str, context: Mapping[str, Any]) -> Decision:
    """Return a decision that was handed out before, as it was; to the same question."""
    fold, asked = turn.fold, _events_of(turn, id)[0]
    row = fold.open.get(id) or fold.row(asked)
    if (before := fold.values(row)[0]) != context:
        raise ValueError(f"key must be new for another question, got {key!r} for {before} before")
    return make_decision(fold, id, row)


def make_decision(fold: State, id: str, row: bytes) -> Decision:
    """Return what a row says."""
    t, at = HEAD.unpack_from(row)
    words = fold.vocabulary.format_decision(*fold.values(row))
    wait = fold.head.rule.timeout
    until = None if wait is None else _time(at + wait)
    return Decision(id, MappingProxyType(words), int(t), _time(at), until)


def _time(at: float) -> datetime:
    return datetime.fromtimestamp(at, UTC)


def _lapse_all(turn: Transaction) -> None:
    """Deal with all decisions that have been waited for long enough, the oldest first."""
    fold, rule = turn.fold, turn.fold.head.rule
    if rule.timeout is None and rule.timeout_decisions is None:
        return
    over = []
    for id in fold.waiting:
        if fold.is_over(id, turn.now):
            over.append(id)
        elif not fold.is_later_than(id, turn.now):
            break
    for id in over:
        expire(turn, id)


def _returned(fold: State, context: Mapping[str, Any]) -> str | None:
    """Return a decision that is to be handed out once more, and answers the same question."""
    seen = fold.decisions.context.pack(dict(context))
    return next(
        (id for id in fold.returned if fold.decisions.context_of(fold.open[id]) == seen), None
    )


def expire(turn: Transaction, id: str) -> None:
    """Deal with a decision that has been waited for long enough, as the rule says."""
    fold, body = turn.fold, b""
    if fold.head.rule.on_timeout == NO_REWARD:
        row = fold.open[id]
        with naming_vocabulary(fold.vocabulary):
            nothing = fold.vocabulary.default_feedback(*fold.values(row))
        body = _heard(fold, row, (), nothing)
    turn.write(LAPSED, id, body)


def require_pending(turn: Transaction, id: str) -> str:
    """Return an id, if it is of an open decision."""
    if not isinstance(id, str) or id not in turn.fold.open:
        _events_of(turn, id)
        raise ValueError(f"id must be of an open decision; {id} is settled")
    return id


def _events_of(turn: Transaction, id: str) -> list[Row]:
    """Return the events of a decision, the first of which is that it was handed out."""
    rows = turn.events_of_decision(id) if is_id(id) else []
    if not rows:
        raise ValueError(f"id must be that of a decision of this study, got {short_repr(id)}")
    if why := _find_contradiction(turn.fold, id, [row.kind for row in rows]):
        turn.damage_error(id, why)
    return rows


def _find_contradiction(fold: State, id: str, kinds: Sequence[int]) -> str:
    """Return why the events of a decision are not all that there were; "" if they may be.

    Each was whole when it was read, but one that was altered may not have been found; the state
    has taken all of them into account.
    """
    if kinds[0] != ASKED or kinds.count(ASKED) > 1:
        return "its events do not begin with the one that handed it out"
    if not fold.vocabulary.has_feedback:
        return ""
    last = next(kind for kind in reversed(kinds) if kind not in (LATE, KEPT))
    if id in fold.open:
        is_known = last != TOLD and (last != LAPSED or id in fold.returned)
        return "" if is_known else "it is pending, and was settled"
    return "" if last in (TOLD, LAPSED) else "it is settled, and the event that did so is missing"


def tell(turn: Transaction, id: str, unnamed: tuple[Any, ...], feedback: Mapping[str, Any]) -> None:
    """Take what came of a decision."""
    fold = turn.fold
    row = fold.open.get(id) if isinstance(id, str) else None
    if row is not None:
        turn.write(TOLD, id, _heard(fold, row, unnamed, feedback))
        return
    events = _events_of(turn, id)
    row = fold.row(events[0])
    body = _heard(fold, row, unnamed, feedback)
    for event in events:
        if event.kind in (TOLD, LATE, KEPT):
            before = event.body if event.kind == TOLD else event.body[len(row) :]
            if before == body:
                return
            context, decision = fold.values(row)
            said = fold.vocabulary.format_feedback(context, decision, fold.feedback.unpack(before))
            raise ConflictError(f"{id} was told {said} before, and cannot be told otherwise")
    kind = KEPT if fold.head.rule.on_timeout == NO_REWARD else LATE
    turn.write(kind, id, row + body)


def _heard(fold: State, row: bytes, unnamed: tuple[Any, ...], feedback: Mapping[str, Any]) -> bytes:
    values = fold.values(row)
    heard = _called("tell", fold.vocabulary.parse_feedback, (*values, *unnamed), feedback)
    with naming_vocabulary(fold.vocabulary):
        told = fold.feedback.pack(drop_signs_of_zeros(heard))
    fold.checker.check_new_feedback(row, told)
    return told


def _called(verb: str, words: Callable[..., Any], first: Sequence[Any], given: Any) -> Any:
    """Return what a room makes of words; where it has no such words, say what it has."""
    try:
        found = words(*first, **given)
    except TypeError as error:
        takes = signature(words)
        known = [name for name in takes.parameters if name not in ("context", "decision")]
        says = f"{verb} takes {', '.join(known) or 'nothing'} in this study"
        for name in given:
            if name not in known:
                raise TypeError(f"{says}; got {name!r}{suggestion(name, known)}") from None
        try:
            takes.bind(*first, **given)
        except TypeError as reason:
            raise TypeError(f"{says}: {reason}") from None
        raise error
    check_words(given)
    return found


def tell_sum(turn: Transaction, unnamed: tuple[Any, ...], words: Mapping[str, Any]) -> None:
    """Take feedback that says of no decision."""
    fold = turn.fold
    if not fold.vocabulary.sum_fields:
        raise TypeError("tell_sum is for anonymous feedback; here each decision is told by its id")
    values = _called("tell_sum", fold.vocabulary.parse_sum, unnamed, words)
    with naming_vocabulary(fold.vocabulary):
        values = drop_signs_of_zeros(values)
    told = fold.packed_sum(values)
    fold.checker.check_new_sum(told)
    turn.write(ARRIVED, None, told)


def add_arms(turn: Transaction, names: Sequence[str]) -> None:
    """Add arms, all or none."""
    turn.fold.head.check_arms_change()
    for name in names:
        turn.fold.arms.check_new("name", name)
    for name in names:
        turn.write(ADDED, None, name.encode())


def retire_arm(turn: Transaction, name: str) -> None:
    """Retire an arm."""
    turn.fold.head.check_arms_change()
    turn.fold.arms.check_can_retire("name", name)
    turn.write(RETIRED, None, name.encode())


def change_policy(turn: Transaction, policy: Policy, facts: Mapping[str, Any]) -> None:
    """Have another policy decide."""
    fold = turn.fold
    head = fold.head.with_policy(policy, facts)
    if not (policy == fold.head.policy and not fold.since):
        check_off_policy(policy, fold.rounds)
    if len(fold.arms.names) > len(fold.head.arms) or fold.arms.have_moved:
        head.check_arms_change()
    turn.change(head.to_bytes())


def check_off_policy(policy: Policy, decisions: int) -> None:
    """Refuse a policy that cannot learn from decisions that it has not taken, if there are any."""
    if decisions and not policy.off_policy:
        raise ValueError(
            f"policy must be one that can learn from decisions of others (off_policy), got {policy}"
            f": the log has {count_text(decisions, 'decision')} that it has not taken; begin a new "
            "study with it"
        )
