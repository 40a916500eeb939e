"""The page of a study: what it recommends, how sure that is, and what happens in it."""

import math
from array import array
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, ClassVar, Final

import numpy as np

from keyhole.durations import format_duration
from keyhole.pages.line_chart import Axis, Curve, LineChart
from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, Text
from keyhole.study import arm_means, events
from keyhole.study.arm_means import ArmMean, DecisionCounts
from keyhole.study.log_export import EventFormatter
from keyhole.study.storage import Row
from keyhole.study.study_summary import explain_means, summary_rows
from keyhole.text_formatting import count_text
from keyhole.validate import short_repr

if TYPE_CHECKING:
    from keyhole.study.study import Study

_LAST_EVENTS: Final = 20
_UNTOLD: Final = "No feedback was told yet."
_MAX_POINTS: Final = 500  # of a curve
_MAX_ARMS: Final = 200  # with a row each
_QUANTILES: Final = {"half within": 0.5, "90 % within": 0.9, "99 % within": 0.99, "all within": 1.0}
_UNITS: Final = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}
_TOLD: Final = (events.TOLD, events.TOLD_LATE, events.TOLD_TOO_LATE)
_LEFT_OUT: Final = ("seq", "at", "event", "decision", "stream", "head", "key")


class Timeline:
    """What a page shows of the log's course: times, delays and the last events.

    Attributes
    ----------
    seq : int
        The number of the last event.
    times : array of float
        The time of each event, in seconds since 1970.
    asked, pending : array of int
        How many decisions there were after each event, and how many of them were pending.
    delays : array of float
        Seconds from each decision that was told to its feedback.
    last_events : deque of dict
        The last events as named values.
    """

    def __init__(self, study: "Study") -> None:
        self._formatter = EventFormatter(study.definition)
        self._asks_again = study.definition.rule.on_timeout == "ask_again"
        self._asked_at: dict[str, float] = {}
        self.seq = 0
        self.times = array("d")
        self.asked = array("q")
        self.pending = array("q")
        self.delays = array("d")
        self.last_events: deque[dict[str, Any]] = deque(maxlen=_LAST_EVENTS)

    def read(self, study: "Study") -> None:
        """Read the events that are new."""
        for row in study.log(after=self.seq):
            self._add(row)

    def _add(self, row: Row) -> None:
        self.last_events.append(self._formatter.words(row))
        self.seq = row.seq
        id = str(row.decision)
        if row.kind in (events.ASKED, events.ASKED_AGAIN):
            self._asked_at[id] = row.at
        elif row.kind in _TOLD or (row.kind == events.EXPIRED and not self._asks_again):
            asked_at = self._asked_at.pop(id, None)
            if asked_at is not None and row.kind in _TOLD:
                self.delays.append(max(0.0, row.at - asked_at))
        self.times.append(row.at)
        self.asked.append(len(self._formatter.asked))
        self.pending.append(len(self._asked_at))


@dataclass(frozen=True)
class ArmRow:
    """An arm, and its mean with an interval in per cent of the axis."""

    name: str
    told: str
    mean: str
    begin: float | None = None
    width: float = 0.0
    at: float | None = None


@dataclass(frozen=True)
class ArmsBlock:
    """Block with the mean of each arm, and its interval as a bar."""

    caption: str
    word: str
    rows: Sequence[ArmRow]
    low: str
    high: str
    template: ClassVar[str] = "study/templates/arms.html.j2"


def make_page(
    name: str, timeline: Timeline, texts: Mapping[str, str], counts: DecisionCounts
) -> Page:
    """Return the page of a study, given what was read of its log, and what the policy knows."""
    rows = summary_rows(counts, texts)
    return Page(
        title=name,
        answer=[_answer(counts, texts)],
        figures=_course_charts(timeline) if timeline.times else [],
        beside=[_arms_block(counts)]
        if counts.has_arms
        else [Text(explain_means(counts) or _UNTOLD)],
        sections=[
            Section("waiting", "Pending decisions and delays", _waiting_blocks(counts, timeline)),
            Section("events", "Last events", [_events_table(timeline)]),
            Section("study", "The study", [Table("State", ["", ""], rows)]),
        ],
    )


def _answer(counts: DecisionCounts, texts: Mapping[str, str]) -> Answer:
    """Return the recommendation, and how sure it is."""
    asked = count_text(len(counts.asked), "decision")
    note = f"{asked} so far, {len(counts.pending):,} of them pending."
    if "settled" in texts:
        note += f" Settled: {texts['settled']}."
    elif counts.feedback_count and (chances := arm_means.best_chances(counts)):
        note += f" Chance to be best: {arm_means.chances_text(chances, len(counts.pending))}."
    if "recommended" not in texts:
        return Answer(note)
    if not counts.feedback_count and not counts.told_sums:
        return Answer("Nothing has been told yet.", note)
    return Answer(f"Recommended: {texts['recommended']}", note)


