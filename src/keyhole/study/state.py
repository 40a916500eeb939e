"""The state of a study: what all events so far add up to."""

from collections.abc import Collection, Iterable
from typing import Any, Final, cast

import numpy as np

from keyhole.contract.kernel_checks import local_names
from keyhole.contract.state_memory import FloatArray, IntArray
from keyhole.play.study_vocabulary import Values
from keyhole.study.arms import Arms
from keyhole.study.backlog import AT_ONCE, Backlog
from keyhole.study.decision_rows import DecisionRows
from keyhole.study.definition import Definition
from keyhole.study.event_checks import EventChecker
from keyhole.study.events import (
    ADDED,
    AGAIN,
    ARRIVED,
    ASKED,
    CHANGED,
    HEAD,
    KEPT,
    LAPSED,
    LATE,
    RETIRED,
    ROUND,
    STREAM,
    TOLD,
)
from keyhole.study.policy_errors import LearningError, PolicyChangedError
from keyhole.study.policy_state import PolicyState
from keyhole.study.row_codec import FeedbackCodec, RowCodec
from keyhole.study.storage import Row

_NO_ROWS: Final = np.zeros((0, 0))


class State:
    """Which decisions are open, and what the policy has learnt.

    Open decisions are rows: round, when they were asked, context, decision. In rows an arm is its
    number among all that there ever were; the policy counts those that are in use.

    Attributes
    ----------
    open : dict of str to bytes
        The open decisions, those handed out longest ago first.
    returned : dict of str to None
        Those of them that are to be handed out once more.
    waiting : dict of str to None
        All others, whose feedback is waited for.
    renewed : dict of str to int
        Those that were: after how many decisions.
    last : Row or None
        The last event.
    ahead : bool
        Whether the state is not the one after the last event: a decision was taken of which there
        is no event yet, or an event was taken into account in part, since an error was raised.
    learns : bool
        Whether the policy learns what is told.

    Parameters
    ----------
    head : Head
        What the study is.
    since : int, default 0
        The event that made it so.
    learns : bool, default True
        Whether the policy is to learn what is told. If not, the state is good for all but deciding
        and recommending: where the policy fails at the log.
    """

    def __init__(self, head: Definition, since: int = 0, *, learns: bool = True) -> None:
        self.head, self.since, self.learns = head, since, learns
        self.mind = PolicyState(head, head.facts)
        self.arms = Arms(head.arms)
        self.vocabulary = head.vocabulary(self.arms.names)
        setting, kind = head.policy.setting, cast(Any, type(head.policy))
        arm_fields = self.vocabulary.find_arm_fields()
        self.decisions = DecisionRows(setting, self.mind.sizes, self.arms, arm_fields)
        self.feedback = FeedbackCodec(self.vocabulary, self.mind.sizes)
        self.sums = RowCodec(self.vocabulary.sum_fields, self.mind.sizes)
        self.checker = EventChecker(self)
        self.last: Row | None = None
        self.ahead = False
        self.seq = self.rounds = self.told = 0
        self.open: dict[str, bytes] = {}
        self.returned: dict[str, None] = {}
        self.waiting: dict[str, None] = {}
        self.renewed: dict[str, int] = {}
        self._known: IntArray | None = None  # the arms of the mind, where others are in use now
        self._begin_anew()
        # Where deciding leaves its traces in what is settled, or learning draws at random, events
        # are taken one by one.
        draws = "rng" in local_names(kind.update)
        self._steps = learns and (head.pending != "impute" or draws)
        # What is imagined now is not what will be, later on or by whoever opens the study.
        self._changing = bool(head.time_unit) or draws
        by_round = self.vocabulary.round_class if learns else None
        self._round = None if by_round is None else by_round(self.vocabulary, head.policy)

    def _begin_anew(self) -> None:
        self._backlog = Backlog()
        self._new: list[bytes] = []
        self._anew = True

    # What a row says.

    def row(self, asked: Row) -> bytes:
        """Return the row of a decision that was handed out."""
        return self.decisions.of_event(asked)

    def values(self, row: bytes) -> tuple[Values, Values]:
        """Return context and decision of a row."""
        return self.decisions.values(row)

    def is_allowed(self, row: bytes, *, retired: bool = False) -> bool:
        """Return whether the policy could have taken the decision of a row.

        Of an arm that has been retired since it could not, unless `retired`.
        """
        if (placed := self.decisions.placed(row)) is None:
            return retired
        self._update_arms()
        begin = HEAD.size + self.decisions.context.bytes
        return self.mind.is_allowed(placed[HEAD.size : begin], placed[begin:])

    # What happens.

    def decide(self, context: Values, now: float) -> bytes:
        """Return the body of the next event: the decision of the policy."""
        self.ahead = True
        self._catch_up()
        self._end_round()
        seen = self.decisions.context.pack(context)
        anew = self._anew or self._changing
        taken = self.mind.decide(self.rounds + 1, seen, self._imagined(now, anew), anew=anew)
        self._anew, self._new = False, []
        stream = STREAM.pack(*self.mind.words[:2].tolist())
        return ROUND.pack(self.rounds + 1) + seen + self.decisions.numbered(taken) + stream

    def _imagined(self, now: float, anew: bool) -> FloatArray:
        """Return the open decisions that the policy is to impute: those it has not yet."""
        rows: Collection[bytes] = self.open.values() if anew else self._new
        if self.head.pending != "impute" or not rows:
            return _NO_ROWS
        return self.decisions.as_cells(rows, now, self.head.time_unit)

    def _end_round(self) -> None:
        """Have the policy learn what arrived in a round, where that is when it learns."""
        if self._round is None:
            return
        try:
            ended = self._round.end(self.mind.facts, self.mind.state, self.told)
            if ended is not None:
                self.mind = self.mind.with_facts(ended.facts)
                self.mind.learn_round(self.rounds, ended.context, ended.decision, ended.feedback)
        except Exception as error:
            raise LearningError(self.head.policy, self.seq, error) from error

    def _catch_up(self) -> None:
        """Learn what has been told."""
        self._update_arms()
        if self._backlog:
            self._backlog.learn(self.mind)
            self._anew = True

    def _learn(self, row: bytes, told: bytes, event: int) -> None:
        self.told += 1
        if not self.learns:
            return
        if self._round is not None:
            self._round.add_feedback(*self.values(row), self.feedback.unpack(told))
        elif (placed := self.decisions.placed(row)) is not None:
            self._backlog.add(placed + told[: self.feedback.bytes], event)
            if len(self._backlog) == AT_ONCE:
                self._catch_up()
        # Whatever has been settled is not to be imagined any more.
        self._anew = True

    def apply_all(self, events: Iterable[Row]) -> None:
        """Take events that others wrote, each of which is checked first.

        Raises
        ------
        EventError
            For an event that no study can have written.
        PolicyChangedError
            Where the policy changes; also after an event at which the one before fails.
        LearningError
            If the policy fails at an event.
        """
        events, stream = iter(events), None
        for event in events:
            self.checker.check(event)
            try:
                if event.kind == ASKED:
                    if self._steps:
                        self._follow(event)
                    stream = event.body
                self.apply(event)
            except PolicyChangedError:
                raise
            except Exception as error:
                for later in events:
                    self._changed_at(later)
                if isinstance(error, LearningError):
                    raise
                raise LearningError(self.head.policy, event.seq, error) from error
        if stream is not None and not self._steps:
            self.mind.words[:2] = self.decisions.stream_of_event(stream)

    def _follow(self, event: Row) -> None:
        """Decide as whoever wrote the event did, for what that leaves behind."""
        if self.head.pending != "impute":
            self.decide(self.decisions.context.unpack(event.body, ROUND.size), event.at)
        self._catch_up()
        self.mind.words[:2] = self.decisions.stream_of_event(event.body)

    def apply(self, event: Row) -> None:
        """Take one event into account; those that were decided here too."""
        self.ahead = True
        self._STEPS[event.kind](self, event)
        self.seq, self.last = event.seq, event
        self.ahead = False

    def _asked(self, event: Row) -> None:
        self.rounds += 1
        row = self.row(event)
        if self.vocabulary.has_feedback:
            self.open[_decision(event)] = row
            self.waiting[_decision(event)] = None
        if not self._anew:
            self._new.append(row)
        if self._round is not None:
            self._round.begin(*self.values(row))

    def _close(self, id: str) -> bytes:
        """Return the row of a decision that is no longer open."""
        if self.renewed or self.returned:  # mostly there are none
            self.returned.pop(id, None)
            self.renewed.pop(id, None)
        self.waiting.pop(id, None)
        self._anew = True
        return self.open.pop(id)

    def _is_live(self, id: str) -> bool:
        """Return whether the arm of an open decision is in use."""
        return self.decisions.is_live(self.open[id])

    def _told(self, event: Row) -> None:
        self._learn(self._close(_decision(event)), event.body, event.seq)

    def _lapsed(self, event: Row) -> None:
        if self.head.rule.on_timeout == "ask_again" and self._is_live(_decision(event)):
            self.returned[_decision(event)] = None
            self.waiting.pop(_decision(event), None)
            return
        row = self._close(_decision(event))
        if event.body:
            self._learn(row, event.body, event.seq)

    def _again(self, event: Row) -> None:
        id = _decision(event)
        row = self._close(id)
        self.open[id] = HEAD.pack(HEAD.unpack_from(row)[0], event.at) + row[HEAD.size :]
        self.waiting[id] = None
        self.renewed[id] = self.rounds

    def is_over(self, id: str, now: float) -> bool:
        """Return whether an open decision has been waited for long enough."""
        t, at = HEAD.unpack_from(self.open[id])
        later = self.rounds - self.renewed.get(id, int(t))
        return self.head.rule.is_over(now - at, later)

    def is_later_than(self, id: str, now: float) -> bool:
        """Return whether an open decision was handed out later than now: a clock was set back."""
        return bool(HEAD.unpack_from(self.open[id])[1] > now)

    def packed_sum(self, values: Values) -> bytes:
        """Return feedback that says of no decision as the body of an event, if it can be."""
        if self._round is not None:
            self._round.check_sum(values, self.rounds)
        return self.sums.pack(values)

    def _late(self, event: Row) -> None:
        end = self.decisions.bytes
        self._learn(event.body[:end], event.body[end:], event.seq)

    def _nothing(self, event: Row) -> None:
        """Leave all as it is: feedback that came too late is kept, and not learnt."""

    def _arrived(self, event: Row) -> None:
        if self._round is not None:
            self._round.add_sum(self.sums.unpack(event.body))
        self._anew = True

    def _added(self, event: Row) -> None:
        self._before_other_arms()
        self.arms.add(event.body.decode())

    def _retired(self, event: Row) -> None:
        self._before_other_arms()
        self.arms.retire(event.body.decode())
        for id in [id for id in self.returned if not self._is_live(id)]:
            self._close(id)

    def _before_other_arms(self) -> None:
        """Learn what has been told so far by the arms that are in use now."""
        if self._backlog:
            self._catch_up()
        if self._known is None:
            self._known = self.arms.live
        self.checker.forget()
        self._anew = True

    def _update_arms(self) -> None:
        """Have the policy know the arms in use: once, however many came and went meanwhile."""
        if self._known is None:
            return
        after = self.arms.positions[self._known]
        (before,) = np.nonzero(after >= 0)
        self.mind = self.mind.with_arms(len(self.arms.live), before, after[before])
        self._known = None

    def _changed_at(self, event: Row) -> None:
        """Leave an event to who knows the policies, if the policy changes at it."""
        if event.kind == CHANGED and event.seq > self.since:
            raise PolicyChangedError(event)

    _STEPS: Final[dict[int, Any]] = {
        ASKED: _asked,
        TOLD: _told,
        LAPSED: _lapsed,
        AGAIN: _again,
        LATE: _late,
        KEPT: _nothing,
        ARRIVED: _arrived,
        ADDED: _added,
        RETIRED: _retired,
        CHANGED: _changed_at,
    }

    # Snapshots.

    def arrays_to_save(self) -> bytes:
        """Return what the policy has learnt."""
        self._catch_up()
        return self.mind.arrays_to_save()

    def round_as_json(self) -> Any:
        """Return the round that has not ended; None in rooms that have none."""
        return None if self._round is None else self._round.to_json()

    def restore_round(self, content: Any) -> None:
        """Go on with a round as `round_as_json` had it."""
        if self._round is not None:
            self._round.restore(content)

    def longest_arrays(self, told: int) -> dict[str, int]:
        """Return how long arrays that grow can have become, after so many tellings."""
        return {} if self._round is None else self._round.longest_arrays(told)

    def report(self) -> Any:
        """Return what the policy recommends, in words."""
        self._catch_up()
        return self.vocabulary.format_report(self.mind.report(), self.arms.live.tolist())


def _decision(event: Row) -> str:
    assert event.decision is not None
    return event.decision
