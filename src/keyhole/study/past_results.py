"""Import of results that were recorded before a study began, from which its policy begins."""

import hashlib
import warnings
from collections import Counter
from collections.abc import Sequence
from math import lgamma, log
from os import PathLike
from typing import Final

from keyhole.contract.text_formatting import count_text
from keyhole.study import ask_tell_operations
from keyhole.study.cached_state import ReadOnlyReplica
from keyhole.study.decision_ids import new_id
from keyhole.study.events import ASKED, ROUND, STREAM, TOLD
from keyhole.study.state import State
from keyhole.study.writer import GroupCommit, Transaction

_CHANCE: Final = 1e-4  # of an order that is taken for a sorted one
_KEY: Final = "import-"  # begins the idempotency key of the first decision that is imported

Result = tuple[str, float]
"""The name of an arm, and the reward of a decision about it."""


class PastResults:
    """Base class of studies: begin from results that were recorded before."""

    _replica: ReadOnlyReplica
    _writer: GroupCommit

    def import_csv(
        self, path: str | PathLike[str], *, arm: str = "arm", reward: str = "reward"
    ) -> int:
        r"""Begin the study from a CSV file of past decisions; return how many were imported.

        The file has one row for each decision that has its reward, in the order of time. The first
        row names the columns; others than these two are ignored. All rows become decisions that
        were told, in one transaction: all or none; an error names up to five bad rows. The same
        file may be imported again, while its arms are in use, which does nothing and returns 0.

        The study must have no other decisions; its policy must be one that can learn from decisions
        of others (`keyhole.policy.Policy.off_policy`), in a setting where a decision is one arm and
        its feedback one reward. What is imported must not have been selected by its rewards. A
        warning says where the rows of each arm are sorted by reward, and the policy can stop.

        Parameters
        ----------
        path : str or path
            The file, in UTF-8, separated by commas.
        arm, reward : str
            The names of the columns: the arm by its name, and the reward in the units of the study.

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
        # Checked here too, where lines are known, without a lock while the file is read.
        target = self._replica.read(_Target)
        results = target.read_results(path, arm, reward)
        digest = hashlib.blake2b(repr(results).encode(), digest_size=16).hexdigest()
        imported: int = self._writer.submit(
            lambda transaction: _import_results(transaction, results, f"{_KEY}{digest}")
        )
        if imported and target.is_order_used and is_sorted_by_reward(results):
            warnings.warn(
                "the rows of each arm are sorted by reward, and a policy that can stop may settle "
                "arms wrongly by them: begin a new study with rows in the order of time",
                stacklevel=2,
            )
        return imported


class _Target:
    """The policy and the arms of a study, with which past results are compared."""

    def __init__(self, state: State) -> None:
        self._names = names = state.arms.names.copy()
        self._policy, self._live = state.definition.policy, frozenset(state.arms.live.tolist())
        self._vocabulary = state.definition.vocabulary(names)
        self.is_order_used = bool(self._policy.verdicts)  # policies that cannot stop only count

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

    def read_results(self, path: str | PathLike[str], arm: str, reward: str) -> list[Result]:
        """Return the rows of a file; errors name file and line."""
        from keyhole.data.csv_rows import check_column_names, read_rows
        from keyhole.data.rewards_csv import parse_reward

        self.check_policy()
        spaced = {name.strip(): name for name in self._names if name != name.strip()}
        columns = check_column_names(arm=arm, reward=reward)
        found: list[Result] = []

        def add(name: str, text: str) -> None:
            if name in spaced:
                raise ValueError(
                    f"arm {spaced[name]!r} begins or ends with a space, as no name in a file does"
                )
            result = name, parse_reward(text, column=columns[1])
            self._vocabulary.parse_feedback({}, {"arm": self.arm_number(name)}, result[1])
            found.append(result)

        read_rows(path, columns, add)
        return found


def is_sorted_by_reward(results: Sequence[Result]) -> bool:
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


def _import_results(transaction: Transaction, results: Sequence[Result], key: str) -> int:
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
        for number, result in enumerate(results):
            id, arm = new_id(transaction.now), target.arm_number(result[0])
            transaction.write_unasked(ASKED, id, _asked(state, arm), None if number else key)
            told = ask_tell_operations.encode_feedback(state, state.pending[id], (result[1],), {})
            transaction.write_unasked(TOLD, id, told)
    except Exception:
        state.is_dirty = True  # so that the events before this one are dropped too
        raise
    return len(results)


def _asked(state: State, arm: int) -> bytes:
    """Return the body of the event of a decision about an arm that the policy has not taken."""
    # It draws nothing for this decision: its random stream stays where it is, which is known once
    # a policy that draws to learn has learnt.
    if state.draws_to_learn:
        state.catch_up()
    stream = STREAM.pack(*state.policy_state.stream[:2].tolist())
    return ROUND.pack(state.rounds + 1) + state.decisions.decision.pack({"arm": arm}) + stream
