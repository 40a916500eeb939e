"""Import of a CSV file of past decisions and their results, with which a study begins."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from math import inf, lgamma, log
from os import PathLike
from typing import Any, Final, NamedTuple

from keyhole.data import csv_rows
from keyhole.durations import to_seconds
from keyhole.study.definition import Definition, TimeoutRule
from keyhole.study.events import ASKED, TOLD
from keyhole.study.group_commit import Transaction
from keyhole.study.operations import new_id, pack_feedback
from keyhole.study.state import State
from keyhole.study.storage import Row
from keyhole.study.storage.store import MAX_NAME_LENGTH
from keyhole.text_formatting import count_text
from keyhole.validation import Range, check_number, check_short_line

_MIN_CHANCE: Final = 1e-4  # a sorted order that is less likely than this is no accident
_KEY_PREFIX: Final = "import-"  # of the idempotency key of the first imported decision


class PastDecision(NamedTuple):
    """A decision that was taken before the study began.

    Attributes
    ----------
    arm : str
        The name of the arm.
    reward : float or None
        The reward; None if the decision is pending. In a file with conversions it is 1 if the
        decision converted, otherwise 0. `_read_rows` counts a conversion at any time,
        `_outcomes_within_window` only within the window.
    at : float, default 0
        When the decision was taken, in seconds since 1970; 0 if the time is not known.
    key : str, default ""
        The idempotency key of the row; "" for none. `_outcomes_within_window` keeps only keys of
        pending decisions.
    delay : float, default infinity
        The seconds until the decision converted; infinite if it did not.
    """

    arm: str
    reward: float | None
    at: float = 0.0
    key: str = ""
    delay: float = inf


def import_file(
    transaction: Transaction,
    path: str | PathLike[str],
    columns: Mapping[str, str | None],
    within: float | str | timedelta | None,
    csv_format: Mapping[str, Any],
) -> tuple[int, list[str]]:
    """Import a file for `Study.import_csv`; return the number of decisions, and the warnings.

    `columns` has the file's column for each argument of `import_csv` that names one, or None;
    `csv_format` has the arguments `delimiter`, `date_format` and `decimal`.
    """
    has_times = columns["shown_at"] is not None
    needs_times = (within, columns["key"], csv_format["date_format"]) != (None, None, None)
    if (has_times and columns["converted_at"] is None) or (needs_times and not has_times):
        raise ValueError(
            "within, key and date_format need shown_at, and shown_at needs converted_at"
        )
    state = transaction.state
    definition = state.definition
    _check_can_import(definition)
    decisions = rows = _read_rows(state, path, columns, **csv_format)
    if has_times:
        has_keys = columns["key"] is not None
        window = _choose_window(definition.rule, to_seconds("within", within), has_keys=has_keys)
        waits = definition.pending == "wait"
        decisions = _outcomes_within_window(rows, window, transaction.now, keep_pending=not waits)
    # The digest is of arms, rewards, times and keys. Without times, it is of arms and rewards
    # alone, as in older versions, so that a file that an older version imported is recognised.
    field_count = 4 if has_times else 2
    results = [decision[:field_count] for decision in decisions]
    digest = hashlib.blake2b(repr(results).encode(), digest_size=16).hexdigest()
    first_key = f"{_KEY_PREFIX}{digest}"
    if transaction.find_by_key(first_key) is not None:  # the file was imported before
        return 0, []
    if state.rounds:
        raise ValueError(
            "past results must be the beginning of a study, and this one has "
            f"{count_text(state.rounds, 'decision')} already: import all of them into a new study"
        )
    try:
        _write_decisions(transaction, decisions, first_key)
    except Exception:
        state.is_dirty = True  # so that the events before the error are dropped
        raise
    warnings = _find_import_warnings(definition, decisions, len(rows), has_times=has_times)
    return len(decisions), list(warnings)


def _check_can_import(definition: Definition) -> None:
    """Refuse a setting or a policy for which results cannot be imported."""
    policy = definition.policy
    setting = policy.setting
    feedback_fields = definition.vocabulary(definition.arms).feedback_fields
    groups = (setting.context, setting.decision, feedback_fields)
    if setting.by_round or [list(fields) for fields in groups] != [[], ["arm"], ["reward"]]:
        raise ValueError(
            "results can be imported where a decision is one arm and its feedback one reward; "
            f"in the setting {setting.name!r} a decision or its feedback has another form: let a "
            "learner learn them by replay"
        )
    if not policy.off_policy:
        raise ValueError(
            "results can be imported for a policy that can learn from decisions of others "
            f"(off_policy); {policy} learns from its own decisions alone"
        )


def _check_arm_and_reward(state: State, arm_name: str, reward: float) -> None:
    """Refuse an arm that is not in use, and a reward that the study does not allow."""
    try:
        number = state.vocabulary.arm_number("arm", arm_name)
    except ValueError:
        for name in state.arms.names:
            if name.strip() == arm_name:
                text = f"arm {name!r} begins or ends with a space, which names in a file never do"
                raise ValueError(text) from None
        raise
    if not state.arms.is_in_use(number):
        raise ValueError(f"arm must be one in use, got {arm_name!r}, which was retired")
    state.vocabulary.parse_feedback({}, {"arm": number}, reward)


def _choose_window(rule: TimeoutRule, window: float | None, *, has_keys: bool) -> float:
    """Return the seconds within which a conversion counts: `window`, by default the timeout.

    Past and future decisions must count alike, so another window than the timeout is refused, and
    so is a timeout rule that does not suit conversions.
    """
    if has_keys and rule == TimeoutRule():
        raise ValueError(
            "key needs a study with a timeout and on_timeout='no_reward': without a timeout, "
            "decisions that never convert would stay pending, and means would be of buyers alone; "
            "without key, rows whose window is not over are left out"
        )
    if rule != TimeoutRule() and not rule.assumes_no_reward:
        raise ValueError(
            "conversions need a study with on_timeout='no_reward', or without a timeout; with "
            f"{rule.on_timeout!r} it learns nothing from later visitors who do not convert"
        )
    if window is None and (window := rule.timeout) is None:
        raise ValueError("within must be given, since the study has no timeout in seconds")
    if rule.timeout not in (None, window):
        raise ValueError(
            f"within must be the study's timeout, {rule.timeout:g} seconds, so that past and "
            f"later decisions count alike; got {window:g}"
        )
    return check_number("within", window, Range(gt=0))


def _find_import_warnings(
    definition: Definition, decisions: Sequence[PastDecision], row_count: int, *, has_times: bool
) -> Iterator[str]:
    """Yield warnings on decisions that were imported from a file of `row_count` rows."""
    if row_count > len(decisions):
        yield (
            f"{row_count - len(decisions):,} of {row_count:,} rows are left out: their window was "
            "not over at the last time in the file"
        )
    if definition.rule.assumes_no_reward and not has_times:
        yield (
            "decisions that may yet convert must not be in the file, since they count as 0: "
            "with shown_at (in a shell --shown-at) Keyhole leaves them out"
        )
    # If the policy cannot stop, the order makes no difference. Rows with times were sorted by time.
    results = [(decision.arm, decision.reward or 0.0) for decision in decisions]
    if definition.policy.verdicts and not has_times and is_sorted_by_reward(results):
        yield (
            "the rows of each arm are sorted by reward, and a policy that can stop may settle "
            "arms wrongly by them: begin a new study with rows in the order of time"
        )


def is_sorted_by_reward(results: Sequence[tuple[str, float]]) -> bool:
    """Return whether each arm's rewards are sorted, all in one direction, and hardly by chance."""
    by_arm: dict[str, list[float]] = {}
    for name, reward in results:
        by_arm.setdefault(name, []).append(reward)
    arm_rewards = [rewards for rewards in by_arm.values() if len(set(rewards)) > 1]
    is_rising = all(rewards == sorted(rewards) for rewards in arm_rewards)
    if not is_rising and any(rewards != sorted(rewards, reverse=True) for rewards in arm_rewards):
        return False
    # The chance of the sorted order among all distinct orders of each arm's rewards.
    log_chance = sum(
        sum(lgamma(count + 1) for count in Counter(rewards).values()) - lgamma(len(rewards) + 1)
        for rewards in arm_rewards
    )
    return log_chance < log(_MIN_CHANCE)


