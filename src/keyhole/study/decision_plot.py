"""The plot of a study: decisions by option, or mean feedback by option, over all decisions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.pages.policy_colours import add_legend, figure_size, matplotlib_styles
from keyhole.study.arm_means import make_mean, values_by_arm
from keyhole.study.decision_counts import DecisionCounts
from keyhole.validate import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Shown = Literal["decisions", "mean"]
SHOWN: Final = ("decisions", "mean")
_MOST_NAMED: Final = 8
_MOST_STEPS: Final = 1000  # of a curve: more cannot be seen, and make a large file
_MARKER_GAP: Final = 0.15  # between markers of a curve, in diagonals of the axes
_MARGIN: Final = 0.05  # of the axis, beyond what must be seen
_OTHERS: Final[Any] = {"color": "#999999", "linewidth": 0.7, "zorder": 1.0}

Curve = tuple[IntArray, FloatArray]
Told = Mapping[int, tuple[list[int], list[float]]]


def plot_decisions(counts: DecisionCounts, shows: Shown, axes: "Axes") -> "Axes":
    """Draw the decisions of each arm so far, or the mean of its feedback so far.

    The eight arms with the most decisions have colours, markers and names; the others are grey.
    """
    numbers = [name for name in counts.told_numbers() if name not in counts.flags]
    name = next(iter(numbers), "feedback")
    told = values_by_arm(counts, name)
    names, order = counts.arms.names, order_arms(counts).tolist()
    curves = _decisions_by_arm(counts) if shows == "decisions" else _means_by_arm(counts, told)
    named, others = order[:_MOST_NAMED], order[_MOST_NAMED:]
    # By position, since colours by name, as policies have them, may be alike for two of few arms.
    styles = matplotlib_styles([f"arm {position}" for position in range(len(named))])
    intervals: list[tuple[float, float]] = []
    for rank, (arm, style) in enumerate(zip(sorted(named), styles.values(), strict=True)):
        steps, heights = map(_thin, curves[arm])
        marked = rank * _MARKER_GAP / _MOST_NAMED, _MARKER_GAP  # no marker covers another
        axes.step(steps, heights, where="post", label=names[arm], markevery=marked, **style)
        if shows == "mean" and name == counts.interval_word and len(steps):
            intervals.append(_fill_interval(counts, *told[arm], axes, str(style["color"])))
    if others:
        steps, heights = (
            np.concatenate([np.append(_thin(curves[arm][i]), np.nan) for arm in others])
            for i in (0, 1)
        )
        axes.step(steps, heights, where="post", label=f"{len(others):,} others", **_OTHERS)
    axes.set_xlim(0, max(1, len(counts.asked)))
    axes.set_xlabel("decision")
    axes.set_ylabel("decisions of the arm" if shows == "decisions" else f"mean {name}")
    if shows == "mean":
        _fit_axis(axes, [curves[arm][1][-1] for arm in named if len(curves[arm][1])], intervals)
    _add_legend(axes)
    return axes


def _fit_axis(axes: "Axes", means: list[float], intervals: Sequence[tuple[float, float]]) -> None:
    """Fit the y axis to the last means, and to the narrower half of their intervals.

    Earlier means, and the wide intervals of arms with few decisions, may lie outside.
    """
    median = np.median([high - low for low, high in intervals]) if intervals else 0.0
    narrow = [interval for interval in intervals if interval[1] - interval[0] <= median]
    least = min(means + [low for low, _ in narrow], default=0.0)
    most = max(means + [high for _, high in narrow], default=0.0)
    if most > least:
        margin = (most - least) * (_MARGIN if narrow else 1.0)
        low, high = axes.get_ylim()
        axes.set_ylim(max(low, least - margin), min(high, most + margin))


def plot_size(counts: DecisionCounts) -> tuple[float, float]:
    """Return width and height in inches of a figure of the plot."""
    names = counts.arms.names
    return figure_size([names[arm] for arm in order_arms(counts)[:_MOST_NAMED]])


def order_arms(counts: DecisionCounts) -> IntArray:
    """Return the arms, those with the most decisions first."""
    asked = np.array(counts.asked, np.int64)
    return np.argsort(-np.bincount(asked, minlength=len(counts.arms.names)), kind="stable")


def _thin(values: Any) -> Any:
    """Return at most so many of the values of a curve as can be seen, evenly spread."""
    places = np.linspace(0, len(values) - 1, min(len(values), _MOST_STEPS))
    return values[places.round().astype(int)]


def _decisions_by_arm(counts: DecisionCounts) -> list[Curve]:
    """Return by arm the numbers of its decisions, and how many it has had by then."""
    asked = np.array(counts.asked, np.int64)
    ends = np.cumsum(np.bincount(asked, minlength=len(counts.arms.names)))[:-1]
    by_arm = np.split(np.argsort(asked, kind="stable") + 1, ends)
    return [_extend(np.append(0, own), np.arange(len(own) + 1.0), len(asked)) for own in by_arm]


def _means_by_arm(counts: DecisionCounts, told: Told) -> list[Curve]:
    """Return by arm the decisions at which its feedback was told, and its mean by then."""
    end, pairs = len(counts.asked), (told[arm] for arm in range(len(counts.arms.names)))
    return [
        _extend(np.array(steps, np.int64), np.cumsum(values) / np.arange(1, len(values) + 1), end)
        for steps, values in pairs
    ]


def _extend(steps: IntArray, heights: FloatArray, end: int) -> Curve:
    """Return a curve that goes on to the end at its last height; an empty one stays so."""
    return np.append(steps, [end] * bool(len(steps))), np.append(heights, heights[-1:])


def _fill_interval(
    counts: DecisionCounts, told: list[int], values: list[float], axes: "Axes", colour: str
) -> tuple[float, float]:
    """Draw the intervals of an arm's mean, which hold it together; return the last one."""
    totals = np.cumsum(values)
    places = _thin(np.arange(len(totals)))
    name = counts.interval_word
    ends = [make_mean(counts, name, int(i) + 1, float(totals[i])).interval for i in places]
    low, high = np.array(ends + ends[-1:]).T
    steps = np.append(np.array(told)[places], len(counts.asked))
    axes.fill_between(steps, low, high, step="post", color=colour, alpha=0.12, linewidth=0)
    return float(low[-1]), float(high[-1])


def _add_legend(axes: "Axes") -> None:
    axes.grid(alpha=0.25, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    add_legend(axes, *axes.get_legend_handles_labels())


def check_drawable(counts: DecisionCounts, shows: str) -> None:
    """Refuse an unknown plot, and a study whose decisions are not about one arm each."""
    check_choice("shows", shows, SHOWN)
    if len(counts.asked) and not counts.has_arms:
        raise TypeError(
            f"a study of {counts.policy} has no plot: its decisions are not about one arm each"
        )
