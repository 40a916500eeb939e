"""Counts of a study's decisions and means of their feedback by option, read from the log alone."""

import struct
from array import array
from collections import Counter, defaultdict, deque
from collections.abc import Iterable
from typing import Final

from keyhole.contract.compiled_class import compiled_policy
from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import Scale
from keyhole.play.saved_learner import DAMAGE
from keyhole.study.arms import Arms
from keyhole.study.decision_bytes import DecisionBytes
from keyhole.study.definition import Definition
from keyhole.study.event_checks import EventError, read_changed_definition
from keyhole.study.events import (
    ARM_ADDED,
    ARM_RETIRED,
    ASKED,
    ASKED_AGAIN,
    EXPIRED,
    POLICY_CHANGED,
    SUM_TOLD,
    TOLD,
    TOLD_LATE,
)
from keyhole.study.row_codec import FeedbackCodec, RowCodec
from keyhole.study.storage import Row
from keyhole.study.timeout_rule import NO_REWARD

NO_ARM: Final = -1
"""The number that stands for the arm of a decision that is not about one arm."""


class DecisionCounts:
    """The decisions and feedback of a study so far, event by event, without its policy.

    Attributes
    ----------
    policy : Policy
        The policy after the last event.
    seq : int
        The number of the last event.
    at : float
        Its time, in seconds since 1970; 0 if there is none.
    told, expired, untold : int
        How many decisions have feedback that the policy learnt (told in time or late, or assumed
        at a timeout), how many times one expired, and how many expired for good and taught nothing.
    asked : array of int
        The arm's number of each decision, in order; -1 where a decision is not about one arm.
    feedback : list of (int, int, dict)
        For each feedback that counts in means: the number of decisions by then, the arm's number,
        and the numbers in it by name, in the study's units. With ``on_timeout="no_reward"`` it is
        of all decisions before the oldest pending one, in their order.
    early : dict
        Feedback that does not count yet, by the decision's id: with ``on_timeout="no_reward"`` a
        success is told before a failure is assumed, so that what was told so far is a fair sample
        only of decisions before the oldest pending one.
    flags : set of str
        The names in it that are True or left out, such as "exceeded".
    sums : dict of str to float
        How many sums were told ("sums"), their total and their rounds; empty if none was.
    assumed : Counter of int
        How many of them were assumed at a timeout, by the arm's number.
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
        self._definition, self._policies = definition, tuple(policies)
        self.policy = policy = definition.policy
        sizes = compiled_policy(type(policy)).sizes(policy.numbers() | definition.facts)
        self._arms = Arms(definition.arms)
        self._vocabulary = definition.vocabulary(self._arms.names)
        fields = self._vocabulary.find_arm_fields()
        self._rows = DecisionBytes(policy.setting, sizes, self._arms, fields)
        self._codec = FeedbackCodec(self._vocabulary, sizes)
        self._sum_codec = RowCodec(self._vocabulary.sum_fields, sizes)
        self._pending: dict[str, bytes] = {}
        self._to_ask_again: dict[str, None] = {}  # of the pending ones, those that expired
        self.rule = definition.rule
        self._is_ordered = self.rule.on_timeout == NO_REWARD
        self._ids: deque[str] = deque()  # of decisions whose feedback counts next
        self.early: dict[str, tuple[int, dict[str, float], bool]] = {}
        self.seq, self.at, self.told, self.expired, self.untold = 0, 0.0, 0, 0, 0
        self.asked = array("q")
        self.feedback: list[tuple[int, int, dict[str, float]]] = []
        self.flags: set[str] = set()
        self.sums: defaultdict[str, float] = defaultdict(float)
        self.assumed: Counter[int] = Counter()
        self.arms_with_feedback: set[int] = set()

    @property
    def arms(self) -> tuple[str, ...]:
        """The names of all arms, also of retired ones."""
        return tuple(self._arms.names)

    @property
    def live(self) -> list[int]:
        """The numbers of the arms that are not retired."""
        numbers: list[int] = self._arms.live.tolist()
        return numbers

    @property
    def arms_in_use(self) -> int:
        """The number of arms that are not retired."""
        return len(self._arms.live)

    @property
    def pending(self) -> int:
        """The number of decisions without feedback that are still waited for."""
        return len(self._pending)

    @property
    def has_arms(self) -> bool:
        """Whether every decision so far was about one arm."""
        return len(self.asked) > 0 and NO_ARM not in self.asked

    def add(self, event: Row) -> None:
        """Count an event; refuse one that no study can have written."""
        try:
            # The log may be damaged or edited, so any field of the event can have any value.
            self._add(event)
        except (*DAMAGE, struct.error) as error:
            raise EventError(event.seq, f"it is malformed ({error!r})") from error
        self.seq, self.at = event.seq, event.at

    def _add(self, event: Row) -> None:
        if event.kind == ASKED:
            row = self._rows.row_of_event(event)
            self.asked.append(self._arm(row))
            if self._vocabulary.has_feedback:
                self._pending[_id_of(event)] = row
                if self._is_ordered:
                    self._ids.append(_id_of(event))
        elif event.kind == TOLD:
            self._to_ask_again.pop(_id_of(event), None)
            self._tell(event, self._pending.pop(_id_of(event)), event.body)
        elif event.kind == TOLD_LATE:
            end = self._rows.bytes
            self.untold -= 1
            self._tell(event, event.body[:end], event.body[end:])
        elif event.kind == SUM_TOLD:
            self.arms_with_feedback.add(NO_ARM)  # nobody knows of which arms the sum is
            words = self._vocabulary.format_sum(self._sum_codec.unpack(event.body))
            for name, number in ({"sums": 1} | words).items():
                self.sums[name] += number
        elif event.kind == EXPIRED:
            self._expire(event)
        elif event.kind == ASKED_AGAIN:
            self._to_ask_again.pop(_id_of(event), None)
        else:
            self._add_change(event)

    def _add_change(self, event: Row) -> None:
        """Count an event that changes the arms or the policy."""
        if event.kind == ARM_ADDED:
            self._arms.add(event.body.decode())
        elif event.kind == ARM_RETIRED:
            self._retire(event.body.decode())
        elif event.kind == POLICY_CHANGED:
            self.policy = read_changed_definition(
                self._definition, event.body, self._policies, event.seq
            ).policy

    def _expire(self, event: Row) -> None:
        self.expired += 1
        id = _id_of(event)
        if event.body:  # what is assumed of it; told later, it stays so
            self._tell(event, self._pending.pop(id), event.body)
        # A decision about a retired arm is not asked again: nobody would be given it.
        elif self.rule.on_timeout == "ask_again" and self._rows.is_live(self._pending[id]):
            self._to_ask_again[id] = None
        else:
            self._lose(id)

    def _lose(self, id: str) -> None:
        """Count a decision that is waited for no more."""
        del self._pending[id]
        self.untold += 1

    def _retire(self, arm: str) -> None:
        self._arms.retire(arm)
        # The list is made first: a dictionary must not change while it is iterated over.
        for id in [id for id in self._to_ask_again if not self._rows.is_live(self._pending[id])]:
            del self._to_ask_again[id]
            self._lose(id)

    def _arm(self, row: bytes) -> int:
        """Return the number of the arm of a decision, or -1."""
        found = self._vocabulary.format_decision(*self._rows.values(row)).get("arm")
        return self._vocabulary.arm_number("arm", found) if isinstance(found, str) else NO_ARM

    def _tell(self, event: Row, row: bytes, body: bytes) -> None:
        self.told += 1
        feedback = self._codec.unpack(body)
        words = self._vocabulary.format_feedback(*self._rows.values(row), feedback)
        numbers = {
            name: float(value) for name, value in words.items() if isinstance(value, int | float)
        }
        self.flags.update(name for name, value in words.items() if isinstance(value, bool))
        if "reward" in feedback:  # words may leave out that it was 0
            numbers = {"reward": self.scale.from_unit(feedback["reward"])} | numbers
        arm = self._arm(row)
        self.arms_with_feedback.add(arm)
        self.early[_id_of(event)] = arm, numbers, event.kind == EXPIRED
        if not self._is_ordered:
            self._ids.append(_id_of(event))
        while self._ids and self._ids[0] in self.early:
            arm, numbers, is_assumed = self.early.pop(self._ids.popleft())
            # The place on the axis of a plot: if feedback is in order, the decision's own number.
            step = len(self.feedback) + 1 if self._is_ordered else len(self.asked)
            self.feedback.append((step, arm, numbers))
            self.assumed[arm] += is_assumed

    def told_numbers(self) -> list[str]:
        """Return the names of the numbers in the feedback so far, such as "reward"."""
        return list(dict.fromkeys(name for _, _, words in self.feedback for name in words))

    @property
    def interval_word(self) -> str:
        """The number of which means have intervals: "reward", or "" where none is known to hold.

        Decisions that expired for good and taught nothing would make them wrong: the feedback that
        was told is then no fair sample of all feedback, for instance where only successes are told.
        """
        return "reward" if self.policy.setting.fixed_means and self.untold == 0 else ""

    @property
    def scale(self) -> Scale:
        """The units of rewards."""
        return self._vocabulary.scale


def _id_of(event: Row) -> str:
    return str(event.decision)