def _write_decisions(
    transaction: Transaction, decisions: Sequence[PastDecision], first_key: str
) -> None:
    """Write the events of decisions and of their feedback; the first decision gets a key."""
    state = transaction.state
    for number, decision in enumerate(decisions):
        decided_at = decision.at or transaction.now
        id = new_id(decided_at)
        # An event holds the position of the policy's random stream. If learning draws random
        # numbers, the feedback so far must be learnt first, since this moves the position.
        if state.draws_to_learn:
            state.learn_batch()
        arm = state.vocabulary.arm_number("arm", decision.arm)
        body = state.next_event_body(state.decisions.decision.pack({"arm": arm}))
        # Only pending decisions have keys of their own. The first decision is never pending, since
        # its window is over.
        key = first_key if number == 0 else decision.key or None
        transaction.write_past_event(Row(state.seq + 1, ASKED, id, key, decided_at, body))
        if decision.reward is not None:
            feedback = pack_feedback(state, state.pending[id], (decision.reward,), {})
            told_at = transaction.now
            transaction.write_past_event(Row(state.seq + 1, TOLD, id, None, told_at, feedback))


def _read_rows(
    state: State,
    path: str | PathLike[str],
    columns: Mapping[str, str | None],
    *,
    delimiter: str,
    date_format: str | None,
    decimal: str,
) -> list[PastDecision]:
    """Return all rows of a file; refuse unknown arms, impossible rewards and repeated keys.

    Errors name file and line. Without keys, a warning counts the rows that repeat an earlier row,
    if their times are exact to the second.
    """
    dates = csv_rows.DateParser(date_format)
    headings = {name: column for name, column in columns.items() if column is not None}
    rows: list[PastDecision] = []

    def add_row(*texts: str) -> None:
        """Add the row with these texts in the columns of `headings`."""
        fields = dict(zip(headings, texts, strict=True))
        shown_at = 0.0
        delay = inf
        if "reward" in fields:
            reward = csv_rows.parse_number(headings["reward"], fields["reward"], decimal)
        else:
            reward = float(csv_rows.check_field(headings["converted_at"], fields["converted_at"]))
        if "shown_at" in fields:
            time_headings = headings["shown_at"], headings["converted_at"]
            shown_at, delay = csv_rows.parse_time_and_delay(
                dates.parse_seconds, time_headings, fields["shown_at"], fields["converted_at"]
            )
        _check_arm_and_reward(state, fields["arm"], reward)
        rows.append(PastDecision(fields["arm"], reward, shown_at, fields.get("key", ""), delay))

    names = csv_rows.check_column_names(**headings)
    key_options: dict[str, Any] = {"identify": csv_rows.identify_by_time}
    if key := headings.get("key"):  # the last of the columns
        key_options = {"identify": lambda *texts: texts[-1], "identity_name": key, "is_key": True}
    csv_rows.read_rows(path, names, add_row, delimiter=delimiter, **key_options)
    return rows


