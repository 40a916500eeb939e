"""Import of results that were recorded before a study began, from which its policy begins."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import timedelta
from math import lgamma, log
from os import PathLike
from typing import Final, NamedTuple

from keyhole.contract.text_formatting import count_text
from keyhole.durations import to_seconds
from keyhole.study import ask_tell_operations
from keyhole.study.cached_state import ReadOnlyReplica
from keyhole.study.decision_ids import new_id
from keyhole.study.events import ASKED, ROUND, STREAM, TOLD
from keyhole.study.state import State
from keyhole.study.storage import Row
from keyhole.study.timeout_rule import NO_REWARD, TimeoutRule
from keyhole.study.writer import GroupCommit, Transaction
from keyhole.validate import Range, check_number

_CHANCE: Final = 1e-4  # of an order that is taken for a sorted one
_KEY: Final = "import-"  # begins the idempotency key of the first decision that is imported


class PastDecision(NamedTuple):
    """A decision that was taken before the study began.

    Attributes
    ----------
    arm : str
        The name of its arm.
    reward : float or None
        Its reward; None while it is pending.
    at : float, default 0
        When it was taken, in seconds since 1970; 0 if that is not known.
    key : str, default ""
        The idempotency key of a pending decision.
    """

    arm: str
    reward: float | None
    at: float = 0.0
    key: str = ""


class PastResults:
    """Base class of studies: begin from results that were recorded before."""

    _replica: ReadOnlyReplica
    _writer: GroupCommit

    def import_csv(
        self,
        path: str | PathLike[str],
        *,
        arm: str = "arm",
        reward: str = "reward",
        converted_at: str | None = None,
        shown_at: str | None = None,
        within: float | str | timedelta | None = None,
        key: str | None = None,
        delimiter: str = ",",
        date_format: str | None = None,
        decimal: str = ".",
    ) -> int:
        r"""Begin the study from a CSV file of past decisions; return how many were imported.

        The file has one row for each decision that has its reward, in the order of time. The first
        row names the columns; others than those named here are ignored. All rows become decisions
        that were told, in one transaction: all or none; an error names up to five bad rows. The
        same file may be imported again, while its arms are in use, which does nothing and returns
        0.

        Rows that may yet convert must not be in a file without times: they would count as 0. With
        `shown_at` and `converted_at`, in any order, Keyhole looks after that. A decision whose
        window was over at the last time in the file has a reward of 1 if it converted in its
        window, and otherwise, or if it converted later, of 0. Younger ones are left out, and a
        warning says how many; or with `key` they are imported too: as told if they have converted,
        and else as pending since they were shown. They then expire in their time;
        `Study.find_decision` returns them by their keys, to be told before.

        The study must have no other decisions; its policy must be one that can learn from decisions
        of others (`keyhole.policy.Policy.off_policy`), in a setting where a decision is one arm and
        its feedback one reward. What is imported must not have been selected by its rewards. A
        warning says where the rows of each arm are sorted by reward, and the policy can stop.

        Parameters
        ----------
        path : str or path
            The file, in UTF-8.
        arm, reward : str
            The names of the columns: the arm by its name, with capitals as in the study, and the
            reward in the units of the study.
        converted_at : str, optional
            The column that is empty where nothing came of a decision. The reward is then 1 or 0,
            and `reward` is not read.
        shown_at : str, optional
            The column of the times of the decisions. It needs `converted_at`, then of times too.
        within : float, str or timedelta, optional
            The window, in seconds or as a text such as "7d". By default the study's timeout, from
            which it must not differ.
        key : str, optional
            The column of idempotency keys, such as numbers of visits: a key that stands in two rows
            is refused. Without one, a warning counts rows that repeat an earlier one, if `shown_at`
            says the second. Where the policy waits for each feedback (``pending="wait"``), younger
            decisions are left out all the same.
        delimiter : str, default ","
            The sign between columns.
        date_format : str, optional
            The form of times, in the codes of `datetime.strptime`, such as "%d.%m.%Y %H:%M"; by
            default ISO 8601. Without a time zone they are in UTC. "unix", "unix_ms" and "unix_us"
            are numbers of seconds, milliseconds and microseconds since 1970.
        decimal : {".", ","}, default "."
            The decimal sign.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> from keyhole.stochastic import UCB1
        >>> from keyhole.study import Study
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder, "past.csv")
        ...     _ = path.write_text("button,clicked\nred,0\nblue,1\nred,0\n")
        ...     with Study.create(f"{folder}/s.db", "s", UCB1(), ["red", "blue"]) as study:
        ...         print(study.import_csv(path, arm="button", reward="clicked"))
        ...         print(study.import_csv(path, arm="button", reward="clicked"))
        ...         print(study.recommend())
        3
        0
        blue
        """
        from keyhole.study.past_decisions_csv import read_past_decisions, split_by_age

        has_times = shown_at is not None
        needs_times = (within, key, date_format) != (None, None, None)
        if (has_times and converted_at is None) or (needs_times and not has_times):
            raise ValueError(
                "within, key and date_format need shown_at, and shown_at needs converted_at"
            )
        names = {"reward": reward} if converted_at is None else {"converted_at": converted_at}
        times = {"shown_at": shown_at, "key": key}
        names = {"arm": arm} | names | {k: name for k, name in times.items() if name is not None}
        # Checked here too, where lines are known, without a lock while the file is read.
        target = self._replica.read(_Target)
        target.check_policy()
        form = {"delimiter": delimiter, "decimal": decimal}
        rows = read_past_decisions(
            path, names, target.check_result, date_format=date_format, **form
        )
        past = [decision for decision, _ in rows]
        if has_times:
            window, now = target.find_window(within, key), self._writer.clock()
            past = split_by_age(rows, window, now, keep_pending=target.can_wait)
        # Without times a decision is its arm and its reward, as in files that were imported before.
        results = [decision[: 4 if has_times else 2] for decision in past]
        digest = hashlib.blake2b(repr(results).encode(), digest_size=16).hexdigest()
        imported: int = self._writer.submit(
            lambda transaction: _import_past(transaction, past, f"{_KEY}{digest}")
        )
        if imported:
            for doubt in target.doubts(past, len(rows), has_times=has_times):
                warnings.warn(doubt, stacklevel=2)
        return imported


class _Target:
    """The policy and the arms of a study, with which past results are compared."""

    def __init__(self, state: State) -> None:
        names = state.arms.names.copy()
        self._spaced = {name.strip(): name for name in names if name != name.strip()}
        self._policy, self._live = state.definition.policy, frozenset(state.arms.live.tolist())
        self._vocabulary = state.definition.vocabulary(names)
        self._rule = state.definition.rule
        self.can_wait = state.definition.pending != "wait"

    def check_policy(self) -> None:
        """Refuse a policy that cannot learn from results of others."""
        setting = self._policy.setting
        is_plain = (
            not setting.context
            and not setting.by_round
            and list(setting.decision) == ["arm"]
            and list(self._vocabulary.feedback_fields) == ["reward"]
        )
        if not is_plain:
            raise ValueError(
                "results can be imported where a decision is one arm and its feedback one reward; "
                f"in the setting {setting.name!r} more belongs to them: let a learner learn them "
                "by replay"
            )
        if not self._policy.off_policy:
            raise ValueError(
                "results can be imported for a policy that can learn from decisions of others "
                f"(off_policy); {self._policy} learns from its own alone"
            )

    def arm_number(self, name: str) -> int:
        """Return the number of an arm in use."""
        number = self._vocabulary.arm_number("arm", name)
        if number not in self._live:
            raise ValueError(f"arm must be one in use, got {name!r}, which was retired")
        return number

    def check_result(self, name: str, reward: float) -> None:
        """Refuse an arm or a reward that the study does not have."""
        if name in self._spaced:
            raise ValueError(
                f"arm {self._spaced[name]!r} begins or ends with a space, as no name in a file does"
            )
        self._vocabulary.parse_feedback({}, {"arm": self.arm_number(name)}, reward)

    def find_window(self, within: float | str | timedelta | None, key: str | None) -> float:
        """Return the seconds within which a conversion counts, as in the decisions to come."""
        rule = self._rule
        if key is not None and rule == TimeoutRule():
            raise ValueError(
                "key needs a study with a timeout and on_timeout='no_reward': without, decisions "
                "that never convert would stay pending, and means be those of buyers alone; "
                "without key, rows whose window is not over are left out"
            )
        window = to_seconds("within", within)
        if rule != TimeoutRule() and rule.on_timeout != NO_REWARD:
            raise ValueError(
                "conversions need a study with on_timeout='no_reward', or without a timeout; with "
                f"{rule.on_timeout!r} it learns nothing from later visitors who do not convert"
            )
        if window is None:
            window = rule.timeout
        if window is None:
            raise ValueError("within must be given, since the study has no timeout in seconds")
        if rule.timeout not in (None, window):
            raise ValueError(
                f"within must be the study's timeout, {rule.timeout:g} seconds, so that past and "
                f"later decisions count alike; got {window:g}"
            )
        return check_number("within", window, Range(gt=0))

    def doubts(self, past: Sequence[PastDecision], rows: int, *, has_times: bool) -> Iterator[str]:
        """Yield what may be wrong with the decisions that were imported from so many rows."""
        if rows > len(past):
            yield (
                f"{rows - len(past):,} of {rows:,} rows are left out: their window was not over at "
                "the last time in the file"
            )
        if self._rule.on_timeout == NO_REWARD and not has_times:
            yield (
                "decisions that may yet convert must not be in the file, since they count as 0: "
                "with shown_at (in a shell --shown-at) Keyhole leaves them out"
            )
        # Policies that cannot stop only count. Rows with times have been sorted by these.
        results = [(decision.arm, decision.reward or 0.0) for decision in past]
        if self._policy.verdicts and not has_times and is_sorted_by_reward(results):
            yield (
                "the rows of each arm are sorted by reward, and a policy that can stop may settle "
                "arms wrongly by them: begin a new study with rows in the order of time"
            )


def is_sorted_by_reward(results: Sequence[tuple[str, float]]) -> bool:
    """Return whether the rewards of every arm rise, or all fall, as they hardly do by chance."""
    by_arm: dict[str, list[float]] = {}
    for name, reward in results:
        by_arm.setdefault(name, []).append(reward)
    listed = [rewards for rewards in by_arm.values() if len(set(rewards)) > 1]
    rising = all(rewards == sorted(rewards) for rewards in listed)
    if not rising and any(rewards != sorted(rewards, reverse=True) for rewards in listed):
        return False
    # The chance of one order among all orders of an arm's rewards, of which equal ones are one.
    chance = sum(
        sum(lgamma(count + 1) for count in Counter(rewards).values()) - lgamma(len(rewards) + 1)
        for rewards in listed
    )
    return chance < log(_CHANCE)


def _import_past(transaction: Transaction, past: Sequence[PastDecision], key: str) -> int:
    """Write the decisions and their feedback, if the study has none; return how many."""
    state = transaction.state
    if transaction.find_by_key(key) is not None:  # the answer to the first call may have been lost
        return 0
    target = _Target(state)
    target.check_policy()
    if state.rounds:
        raise ValueError(
            "past results must be the beginning of a study, and this one has "
            f"{count_text(state.rounds, 'decision')} already: import all of them into a new study"
        )
    try:
        for number, decision in enumerate(past):
            at = decision.at or transaction.now
            id, body = new_id(at), _asked(state, target.arm_number(decision.arm))
            # The first one has its reward, and so no key of its own.
            own_key = decision.key or None if number else key
            transaction.write_unasked(Row(state.seq + 1, ASKED, id, own_key, at, body))
            if decision.reward is not None:
                feedback = ask_tell_operations.encode_feedback(
                    state, state.pending[id], (decision.reward,), {}
                )
                told_at = transaction.now
                transaction.write_unasked(Row(state.seq + 1, TOLD, id, None, told_at, feedback))
    except Exception:
        state.is_dirty = True  # so that the events before this one are dropped too
        raise
    return len(past)


def _asked(state: State, arm: int) -> bytes:
    """Return the body of the event of a decision about an arm that the policy has not taken."""
    # It draws nothing for this decision: its random stream stays where it is, which is known once
    # a policy that draws to learn has learnt.
    if state.draws_to_learn:
        state.catch_up()
    stream = STREAM.pack(*state.policy_state.stream[:2].tolist())
    return ROUND.pack(state.rounds + 1) + state.decisions.decision.pack({"arm": arm}) + stream
