"""The summary of a study: as text, as charts, and as a page to be shown to others."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from keyhole.durations import format_duration
from keyhole.pages.line_chart import Axis, Curve, LineChart
from keyhole.pages.notebook_html import text_table
from keyhole.pages.page import Answer, Page, PageBlock, Section, Table, Text
from keyhole.study import arm_means, events
from keyhole.study.arm_means import DecisionCounts, ToldValues
from keyhole.study.state import State
from keyhole.text_formatting import capitalize, count_text
from keyhole.validation import check_choice, short_repr

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_EVENTS: Final = 200_000
"""The most unread events that a summary reads; more would take many seconds."""
Shown = Literal["decisions", "mean"]

_MAX_LIST_LENGTH: Final = 5  # in a line of text
_MAX_TEXT_ROWS: Final = 12  # of the table by arm
_MAX_PAGE_ROWS: Final = 200
_MAX_CURVES: Final = 8
_MAX_POINTS: Final = 1000  # of a curve: more cannot be seen, and make the file large
_QUANTILES: Final = {"half within": 0.5, "90 % within": 0.9, "99 % within": 0.99, "all within": 1.0}
_UNITS: Final = {"seconds": 1.0, "minutes": 60.0, "hours": 3600.0, "days": 86400.0}
_HIDDEN: Final = ("stream", "head")  # values of events that the table leaves out


def describe_policy(state: State) -> dict[str, str]:
    """Return texts by name: the recommendation and, if the policy can stop, the settled arms."""
    policy = state.definition.policy
    vocabulary = policy.vocabulary_class
    texts = {}
    if vocabulary is not None and vocabulary.has_recommendation():
        texts["recommended"] = state.vocabulary.describe_recommendation(state.recommend())
    if policy.verdicts:
        settled = state.settled_names()
        arm_count = len(state.arms.names_in_use)
        ending = "; done" if len(settled) == arm_count else ""
        arms = f"{len(settled)} of {count_text(arm_count, 'arm')}{ending}"
        texts["settled"] = f"{arms} ({policy.guarantee().text})"
        for verdict in sorted(set(settled.values())):
            names = [name for name, arm_verdict in settled.items() if arm_verdict == verdict]
            texts[f"settled {verdict}"] = _shorten_list(names)
    return texts


def summarize(counts: DecisionCounts, policy_texts: Mapping[str, str] | None) -> dict[str, str]:
    """Return the summary as texts by name.

    `policy_texts` is the result of `describe_policy`, or None if the policy has not learnt the log
    in this process.
    """
    vocabulary = counts.policy.vocabulary_class
    last_event = "none yet"
    if counts.times:
        last_event = f"{datetime.fromtimestamp(counts.times[-1], UTC):%Y-%m-%d %H:%M:%S} UTC"
    if policy_texts is None and vocabulary and vocabulary.has_recommendation():
        policy_texts = {"recommended": "not computed yet; recommend() does it"}
    pending = f"{len(counts.pending):,}"
    if counts.to_ask_again:
        pending += f" ({len(counts.to_ask_again):,} to ask again)"
    texts = {
        "setting": counts.policy.setting.name,
        "policy": repr(counts.policy),
        "arms": f"{len(counts.arms.numbers_in_use):,}",
        "decisions": f"{len(counts.asked_arms):,}",
        "told": f"{counts.feedback_count:,}",
        "pending decisions": pending,
        "expired": f"{counts.expiry_count:,}",
        "last event": last_event,
    } | dict(policy_texts or {})
    if arms := arm_means.arms_without_feedback(counts):
        texts["no feedback yet"] = _shorten_list(arms)
    if counts.feedback_count and (chances := arm_means.best_chances(counts)):
        texts["chance to be best"] = _chances_text(chances, len(counts.pending))
    return texts


def _chances_text(chances: Mapping[str, float], pending_count: int) -> str:
    """Return the highest chances in a line, with their meaning."""
    highest = sorted(chances.items(), key=lambda item: -item[1])
    arm_chances = _shorten_list([f"{arm} {100 * chance:.1f} %" for arm, chance in highest])
    source = "by the policy's posterior of these means"
    if pending_count:
        source += f", without {count_text(pending_count, 'pending decision')}"
    return f"{arm_chances} ({source}; no error rate is guaranteed)"


def _shorten_list(texts: Sequence[str]) -> str:
    """Return the first texts, separated by commas, and how many more there are."""
    shown_texts = list(texts[:_MAX_LIST_LENGTH])
    if len(texts) > _MAX_LIST_LENGTH:
        shown_texts.append(f"{len(texts) - _MAX_LIST_LENGTH:,} more")
    return ", ".join(shown_texts)


def summary_text(title: str, policy_texts: Mapping[str, str] | None, counts: DecisionCounts) -> str:
    """Return the summary as lines of text, with the table by arm."""
    lines = [format_texts(title, summarize(counts, policy_texts))]
    if counts.has_single_arm_decisions:
        lines.append(text_table(*arm_table_cells(counts, _MAX_TEXT_ROWS)))
    return "\n".join([*lines, _explain_means(counts)]).rstrip()


def format_texts(title: str, texts: Mapping[str, str]) -> str:
    """Return a title and texts by name, each on a line."""
    return "\n".join([title, *(f"  {name}: {text}" for name, text in texts.items())])


def _explain_means(counts: DecisionCounts) -> str:
    """Return a text on the intervals of means; "" if nothing was told."""
    has_feedback = counts.feedback_count or counts.told_sums
    return arm_means.explain_intervals(counts) if has_feedback else ""


def arm_table_cells(counts: DecisionCounts, max_rows: int) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of a table by arm: decisions, told, and the mean of each field.

    The table has the `max_rows` arms with the most decisions.
    """
    columns = {"decisions": counts.asked_counts, "told": counts.told_counts}
    if counts.assumed_counts.total():
        columns["of these assumed"] = counts.assumed_counts
    fields = list(counts.told_values)
    means = arm_means.arm_means(counts)
    rows = []
    for arm in _most_asked_arms(counts, max_rows):
        arm_name = counts.arms.names[arm]
        cells = [f"{column[arm]:,}" for column in columns.values()]
        rows.append([arm_name, *cells, *(str(means[arm_name].get(field, "")) for field in fields)])
    head = ["arm", *columns, *(f"mean {field}" for field in fields)]
    if len(means) > max_rows:
        rows.append([f"... and {len(means) - max_rows:,} more", *("" for _ in head[1:])])
    return head, rows


