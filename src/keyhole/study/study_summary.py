"""The summary of a study in notebooks and `print`: its state in a table, each arm, and a plot."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.extras import has_extra
from keyhole.pages.notebook_html import notebook_html, picture_html, text_table
from keyhole.pages.page import Table
from keyhole.pages.policy_colours import add_legend, figure_size, matplotlib_styles
from keyhole.study import arm_means
from keyhole.study.arm_means import NO_NUMBERS, DecisionCounts, ToldNumbers, explain_intervals
from keyhole.study.state import State
from keyhole.text_formatting import count_text
from keyhole.validate import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_EVENTS: Final = 200_000
"""The most events that a summary reads anew: more take many seconds."""
_MAX_ROWS: Final = 12
_MAX_DRAWN: Final = 200  # arms: more take seconds, and are a grey heap

Shown = Literal["decisions", "mean"]
SHOWN: Final = ("decisions", "mean")
_MAX_NAMED: Final = 8
_MAX_STEPS: Final = 1000  # of a curve: more cannot be seen, and make a large file
_MARKER_GAP: Final = 0.15  # between markers of a curve, in diagonals of the axes
_MARGIN: Final = 0.05  # of the axis, beyond what must be seen
_OTHER_STYLE: Final[Any] = {"color": "#999999", "linewidth": 0.7, "zorder": 1.0}

Curve = tuple[IntArray, FloatArray]


def summary_rows(counts: DecisionCounts, policy_texts: Mapping[str, str] | None) -> list[list[str]]:
    """Return a table of two columns: setting, policy, arms, counts of decisions, last event.

    `policy_texts` has what only the policy knows, such as its recommendation, by the name of the
    row; None where the policy has not learnt the log in this process.
    """
    vocabulary = counts.policy.vocabulary_class
    last_event = "none yet"
    if counts.at:
        last_event = f"{datetime.fromtimestamp(counts.at, UTC):%Y-%m-%d %H:%M:%S} UTC"
    if policy_texts is None and vocabulary and vocabulary.has_recommendation():
        policy_texts = {"recommended": "not computed yet; recommend() does it"}
    rows = [
        ["setting", counts.policy.setting.name],
        ["policy", repr(counts.policy)],
        ["arms", f"{len(counts.arms.live):,}"],
        ["decisions", f"{len(counts.asked):,}"],
        ["told", f"{counts.feedback_count:,}"],
        ["pending decisions", f"{len(counts.pending):,}"],
        ["expired", f"{counts.expired:,}"],
        ["last event", last_event],
        *([name, text] for name, text in (policy_texts or {}).items()),
    ]
    if counts.feedback_count and (chances := arm_means.best_chances(counts)):
        rows.append(["chance to be best", arm_means.chances_text(chances, len(counts.pending))])
    return rows


def learnt_texts(state: State) -> dict[str, str]:
    """Return the recommendation as text, and for a policy that can stop what is settled."""
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
    if not counts.has_arms:
        return ""
    return "\n".join(filter(None, (text_table(*_arm_table(counts)), explain_means(counts))))


def explain_means(counts: DecisionCounts) -> str:
    """Return what the intervals of means are; "" where nothing was told."""
    return explain_intervals(counts) if counts.feedback_count or counts.told_sums else ""


def summary_html(title: str, policy_texts: Mapping[str, str] | None, counts: DecisionCounts) -> str:
    """Return the summary as HTML, with the plot of the decisions by arm unless arms are many."""
    tables = [Table(title, ["", ""], summary_rows(counts, policy_texts))]
    picture = ""
    if counts.has_arms:
        if len(counts.arms.names) <= _MAX_DRAWN and has_extra("plots"):
            from keyhole.pages.figure_files import blank_figure

            figure = blank_figure(*plot_size(counts))
            plot_decisions(counts, "decisions", figure.subplots())
            picture = picture_html(figure, "The number of decisions of each arm so far.")
        text = f"Decisions and feedback by arm. {explain_means(counts)}".rstrip()
        tables.append(Table(text, *_arm_table(counts)))
    return notebook_html(tables, picture)


def _arm_table(counts: DecisionCounts) -> tuple[list[str], list[list[str]]]:
    """Return the table by arm, of the arms with the most decisions."""
    head, rows = arm_means.arm_table(counts)
    if len(rows) <= _MAX_ROWS:
        return head, rows
    remainder = [f"... and {len(rows) - _MAX_ROWS:,} more", *("" for _ in head[1:])]
    return head, [*(rows[arm] for arm in sorted(order_arms(counts)[:_MAX_ROWS])), remainder]


def plot_decisions(counts: DecisionCounts, shows: Shown, axes: "Axes") -> "Axes":
    """Draw the decisions of each arm so far, or the mean of its feedback so far.

    The eight arms with the most decisions have colours, markers and names; the others are grey.
    """
    numbers = [name for name in counts.numbers if name not in counts.flags]
    name = next(iter(numbers), "feedback")
    told = counts.numbers.get(name, {})
    names = counts.arms.names
    order = order_arms(counts).tolist()
    named_arms, other_arms = order[:_MAX_NAMED], order[_MAX_NAMED:]
    curves = _decisions_by_arm(counts)
    axes.set_ylabel("decisions of the arm")
    if shows == "mean":
        curves = _means_by_arm(counts, told)
        axes.set_ylabel(f"mean {name}")
    # By position, since colours by name, as policies have them, may be alike for two of few arms.
    styles = matplotlib_styles([f"arm {position}" for position in range(len(named_arms))])
    intervals: list[tuple[float, float]] = []
    for rank, (arm, style) in enumerate(zip(sorted(named_arms), styles.values(), strict=True)):
        steps, heights = map(_thin_curve, curves[arm])
        marker_spacing = rank * _MARKER_GAP / _MAX_NAMED, _MARKER_GAP  # no marker covers another
        axes.step(steps, heights, where="post", label=names[arm], markevery=marker_spacing, **style)
        if shows == "mean" and name == counts.interval_word and len(steps):
            intervals.append(_fill_interval(counts, told[arm], axes, str(style["color"])))
    if other_arms:
        steps, heights = (
            np.concatenate([np.append(_thin_curve(curves[arm][i]), np.nan) for arm in other_arms])
            for i in (0, 1)
        )
        axes.step(steps, heights, where="post", label=f"{len(other_arms):,} others", **_OTHER_STYLE)
    axes.set_xlim(0, max(1, len(counts.asked)))
    axes.set_xlabel("decision")
    if shows == "mean":
        means = [curves[arm][1][-1] for arm in named_arms if len(curves[arm][1])]
        _fit_axis(axes, means, intervals)
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    add_legend(axes, *axes.get_legend_handles_labels())
    return axes


def _fit_axis(axes: "Axes", means: list[float], intervals: Sequence[tuple[float, float]]) -> None:
    """Fit the y axis to the last means, and to the narrower half of their intervals.

    Earlier means, and the wide intervals of arms with few decisions, may lie outside.
    """
    median = np.median([high - low for low, high in intervals]) if intervals else 0.0
    narrow_intervals = [interval for interval in intervals if interval[1] - interval[0] <= median]
    bottom = min(means + [low for low, _ in narrow_intervals], default=0.0)
    top = max(means + [high for _, high in narrow_intervals], default=0.0)
    if top > bottom:
        margin = (top - bottom) * (_MARGIN if narrow_intervals else 1.0)
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, bottom - margin), min(high, top + margin))


def plot_size(counts: DecisionCounts) -> tuple[float, float]:
    """Return width and height in inches of a figure of the plot."""
    return figure_size([counts.arms.names[arm] for arm in order_arms(counts)[:_MAX_NAMED]])


def order_arms(counts: DecisionCounts) -> IntArray:
    """Return the arms, those with the most decisions first."""
    asked = np.array([counts.asked_counts[arm] for arm in range(len(counts.arms.names))])
    return np.argsort(-asked, kind="stable")


def _thin_curve(values: Any) -> Any:
    """Return at most so many of the values of a curve as can be seen, evenly spread."""
    positions = np.linspace(0, len(values) - 1, min(len(values), _MAX_STEPS))
    return np.take(values, positions.round().astype(int))


def _decisions_by_arm(counts: DecisionCounts) -> list[Curve]:
    """Return by arm the numbers of its decisions, and how many it has had by then."""
    asked = np.array(counts.asked, np.int64)
    ends = np.cumsum(np.bincount(asked, minlength=len(counts.arms.names)))[:-1]
    by_arm = np.split(np.argsort(asked, kind="stable") + 1, ends)
    end = len(asked)
    return [
        _extend_to_end(np.append(0, steps), np.arange(len(steps) + 1.0), end) for steps in by_arm
    ]


def _means_by_arm(counts: DecisionCounts, told: Mapping[int, ToldNumbers]) -> list[Curve]:
    """Return by arm the decisions at which its feedback was told, and its mean by then."""
    curves = []
    for arm in range(len(counts.arms.names)):
        numbers = told.get(arm, NO_NUMBERS)
        means = np.cumsum(numbers.values) / np.arange(1, len(numbers.values) + 1)
        curves.append(_extend_to_end(np.array(numbers.steps, np.int64), means, len(counts.asked)))
    return curves


def _extend_to_end(steps: IntArray, heights: FloatArray, end: int) -> Curve:
    """Return a curve that goes on to the end at its last height; an empty one stays so."""
    return np.append(steps, [end] * bool(len(steps))), np.append(heights, heights[-1:])


def _fill_interval(
    counts: DecisionCounts, numbers: ToldNumbers, axes: "Axes", colour: str
) -> tuple[float, float]:
    """Draw the intervals of an arm's mean, which hold it together; return the last one."""
    totals = np.cumsum(numbers.values)
    positions = _thin_curve(np.arange(len(totals)))
    name = counts.interval_word
    intervals = [
        arm_means.make_mean(counts, name, int(i) + 1, float(totals[i])).interval for i in positions
    ]
    low, high = np.array(intervals + intervals[-1:]).T
    steps = np.append(np.array(numbers.steps)[positions], len(counts.asked))
    axes.fill_between(steps, low, high, step="post", color=colour, alpha=0.12, linewidth=0)
    return float(low[-1]), float(high[-1])


def draw_plot(counts: DecisionCounts, shows: Shown, axes: "Axes | None") -> "Axes":
    """Draw a plot, on a new figure if need be.

    An unknown one is refused, and a study whose decisions are not about one arm each.
    """
    import matplotlib.pyplot as plt

    check_choice("shows", shows, SHOWN)
    if len(counts.asked) and not counts.has_arms:
        raise TypeError(
            f"a study of {counts.policy} has no plot: its decisions are not about one arm each"
        )
    if axes is None:
        _, axes = plt.subplots(figsize=plot_size(counts), layout="constrained")
    return plot_decisions(counts, shows, axes)
