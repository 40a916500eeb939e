"""The summary of a study in notebooks and `print`: its state in a table, each arm, and a plot."""

import math
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from keyhole.pages.line_chart import Axis, Curve, LineChart
from keyhole.pages.notebook_html import chart_html, notebook_html, text_table
from keyhole.pages.page import Table
from keyhole.study import arm_means
from keyhole.study.arm_means import DecisionCounts, ToldNumbers, explain_intervals
from keyhole.study.state import State
from keyhole.text_formatting import count_text
from keyhole.validate import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_EVENTS: Final = 200_000
"""The most events that a summary reads anew, since more take many seconds."""
_MAX_ROWS: Final = 12

Shown = Literal["decisions", "mean"]
SHOWN: Final = ("decisions", "mean")
_MAX_CURVES: Final = 8
_MAX_POINTS: Final = 1000  # of a curve: more cannot be seen, and make a large file


def summary_rows(counts: DecisionCounts, policy_texts: Mapping[str, str] | None) -> list[list[str]]:
    """Return the summary as rows, each of a name and a value.

    `policy_texts` has the values that only the policy knows, such as its recommendation, by the
    name of the row. It is None if the policy has not learnt the log in this process.
    """
    vocabulary = counts.policy.vocabulary_class
    last_event = "none yet"
    if counts.times:
        last_event = f"{datetime.fromtimestamp(counts.times[-1], UTC):%Y-%m-%d %H:%M:%S} UTC"
    if policy_texts is None and vocabulary and vocabulary.has_recommendation():
        policy_texts = {"recommended": "not computed yet; recommend() does it"}
    rows = [
        ["setting", counts.policy.setting.name],
        ["policy", repr(counts.policy)],
        ["arms", f"{len(counts.arms.live):,}"],
        ["decisions", f"{len(counts.asked):,}"],
        ["told", f"{counts.feedback_count:,}"],
        ["pending decisions", f"{len(counts.pending):,}"],
        ["expired", f"{counts.expiry_count:,}"],
        ["last event", last_event],
        *([name, text] for name, text in (policy_texts or {}).items()),
    ]
    if counts.feedback_count and (chances := arm_means.best_chances(counts)):
        rows.append(["chance to be best", arm_means.chances_text(chances, len(counts.pending))])
    return rows


def learnt_texts(state: State) -> dict[str, str]:
    """Return the recommendation as text; for a policy that can stop, also how much is settled."""
    policy = state.definition.policy
    vocabulary = policy.vocabulary_class
    texts = {}
    if vocabulary is not None and vocabulary.has_recommendation():
        texts["recommended"] = state.vocabulary.describe_recommendation(state.recommend())
    if policy.verdicts:
        arms = len(state.arms.names_in_use)
        texts["settled"] = progress_text(policy, state.settled_names(), arms)
    return texts


def progress_text(policy: Any, settled: Mapping[str, str], arms: int) -> str:
    """Return how many arms are settled, and the guarantee of the policy's verdicts."""
    ending = "; done" * (len(settled) == arms)
    return f"{len(settled)} of {count_text(arms, 'arm')}{ending} ({policy.guarantee().text})"


def summary_text(title: str, policy_texts: Mapping[str, str] | None, counts: DecisionCounts) -> str:
    """Return the summary as lines of text."""
    state = [f"  {name}: {value}" for name, value in summary_rows(counts, policy_texts)]
    return "\n".join([title, *state, means_text(counts)]).rstrip()


def means_text(counts: DecisionCounts) -> str:
    """Return the table by arm as text; empty where decisions are not about one arm each."""
    if not counts.has_single_arm_decisions:
        return ""
    return "\n".join(filter(None, (text_table(*arm_table(counts)), explain_means(counts))))


def explain_means(counts: DecisionCounts) -> str:
    """Return a text on the intervals of means; "" if nothing was told."""
    return explain_intervals(counts) if counts.feedback_count or counts.told_sums else ""


def summary_html(title: str, policy_texts: Mapping[str, str] | None, counts: DecisionCounts) -> str:
    """Return the summary as HTML, with the plot of the decisions by arm."""
    tables = [Table(title, ["", ""], summary_rows(counts, policy_texts))]
    picture = ""
    if counts.has_single_arm_decisions:
        picture = chart_html(arm_chart(counts, "decisions"))
        text = f"Decisions and feedback by arm. {explain_means(counts)}".rstrip()
        tables.append(Table(text, *arm_table(counts)))
    return notebook_html(tables, picture)