def _course_charts(timeline: Timeline) -> list[PageBlock]:
    """Return the charts of decisions and of pending ones over time."""
    times = np.array(timeline.times) - min(timeline.times)
    unit, seconds = next(
        (unit for unit in reversed(_UNITS.items()) if times.max() >= 2.0 * unit[1]),
        ("seconds", 1.0),
    )
    # Clocks of several machines may differ a little: a curve goes on to the right.
    x = np.maximum.accumulate(times) / seconds
    chosen = np.unique(np.linspace(0, len(x) - 1, _MAX_POINTS).round().astype(np.int64))
    begin = datetime.fromtimestamp(min(timeline.times), UTC)
    return [
        LineChart(
            id=label,
            x=Axis(title=f"{unit} since {begin:%Y-%m-%d %H:%M} UTC"),
            y=Axis(title=title, low=0.0),
            curves=[
                Curve(label=label, x=x[chosen].tolist(), y=np.array(values)[chosen].tolist(),
                      steps=True),
            ],
            alt=f"The number of {title} over time",
            caption=f"The number of {title} over time.",
            height=height,
        )
        for label, title, values, height in (
            ("decisions", "decisions so far", timeline.asked, 220),
            ("pending", "pending decisions", timeline.pending, 110),
        )
    ]  # fmt: skip


def _arms_block(counts: DecisionCounts) -> ArmsBlock:
    """Return the mean of each arm with its interval; of many arms those with most decisions."""
    means = arm_means.arm_means(counts)
    word = counts.interval_word or next(iter(counts.numbers.keys() - counts.flags), "feedback")
    decisions = counts.asked_counts
    numbers = sorted(counts.arms.live, key=lambda arm: -decisions[arm])[:_MAX_ARMS]
    by_arm = {arm: means.get(counts.arms.names[arm], {}).get(word) for arm in numbers}
    ends = [end for mean in by_arm.values() if mean for end in mean.interval or (mean.mean,)]
    low, high = min(ends, default=0.0), max(ends, default=1.0)
    rows = [_arm_row(counts, arm, by_arm[arm], low, high) for arm in sorted(numbers)]
    caption = explain_means(counts) or _UNTOLD
    if len(numbers) < len(counts.arms.live):
        caption = f"The {_MAX_ARMS} arms with the most decisions. {caption}"
    return ArmsBlock(caption, word, rows, f"{low:.3g}", f"{high:.3g}")


def _arm_row(
    counts: DecisionCounts, arm: int, mean: ArmMean | None, low: float, high: float
) -> ArmRow:
    name = counts.arms.names[arm]
    if mean is None:
        return ArmRow(name, "0", "")

    def place(value: float) -> float:
        return 100.0 * (value - low) / (high - low) if high > low else 50.0

    told = f"{mean.told:,}"
    if mean.interval is None:
        return ArmRow(name, told, str(mean), at=place(mean.mean))
    begin, end = map(place, mean.interval)
    return ArmRow(name, told, str(mean), begin, end - begin, place(mean.mean))


def _waiting_blocks(counts: DecisionCounts, timeline: Timeline) -> list[PageBlock]:
    """Return what is waited for, and how long feedback took."""
    rule = counts.definition.rule
    pending = count_text(len(counts.pending), "decision")
    sentences = [f"{pending} pending; {counts.expired:,} expired so far."]
    if counts.definition.pending == "wait" and counts.pending:
        sentences.append("The policy waits: it decides again once all feedback was told.")
    ends = [format_duration(rule.timeout)] if rule.timeout else []
    if rule.timeout_decisions:
        ends.append(f"{rule.timeout_decisions:,} later decisions")
    if ends:
        text = f"A decision expires after {' or '.join(ends)} (on_timeout={rule.on_timeout!r})."
        sentences.append(text)
    else:
        sentences.append("Decisions never expire by themselves.")
    blocks: list[PageBlock] = [Text(" ".join(sentences))]
    if timeline.delays:
        delays = np.quantile(np.array(timeline.delays), list(_QUANTILES.values()))
        rows = [
            [name, format_duration(float(seconds))]
            for name, seconds in zip(_QUANTILES, delays, strict=True)
        ]
        caption = f"Delays of feedback, of {count_text(len(timeline.delays), 'decision')}"
        blocks.append(Table(caption, ["share", "delay"], rows))
    return blocks


def _events_table(timeline: Timeline) -> Table:
    """Return the table of the last events, the last one first."""
    rows = [
        [
            f"{event['seq']:,}",
            f"{datetime.fromtimestamp(event['at'], UTC):%Y-%m-%d %H:%M:%S}",
            event["event"],
            ", ".join(
                f"{name} {_text(value)}" for name, value in event.items() if name not in _LEFT_OUT
            ),
        ]
        for event in reversed(timeline.last_events)
    ]
    return Table(f"The last {_LAST_EVENTS} events", ["event", "time (UTC)", "kind", "what"], rows)


def _text(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return value if isinstance(value, str) else short_repr(value)
