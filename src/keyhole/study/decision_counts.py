"""Counts of a study's decisions and means of their feedback by option, read from the log alone."""

import struct
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import Final

from keyhole.contract.policy import Policy
from keyhole.play.saved_learner import DAMAGE
from keyhole.study.definition import Definition
from keyhole.study.events import EXPIRED, KINDS, EventError, read_changed_definition
from keyhole.study.log_state import LogState
from keyhole.study.storage import Row
from keyhole.study.timeout_rule import NO_REWARD

NO_ARM: Final = -1
"""The number that stands for the arm of a decision that is not about one arm."""


class DecisionCounts(LogState):
    """The decisions and feedback of a study so far, event by event, without its policy.

    Attributes
    ----------
    policy : Policy
        The policy after the last event.
    at : float
        The time of the last event, in seconds since 1970; 0 if there is none.
    expired : int
        How many times a decision expired.
    asked : array of int
        The arm's number of each decision, in order; -1 where a decision is not about one arm.
    feedback_numbers : list of (int, int, dict)
        For each feedback that counts in means: the number of decisions by then, the arm's number,
        and the numbers in it by name, in the study's units. With ``on_timeout="no_reward"`` it is
        of all decisions before the oldest pending one, in their order.
    assumed : Counter of int
        How many of these were assumed at a timeout, by the arm's number.
    early : dict
        Feedback that does not count yet, by the decision's id: with ``on_timeout="no_reward"`` a
        success is told before a failure is assumed, so that what was told so far is a fair sample
        only of decisions before the oldest pending one.
    flags : set of str
        The names in it that are True or left out, such as "exceeded".
    told_sums : dict of str to float
        How many sums were told ("sums"), their total and their rounds; empty if none was.
    arms_with_feedback : set of int
        The numbers of the arms of which the policy has feedback: told, or assumed of a decision
        that expired (``on_timeout="no_reward"``).

    Parameters
    ----------
    definition : Definition
        The definition with which the study was created.
    policies : iterable of Policy classes, optional
        Classes in which a policy is looked up first.
    """

    def __init__(self, definition: Definition, policies: Iterable[type[Policy]] = ()) -> None:
        super().__init__(definition)
        self.policy = definition.policy
        self._policies = tuple(policies)
        self._is_ordered = definition.rule.on_timeout == NO_REWARD
        self._ids: deque[str] = deque()  # of decisions whose feedback counts next
        self.at = 0.0
        self.expired = 0
        self.asked = array("q")
        self.feedback_numbers: list[tuple[int, int, dict[str, float]]] = []
        self.early: dict[str, tuple[int, dict[str, float], bool]] = {}
        self.flags: set[str] = set()
        self.told_sums: defaultdict[str, float] = defaultdict(float)
        self.assumed: Counter[int] = Counter()
        self.arms_with_feedback: set[int] = set()

    @property
    def untold(self) -> int:
        """The number of decisions that expired for good and taught nothing."""
        if not self.vocabulary.has_feedback:
            return 0
        return self.rounds - self.feedback_count - len(self.pending)

    @property
    def has_arms(self) -> bool:
        """Whether every decision so far was about one arm."""
        return len(self.asked) > 0 and NO_ARM not in self.asked

    def add(self, event: Row) -> None:
        """Count an event; refuse one that no study can have written."""
        try:
            # The log may be damaged or edited, so any field of the event can have any value.
            KINDS[event.kind].apply(self, event)
        except (*DAMAGE, struct.error) as error:
            raise EventError(event.seq, f"it is malformed ({error!r})") from error
        self.expired += event.kind == EXPIRED
        self.seq, self.at = event.seq, event.at

    def add_decision(self, id: str, row: bytes) -> None:
        """Count a decision that was handed out."""
        super().add_decision(id, row)
        self.asked.append(self._arm(row))
        if self._is_ordered and self.vocabulary.has_feedback:
            self._ids.append(id)

    def add_sum(self, body: bytes) -> None:
        """Count a sum, and that there is feedback of any arm: nobody knows of which it is."""
        self.arms_with_feedback.add(NO_ARM)
        named = self.vocabulary.format_sum(self.sums.unpack(body))
        for name, number in ({"sums": 1} | named).items():
            self.told_sums[name] += number

    def change_policy(self, event: Row) -> None:
        """Replace the policy."""
        self.policy = read_changed_definition(
            self.definition, event.body, self._policies, event.seq
        ).policy

    def _arm(self, row: bytes) -> int:
        """Return the number of the arm of a decision, or -1."""
        name = self.vocabulary.format_decision(*self.values(row)).get("arm")
        return self.vocabulary.arm_number("arm", name) if isinstance(name, str) else NO_ARM

    def learn(self, event: Row, row: bytes, feedback: bytes) -> None:
        """Count the feedback of a decision, or keep it until those before are told."""
        super().learn(event, row, feedback)
        values = self.feedback.unpack(feedback)
        words = self.vocabulary.format_feedback(*self.values(row), values)
        numbers = {
            name: float(value) for name, value in words.items() if isinstance(value, int | float)
        }
        self.flags.update(name for name, value in words.items() if isinstance(value, bool))
        if "reward" in values:  # words may leave out that it was 0
            numbers = {"reward": self.vocabulary.scale.from_unit(values["reward"])} | numbers
        arm, id = self._arm(row), str(event.decision)
        self.arms_with_feedback.add(arm)
        self.early[id] = arm, numbers, event.kind == EXPIRED
        if not self._is_ordered:
            self._ids.append(id)
        while self._ids and self._ids[0] in self.early:
            arm, numbers, is_assumed = self.early.pop(self._ids.popleft())
            # The place on the axis of a plot: if feedback is in order, the decision's own number.
            step = len(self.feedback_numbers) + 1 if self._is_ordered else len(self.asked)
            self.feedback_numbers.append((step, arm, numbers))
            self.assumed[arm] += is_assumed

    def told_numbers(self) -> list[str]:
        """Return the names of the numbers in the feedback so far, such as "reward"."""
        return list(dict.fromkeys(name for _, _, words in self.feedback_numbers for name in words))

    @property
    def interval_word(self) -> str:
        """The number of which means have intervals: "reward", or "" where none is known to hold.

        Decisions that expired for good and taught nothing would make them wrong: the feedback that
        was told is then no fair sample of all feedback, for instance where only successes are told.
        """
        return "reward" if self.policy.setting.fixed_means and self.untold == 0 else ""
