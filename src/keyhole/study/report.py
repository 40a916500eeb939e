"""The page of a study: what it recommends, how sure that is, and what happens in it."""

import math
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Final

import numpy as np

from keyhole.durations import format_duration
from keyhole.pages.line_chart import Axis, Curve, LineChart
from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, Text
from keyhole.study import arm_means, events
from keyhole.study.arm_means import DecisionCounts
from keyhole.study.study_summary import arm_chart, arm_table, explain_means, summary_rows
from keyhole.text_formatting import count_text
from keyhole.validate import short_repr

_NOTHING_TOLD: Final = "No feedback was told yet."
_MAX_POINTS: Final = 500  # of a curve
_MAX_ARMS: Final = 200  # with a row each
_QUANTILES: Final = {"half within": 0.5, "90 % within": 0.9, "99 % within": 0.99, "all within": 1.0}
_UNITS: Final = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}
_LEFT_OUT: Final = ("stream", "head")  # of the words of events


def make_page(name: str, policy_texts: Mapping[str, str], counts: DecisionCounts) -> Page:
    """Return the page of a study; `policy_texts` are those that `learnt_texts` returns."""
    beside: list[PageBlock] = [Text(explain_means(counts) or _NOTHING_TOLD)]
    if counts.has_single_arm_decisions:
        beside.append(arm_chart(counts, "mean" if counts.numbers else "decisions"))
        beside.append(Table("Decisions and feedback by arm", *arm_table(counts, _MAX_ARMS)))
    rows = summary_rows(counts, policy_texts)
    return Page(
        title=name,
        answer=[_answer(counts, policy_texts)],
        figures=_count_charts(counts) if counts.times else [],
        beside=beside,
        sections=[
            Section("waiting", "Pending decisions and delays", _pending_blocks(counts)),
            Section("events", "Last events", [_events_table(counts)]),
            Section("study", "The study", [Table("State", ["", ""], rows)]),
        ],
    )


def _answer(counts: DecisionCounts, policy_texts: Mapping[str, str]) -> Answer:
    """Return the recommendation, and how sure it is."""
    asked = count_text(len(counts.asked), "decision")
    note = f"{asked} so far, {len(counts.pending):,} of them pending."
    if "settled" in policy_texts:
        note += f" Settled: {policy_texts['settled']}."
    elif counts.feedback_count and (chances := arm_means.best_chances(counts)):
        note += f" Chance to be best: {arm_means.chances_text(chances, len(counts.pending))}."
    if "recommended" not in policy_texts:
        return Answer(note)
    if not counts.feedback_count and not counts.told_sums:
        return Answer("Nothing has been told yet.", note)
    return Answer(f"Recommended: {policy_texts['recommended']}", note)


def _count_charts(counts: DecisionCounts) -> list[PageBlock]:
    """Return the charts of decisions and of pending ones over time."""
    begin = min(counts.times)
    seconds = np.array(counts.times) - begin
    unit, unit_seconds = next(
        (unit for unit in reversed(_UNITS.items()) if seconds.max() >= 2.0 * unit[1]),
        ("seconds", 1.0),
    )
    # Clocks of several machines may differ a little. A curve must still not go back to the left.
    x = np.maximum.accumulate(seconds) / unit_seconds
    points = np.unique(np.linspace(0, len(x) - 1, _MAX_POINTS).round().astype(np.int64))
    x_axis = Axis(title=f"{unit} since {datetime.fromtimestamp(begin, UTC):%Y-%m-%d %H:%M} UTC")
    charts: list[PageBlock] = []
    for label, title, values, height in (
        ("decisions", "decisions so far", counts.rounds_by_event, 220),
        ("pending", "pending decisions", counts.pending_by_event, 110),
    ):
        y = np.array(values)[points].tolist()
        curve = Curve(label=label, x=x[points].tolist(), y=y, steps=True)
        caption = f"The number of {title} over time."
        chart = LineChart(
            id=label, x=x_axis, y=Axis(title=title, low=0.0), curves=[curve], alt=caption,
            caption=caption, height=height,
        )  # fmt: skip
        charts.append(chart)
    return charts


def _pending_blocks(counts: DecisionCounts) -> list[PageBlock]:
    """Return how many decisions are pending and when they expire, and how long feedback took."""
    rule = counts.definition.rule
    pending = count_text(len(counts.pending), "decision")
    sentences = [f"{pending} pending; {counts.expiry_count:,} expired so far."]
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
    if counts.delays:
        delays = np.quantile(np.array(counts.delays), list(_QUANTILES.values()))
        rows = [
            [name, format_duration(float(seconds))]
            for name, seconds in zip(_QUANTILES, delays, strict=True)
        ]
        caption = f"Delays of feedback, of {count_text(len(counts.delays), 'decision')}"
        blocks.append(Table(caption, ["share", "delay"], rows))
    return blocks


def _events_table(counts: DecisionCounts) -> Table:
    """Return the table of the last events, the last one first."""
    rows = []
    for event, decision_row in reversed(counts.last_events):
        event_kind = events.KINDS[event.kind]
        event_words = event_kind.format_body(counts, event, decision_row)
        texts = (
            f"{name} {_text(event_words[name])}" for name in event_words if name not in _LEFT_OUT
        )
        time = f"{datetime.fromtimestamp(event.at, UTC):%Y-%m-%d %H:%M:%S}"
        rows.append([f"{event.seq:,}", time, event_kind.name, ", ".join(texts)])
    caption = f"The last {arm_means.LAST_EVENT_COUNT} events"
    return Table(caption, ["event", "time (UTC)", "kind", "what"], rows)


def _text(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return value if isinstance(value, str) else short_repr(value)