def _outcomes_within_window(
    rows: Sequence[PastDecision], window: float, now: float, *, keep_pending: bool
) -> list[PastDecision]:
    """Return decisions in the order of time, with the rewards that they had within their window.

    A decision whose window was not over at the last time in the file is left out, unless it has a
    key and `keep_pending` is true.
    """
    rows = sorted(rows, key=lambda decision: decision.at)
    first_time = rows[0].at
    converted_at = [decision.at + decision.delay for decision in rows if decision.delay < inf]
    last_time = max([rows[-1].at, *converted_at])
    if first_time <= 0 or last_time > now:
        raise ValueError(
            f"times must lie between 1970 and now, {_format_time(now)}, and are UTC where they "
            f"have no zone; got {_format_time(first_time)} to {_format_time(last_time)}"
        )
    if first_time + window > last_time:
        raise ValueError(
            f"no decision's window of {window / 86400:g} days is over: the times in the file are "
            f"from {_format_time(first_time)} to {_format_time(last_time)}"
        )
    decisions = []
    for decision in rows:
        is_converted = decision.delay <= window
        is_kept = keep_pending and decision.key
        if decision.at + window <= last_time or (is_converted and is_kept):
            decisions.append(decision._replace(reward=float(is_converted), key=""))
        elif is_kept:
            check_short_line("key", decision.key, MAX_NAME_LENGTH)
            decisions.append(decision._replace(reward=None))
    return decisions


def _format_time(time: float) -> str:
    return f"{datetime.fromtimestamp(time, UTC):%F %H:%M} UTC"