def _most_asked_arms(counts: DecisionCounts, count: int) -> list[int]:
    """Return the numbers of the `count` arms with the most decisions, in ascending order."""
    asked_counts = np.array([counts.asked_counts[arm] for arm in range(len(counts.arms.names))])
    return sorted(np.argsort(-asked_counts, kind="stable")[:count].tolist())


def draw_plot(counts: DecisionCounts, shows: Shown, axes: "Axes | None") -> "Axes":
    """Draw the chart of the arms, on a new figure if `axes` is None."""
    from keyhole.pages.matplotlib_chart import plot_chart

    check_choice("shows", shows, ("decisions", "mean"))
    # Before the first decision the plot is empty: it is not known yet what decisions are about.
    if len(counts.asked_arms) and not counts.has_single_arm_decisions:
        raise TypeError(
            f"a study of {counts.policy} has no plot: its decisions are not about one arm each"
        )
    return plot_chart(arm_chart(counts, shows), axes)


def arm_chart(counts: DecisionCounts, shows: Shown) -> LineChart:
    """Return the chart of the arms with the most decisions: their decisions, or their means."""
    arms = _most_asked_arms(counts, _MAX_CURVES)
    if shows == "decisions":
        curves = [_decision_curve(counts, arm) for arm in arms]
        axis = Axis(title="decisions of the arm", low=0.0)
    else:
        told_values = counts.told_values
        field = next((name for name in told_values if name not in counts.flag_names), "feedback")
        values = told_values.get(field, {})
        curves = [_mean_curve(counts, arm, field, values[arm]) for arm in arms if arm in values]
        axis = _mean_axis(field, curves)
    caption = f"The {axis.title} so far."
    end = max(1, len(counts.asked_arms))
    x_axis = Axis(title="decision", low=0, high=end)
    return LineChart(
        id="arms", x=x_axis, y=axis, curves=curves, alt=caption, caption=caption, by_position=True
    )


def _decision_curve(counts: DecisionCounts, arm: int) -> Curve:
    """Return the curve of an arm's number of decisions over the number of all decisions."""
    # The arm's decision number n raises the curve to n, so a position in `rises` is a count.
    rises = np.append(0, np.flatnonzero(np.array(counts.asked_arms) == arm) + 1)
    positions = _spread_positions(len(rises))
    return Curve(
        label=counts.arms.names[arm],
        x=[*rises[positions].tolist(), len(counts.asked_arms)],
        y=[*positions, len(rises) - 1],
        steps=True,
    )


def _mean_curve(counts: DecisionCounts, arm: int, field: str, told_values: ToldValues) -> Curve:
    """Return the curve of the mean of a field of an arm's feedback, with its intervals."""
    totals = np.cumsum(told_values.values)
    positions = _spread_positions(len(totals))
    positions.append(positions[-1])  # the curve goes on to the last decision
    means = [arm_means.make_mean(counts, field, i + 1, float(totals[i])) for i in positions]
    low, high = zip(*(mean.interval or (math.nan, math.nan) for mean in means), strict=True)
    return Curve(
        label=counts.arms.names[arm],
        x=[*(told_values.steps[i] for i in positions[:-1]), len(counts.asked_arms)],
        y=[mean.mean for mean in means],
        low=low,
        high=high,
        steps=True,
    )


