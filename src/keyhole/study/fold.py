"""The state of a study: what all events so far add up to."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, cast

from keyhole.contract.answers import names_of
from keyhole.play.terms import Values
from keyhole.study.event_checks import EventChecker
from keyhole.study.events import (
    ADDED,
    AGAIN,
    ARRIVED,
    ASKED,
    AT,
    CHANGED,
    HEAD,
    KEPT,
    LAPSED,
    LATE,
    RETIRED,
    ROUND,
    STREAM,
    SUM,
    TOLD,
)
from keyhole.study.form import Form, Told
from keyhole.study.head import Head
from keyhole.study.mind import Mind
from keyhole.study.round import Round
from keyhole.study.storage import Row
from keyhole.validate import Range, distinct, integer, line, shown

_AT_ONCE: Final = 4096  # tellings that are learnt together


class PolicyChangedError(Exception):
    """The policy changed at this event: all before it are to be learnt anew, by the new one."""

    def __init__(self, event: Row) -> None:
        super().__init__("the policy changed")
        self.head, self.seq = event.body, event.seq


class Fold:
    """Which decisions are open, and what the policy has learnt.

    Open decisions are rows: round, when they were asked, context, decision. In rows an arm is its
    number among all that there ever were; the policy counts those that are in use.

    Attributes
    ----------
    open : dict of str to bytes
        The open decisions, those handed out longest ago first.
    returned : dict of str to None
        Those of them that are to be handed out once more.
    renewed : dict of str to int
        Those that were: after how many decisions.
    last : Row or None
        The last event.
    ahead : bool
        Whether a decision was taken of which there is no event yet.

    Parameters
    ----------
    head : Head
        What the study is.
    since : int, default 0
        The event that made it so.
    """

    def __init__(self, head: Head, since: int = 0) -> None:
        self.head, self.since = head, since
        self.mind = Mind(head, head.facts)
        self.arms = list(head.arms)
        self.live = list(range(len(self.arms)))
        self.terms = head.terms(self.arms)
        setting, kind = head.policy.setting, cast(Any, type(head.policy))
        self.context = Form(setting.context, self.mind.sizes)
        self.decision = Form(setting.decision, self.mind.sizes)
        self.feedback = Told(self.terms, self.mind.sizes)
        self.width = self.context.bytes + self.decision.bytes
        self.checker = EventChecker(self)
        self.last: Row | None = None
        self.ahead = False
        self.seq = self.rounds = self.told = 0
        self.open: dict[str, bytes] = {}
        self.returned: dict[str, None] = {}
        self.renewed: dict[str, int] = {}
        self._moved = False  # an arm was retired: numbers differ, or there is none
        self._begin_anew()
        # Where deciding leaves its traces in what is settled, or learning draws at random, events
        # are taken one by one.
        draws = "rng" in names_of(kind.update)
        self._steps = head.pending != "imagine" or draws
        # What is imagined now is not what will be, later on or by whoever opens the study.
        self._changing = bool(head.second) or draws
        self._round = Round(self) if setting.by_round else None
        # Of a decision whose feedback has no name, nothing will be told.
        self._waits = self._round is None or bool(head.facts["named"])

    def _begin_anew(self) -> None:
        self._backlog: list[bytes] = []
        self._new: list[bytes] = []
        self._anew = True

    # What a row says.

    def row(self, asked: Row) -> bytes:
        """Return the row of a decision that was handed out."""
        body, begin = asked.body, ROUND.size
        return body[:begin] + AT.pack(asked.at) + body[begin : begin + self.width]

    def values(self, row: bytes) -> tuple[Values, Values]:
        """Return context and decision of a row."""
        decision = self.decision.unpack(row, HEAD.size + self.context.bytes)
        return self.context.unpack(row, HEAD.size), decision

    def _placed(self, row: bytes) -> bytes | None:
        """Return a row with the policy's own number of the arm; None for an arm that is retired."""
        if not self._moved:
            return row
        _, decision = self.values(row)
        if decision["arm"] not in self.live:
            return None
        decision["arm"] = self.live.index(decision["arm"])
        end = HEAD.size + self.width
        return row[: end - self.decision.bytes] + self.decision.pack(decision) + row[end:]

    def allows(self, row: bytes, *, retired: bool = False) -> bool:
        """Return whether the policy could have taken the decision of a row.

        Of an arm that has been retired since it could not, unless `retired`.
        """
        if (placed := self._placed(row)) is None:
            return retired
        end, width = HEAD.size + self.width, self.context.bytes
        return self.mind.allows(
            placed[HEAD.size : HEAD.size + width], placed[HEAD.size + width : end]
        )

    # What happens.

    def decide(self, context: Values, now: float) -> bytes:
        """Return the body of the next event: the decision of the policy."""
        self.ahead = True
        self._catch_up()
        if self._round is not None:
            self._round.end()
        seen = self.context.pack(context)
        anew = self._anew or self._changing
        taken = self.mind.decide(self.rounds + 1, seen, self._imagined(now, anew), anew=anew)
        self._anew, self._new = False, []
        if self._moved:
            decision = self.decision.unpack(taken)
            decision["arm"] = self.live[decision["arm"]]
            taken = self.decision.pack(decision)
        return (
            ROUND.pack(self.rounds + 1) + seen + taken + STREAM.pack(*self.mind.words[:2].tolist())
        )

    def _imagined(self, now: float, anew: bool) -> list[bytes]:
        """Return the open decisions that the policy is to imagine: those it has not yet."""
        if self.head.pending != "imagine":
            return []
        rows: Iterable[bytes] = self.open.values() if anew else self._new
        if self.head.second:
            rows = (self._aged(row, now) for row in rows)
        if self._moved:
            rows = (row for row in map(self._placed, rows) if row is not None)
        return list(rows)

    def _aged(self, row: bytes, now: float) -> bytes:
        """Return a row with the age of the decision, in what a run consumes, for its time."""
        t, at = HEAD.unpack_from(row)
        return HEAD.pack(t, max(0.0, now - at) * self.head.second) + row[HEAD.size :]

    def _catch_up(self) -> None:
        """Learn what has been told."""
        if self._backlog:
            self.mind.learn(b"".join(self._backlog), len(self._backlog))
            self._backlog = []
            self._anew = True

    def _learn(self, row: bytes, told: bytes) -> None:
        self.told += 1
        if self._round is not None:
            self._round.arrive(self.values(row)[1]["arm"], self.feedback.unpack(told)["reward"])
        elif (placed := self._placed(row) if self._moved else row) is not None:
            self._backlog.append(placed + told[: self.feedback.bytes])
            if len(self._backlog) == _AT_ONCE:
                self._catch_up()
        # Whatever has been settled is not to be imagined any more.
        self._anew = True

    def take(self, events: Iterable[Row]) -> None:
        """Take events that others wrote, each of which is checked first."""
        stream = None
        for event in events:
            self.checker.check(event)
            if event.kind == ASKED:
                if self._steps:
                    self._follow(event)
                stream = event.body
            self.apply(event)
        if stream is not None and not self._steps:
            self.mind.words[:2] = STREAM.unpack_from(stream, ROUND.size + self.width)

    def _follow(self, event: Row) -> None:
        """Decide as whoever wrote the event did, for what that leaves behind."""
        if self.head.pending != "imagine":
            self.decide(self.context.unpack(event.body, ROUND.size), event.at)
        self._catch_up()
        self.mind.words[:2] = STREAM.unpack_from(event.body, ROUND.size + self.width)

    def apply(self, event: Row) -> None:
        """Take one event into account; those that were decided here too."""
        self._STEPS[event.kind](self, event)
        self.seq, self.last = event.seq, event

    def _asked(self, event: Row) -> None:
        self.rounds += 1
        self.ahead = False
        row = self.row(event)
        if self._waits:
            self.open[_decision(event)] = row
        if not self._anew:
            self._new.append(row)
        if self._round is not None:
            self._round.begin(self.values(row)[1]["arm"])

    def _settle(self, event: Row) -> bytes:
        """Return the row of a decision that is no longer open."""
        return self._close(_decision(event))

    def _close(self, id: str) -> bytes:
        if self.renewed or self.returned:  # mostly there are none
            self.returned.pop(id, None)
            self.renewed.pop(id, None)
        self._anew = True
        return self.open.pop(id)

    def _is_live(self, id: str) -> bool:
        """Return whether the arm of an open decision is in use."""
        return not self._moved or self.values(self.open[id])[1]["arm"] in self.live

    def _told(self, event: Row) -> None:
        self._learn(self._settle(event), event.body)

    def _lapsed(self, event: Row) -> None:
        if self.head.rule.after == "again" and self._is_live(_decision(event)):
            self.returned[_decision(event)] = None
            return
        row = self._settle(event)
        if event.body:
            self._learn(row, event.body)

    def _again(self, event: Row) -> None:
        id, row = _decision(event), self._settle(event)
        self.open[id] = HEAD.pack(HEAD.unpack_from(row)[0], event.at) + row[HEAD.size :]
        self.renewed[id] = self.rounds

    def is_over(self, id: str, now: float) -> bool:
        """Return whether an open decision has been waited for long enough."""
        t, at = HEAD.unpack_from(self.open[id])
        later = self.rounds - self.renewed.get(id, int(t))
        return self.head.rule.is_over(now - at, later)

    def is_of_the_future(self, id: str, now: float) -> bool:
        """Return whether an open decision was handed out later than now: a clock was set back."""
        return bool(HEAD.unpack_from(self.open[id])[1] > now)

    @property
    def arrived(self) -> float:
        """The sum of all rewards that have arrived, where a round's are learnt when it ends."""
        return 0.0 if self._round is None else self._round.all

    def _late(self, event: Row) -> None:
        end = HEAD.size + self.width
        self._learn(event.body[:end], event.body[end:])

    def _nothing(self, event: Row) -> None:
        """Leave all as it is: feedback that came too late is kept, and not learnt."""

    def _arrived(self, event: Row) -> None:
        assert self._round is not None
        self._round.sum_up(SUM.unpack(event.body)[0])
        self._anew = True

    def _added(self, event: Row) -> None:
        self.arms.append(event.body.decode())
        self._use([*self.live, len(self.arms) - 1])

    def _retired(self, event: Row) -> None:
        number = self.arms.index(event.body.decode())
        self._use([arm for arm in self.live if arm != number])
        for id in [id for id in self.returned if not self._is_live(id)]:
            self._close(id)

    def _use(self, live: Sequence[int]) -> None:
        """Have the policy know these arms, and no others."""
        self._catch_up()
        kept = {i: live.index(arm) for i, arm in enumerate(self.live) if arm in live}
        self.mind = self.mind.with_arms(len(live), kept)
        self.live = list(live)
        self.checker.forget()
        self._moved = len(self.live) < len(self.arms)
        self._anew = True

    def _changed(self, event: Row) -> None:
        if event.seq > self.since:
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
        CHANGED: _changed,
    }

    # Snapshots.

    def remembered(self) -> bytes:
        """Return what the policy has learnt."""
        self._catch_up()
        return self.mind.kept()

    def round_as_json(self) -> Any:
        """Return the round that has not ended; None in rooms that have none."""
        return None if self._round is None else self._round.kept()

    def resume(self, said: Mapping[str, Any], last: Row, rows: bytes, mind: bytes) -> None:
        """Become the fold of a snapshot that was taken after event `last`.

        What no fold can have been is an error, and the fold cannot be used.
        """
        self._check_sizes(said)
        self.seq, self.last = last.seq, last
        self.rounds, self.told = said["rounds"], said["told"]
        self.arms[:], self.live = said["arms"], said["live"]
        self._moved = len(self.live) < len(self.arms)
        self.mind = Mind(self.head, self.head.facts | said["facts"])
        self.mind.restore(mind)
        width = HEAD.size + self.width
        cut = [rows[at : at + width] for at in range(0, len(rows), width)]
        for row in cut:
            self.checker.check_pending(row)
        self.open = dict(zip(said["open"], cut, strict=True))
        self.returned, self.renewed = dict.fromkeys(said["returned"]), said["renewed"]
        if self._round is not None:
            self._round.resume(said["round"])

    def _check_sizes(self, said: Mapping[str, Any]) -> None:
        """Refuse a snapshot of other arms, or with more memory, than there can be."""
        arms, live, sizes = said["arms"], said["live"], said["facts"]
        for name in ("rounds", "told"):
            integer(name, said[name], Range(ge=0, le=2**53))
        distinct("arms", [line("arm", arm) for arm in arms])
        for arm in distinct("live", live):
            integer("an arm of live", arm, Range(ge=0, lt=len(arms)))
        own = self.mind.sizes | {"arms": len(live)}
        if "memory" in own:  # it is doubled until there is room for what has been told
            most = 2 * (own["memory"] + said["told"])
            own["memory"] = integer("memory", sizes["memory"], Range(ge=own["memory"], le=most))
        if sizes != own:
            raise ValueError(f"sizes must be {own}, got {sizes}")
        for name in ("returned", "renewed"):
            if missing := set(said[name]) - set(said["open"]):
                raise ValueError(f"{name} must be pending, got {shown(min(missing))}")
        for rounds in said["renewed"].values():
            integer("renewed", rounds, Range(ge=0, le=said["rounds"]))

    def report(self) -> Any:
        """Return what the policy recommends, in words."""
        self._catch_up()
        return self.terms.reported(self.mind.report(), self.live)


def _decision(event: Row) -> str:
    assert event.decision is not None
    return event.decision