def arm_table(
    counts: DecisionCounts, max_rows: int = _MAX_ROWS
) -> tuple[list[str], list[list[str]]]:
    """Return head and rows of the table by arm, of the arms with the most decisions."""
    head, rows = arm_means.arm_table(counts)
    if len(rows) <= max_rows:
        return head, rows
    remainder = [f"... and {len(rows) - max_rows:,} more", *("" for _ in head[1:])]
    return head, [*(rows[arm] for arm in _most_asked_arms(counts, max_rows)), remainder]


def _most_asked_arms(counts: DecisionCounts, count: int) -> list[int]:
    """Return the arms with the most decisions, in the order of their numbers."""
    asked = np.array([counts.asked_counts[arm] for arm in range(len(counts.arms.names))])
    return sorted(np.argsort(-asked, kind="stable")[:count].tolist())


def draw_plot(counts: DecisionCounts, shows: Shown, axes: "Axes | None") -> "Axes":
    """Draw the chart of the arms, on a new figure if need be."""
    from keyhole.pages.matplotlib_chart import plot_chart

    check_choice("shows", shows, SHOWN)
    # Before the first decision, when this is not known yet, the plot is empty.
    if len(counts.asked) and not counts.has_single_arm_decisions:
        raise TypeError(
            f"a study of {counts.policy} has no plot: its decisions are not about one arm each"
        )
    return plot_chart(arm_chart(counts, shows), axes)


def arm_chart(counts: DecisionCounts, shows: Shown) -> LineChart:
    """Return the chart of the decisions of each arm so far, or of the mean of its feedback.

    It has the arms with the most decisions.
    """
    arms = _most_asked_arms(counts, _MAX_CURVES)
    if shows == "decisions":
        curves = [_decision_curve(counts, arm) for arm in arms]
        axis = Axis(title="decisions of the arm", low=0.0)
    else:
        name = next((name for name in counts.numbers if name not in counts.flag_names), "feedback")
        numbers = counts.numbers.get(name, {})
        curves = [_mean_curve(counts, arm, name, numbers[arm]) for arm in arms if arm in numbers]
        axis = _mean_axis(name, curves)
    caption = f"The {axis.title} so far."
    end = max(1, len(counts.asked))
    x_axis = Axis(title="decision", low=0, high=end)
    return LineChart(
        id="arms", x=x_axis, y=axis, curves=curves, alt=caption, caption=caption, by_position=True
    )


def _decision_curve(counts: DecisionCounts, arm: int) -> Curve:
    """Return the curve of the number of an arm's decisions, over the number of all decisions."""
    steps = np.append(0, np.flatnonzero(np.array(counts.asked) == arm) + 1)
    positions = _spread_positions(len(steps))
    return Curve(
        label=counts.arms.names[arm],
        x=[*steps[positions].tolist(), len(counts.asked)],
        y=[*positions, len(steps) - 1],  # the position of a step is the count after it
        steps=True,
    )


def _mean_curve(counts: DecisionCounts, arm: int, name: str, numbers: ToldNumbers) -> Curve:
    """Return the curve of the mean of a number in the feedback of an arm, with its intervals."""
    totals = np.cumsum(numbers.values)
    positions = _spread_positions(len(totals))
    positions.append(positions[-1])  # the last mean goes on to the end
    means = [arm_means.make_mean(counts, name, i + 1, float(totals[i])) for i in positions]
    low, high = zip(*(mean.interval or (math.nan, math.nan) for mean in means), strict=True)
    steps = [numbers.steps[i] for i in positions[:-1]]
    return Curve(
        label=counts.arms.names[arm],
        x=[*steps, len(counts.asked)],
        y=[mean.mean for mean in means],
        low=low,
        high=high,
        steps=True,
    )


def _spread_positions(count: int) -> list[int]:
    """Return evenly spread positions among `count` points, at most as many as can be seen."""
    positions = np.linspace(0, count - 1, min(count, _MAX_POINTS)).round()
    return [int(position) for position in positions]


def _mean_axis(name: str, curves: Sequence[Curve]) -> Axis:
    """Return the axis of means; it fits the last means, so that early ones may lie outside."""
    title = f"mean {name}"
    means = [curve.y[-1] for curve in curves]
    widths = [curve.high[-1] - curve.low[-1] for curve in curves if curve.low and curve.high]
    margin = np.ptp(means or [0.0])
    if np.isfinite(widths).any():
        margin = np.nanmedian(widths)
    if margin == 0.0:
        return Axis(title=title)
    values = [value for curve in curves for value in (*curve.y, *(curve.low or ()))]
    return Axis(
        title=title, low=max(np.nanmin(values), min(means) - margin), high=max(means) + margin
    )