def _spread_positions(count: int) -> list[int]:
    """Return evenly spread positions from 0 to ``count - 1``, at most `_MAX_POINTS`."""
    positions = np.linspace(0, count - 1, min(count, _MAX_POINTS)).round()
    return [int(position) for position in positions]


def _mean_axis(field: str, curves: Sequence[Curve]) -> Axis:
    """Return the axis of means; it fits the last means, and early means may lie outside."""
    title = f"mean {field}"
    means = [curve.y[-1] for curve in curves]
    widths = [curve.high[-1] - curve.low[-1] for curve in curves if curve.low and curve.high]
    margin = np.ptp(means or [0.0])
    if np.isfinite(widths).any():
        margin = np.nanmedian(widths)
    if margin == 0.0:
        return Axis(title=title)
    values = [value for curve in curves for value in (*curve.y, *(curve.low or ()))]
    # The axis does not begin below the lowest value.
    return Axis(
        title=title, low=max(np.nanmin(values), min(means) - margin), high=max(means) + margin
    )


# The page.


def make_page(name: str, policy_texts: Mapping[str, str], counts: DecisionCounts) -> Page:
    """Return the page of a study; `policy_texts` is the result of `describe_policy`."""
    texts = summarize(counts, policy_texts)
    beside: list[PageBlock] = [Text(_explain_means(counts) or "No feedback was told yet.")]
    if counts.has_single_arm_decisions:
        beside.append(arm_chart(counts, "mean" if counts.told_values else "decisions"))
        cells = arm_table_cells(counts, _MAX_PAGE_ROWS)
        beside.append(Table("Decisions and feedback by arm", *cells))
    return Page(
        title=name,
        answer=[_answer_block(counts, texts)],
        figures=_decision_count_charts(counts) if counts.times else [],
        beside=beside,
        sections=[
            Section("waiting", "Pending decisions and delays", _pending_blocks(counts)),
            Section("events", "Last events", [_events_table(counts)]),
            Section("study", "The study", [Table("State", ["", ""], [*map(list, texts.items())])]),
        ],
    )


def _answer_block(counts: DecisionCounts, texts: Mapping[str, str]) -> Answer:
    """Return the recommendation, and verdicts or chances as a measure of its certainty."""
    decisions = count_text(len(counts.asked_arms), "decision")
    note = f"{decisions} so far, {len(counts.pending):,} of them pending."
    # Verdicts have a guarantee and chances have none, so chances are shown only without verdicts.
    name = "settled" if "settled" in texts else "chance to be best"
    if name in texts:
        note += f" {capitalize(name)}: {texts[name]}."
    if "recommended" not in texts:
        return Answer(note)
    if not counts.feedback_count and not counts.told_sums:
        return Answer("Nothing has been told yet.", note)
    return Answer(f"Recommended: {texts['recommended']}", note)


def _decision_count_charts(counts: DecisionCounts) -> list[PageBlock]:
    """Return the charts of decisions and of pending decisions over time."""
    begin = min(counts.times)
    seconds = np.array(counts.times) - begin
    unit, unit_seconds = next(
        ((name, size) for name, size in reversed(_UNITS.items()) if seconds.max() >= 2.0 * size),
        ("seconds", 1.0),
    )
    # Clocks of several machines may differ a little, but a curve must not go back to the left.
    x = np.maximum.accumulate(seconds) / unit_seconds
    points = _spread_positions(len(x))
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
    waits = [format_duration(rule.timeout)] if rule.timeout else []
    if rule.timeout_decisions:
        waits.append(f"{rule.timeout_decisions:,} later decisions")
    expiry = "Decisions never expire by themselves."
    if waits:
        expiry = f"A decision expires after {' or '.join(waits)} (on_timeout={rule.on_timeout!r})."
    blocks: list[PageBlock] = [Text(" ".join([*sentences, expiry]))]
    if counts.delays:
        delays = np.quantile(np.array(counts.delays), list(_QUANTILES.values()))
        rows = [*zip(_QUANTILES, map(format_duration, delays.tolist()), strict=True)]
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
            f"{name} {_as_text(event_words[name])}" for name in event_words if name not in _HIDDEN
        )
        time_text = f"{datetime.fromtimestamp(event.at, UTC):%Y-%m-%d %H:%M:%S}"
        rows.append([f"{event.seq:,}", time_text, event_kind.name, ", ".join(texts)])
    caption = f"The last {arm_means.MAX_LAST_EVENTS} events"
    return Table(caption, ["event", "time (UTC)", "kind", "what"], rows)


def _as_text(value: object) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.6g}"
    return value if isinstance(value, str) else short_repr(value)
