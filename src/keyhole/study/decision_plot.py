"""The plot of a study: decisions by option, or mean feedback by option, over all decisions."""

from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np

from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.pages.plot_legend import add_legend, figure_size
from keyhole.study.arm_means import make_mean
from keyhole.study.decision_counts import DecisionCounts
from keyhole.validate import check_choice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Shown = Literal["decisions", "mean"]
SHOWN: Final = ("decisions", "mean")
_MOST_NAMED: Final = 8
_MOST_STEPS: Final = 1000  # of a curve: more cannot be seen, and make a large file
_GREY: Final = "#999999"


def plot_decisions(counts: DecisionCounts, shows: Shown, axes: "Axes") -> "Axes":
    """Draw the decisions of each arm so far, or the mean of its feedback so far.

    The eight arms with the most decisions have colours and names; the others are grey.
    """
    from keyhole.results.plot import matplotlib_styles

    asked = np.array(counts.asked, np.int64)
    order = _order_arms(counts)
    styles = matplotlib_styles([counts.arms[arm] for arm in order[:_MOST_NAMED]])
    for place, arm in enumerate(order.tolist()):
        curve = _decisions(asked, arm) if shows == "decisions" else _means(counts, arm)
        steps, heights = map(_thin, curve)
        is_named = place < _MOST_NAMED
        grey = {"color": _GREY, "linewidth": 0.7, "zorder": 1.0}
        name = counts.arms[arm] if is_named else None
        style = grey if name is None else {**styles[name], "marker": ""}
        axes.step(steps, heights, where="post", label=name, **style)
        if shows == "mean" and is_named and _word(counts) == counts.interval_word and len(steps):
            _fill_interval(counts, arm, axes, str(style["color"]))
    if len(order) > _MOST_NAMED:
        axes.plot([], [], color=_GREY, linewidth=0.7, label=f"{len(order) - _MOST_NAMED:,} others")
    axes.set_xlim(0, max(1, len(asked)))
    axes.set_xlabel("decision")
    axes.set_ylabel("decisions of the arm" if shows == "decisions" else f"mean {_word(counts)}")
    _add_legend(axes)
    return axes


def plot_size(counts: DecisionCounts) -> tuple[float, float]:
    """Return width and height in inches of a figure of the plot."""
    return figure_size([counts.arms[arm] for arm in _order_arms(counts)[:_MOST_NAMED]])


def _order_arms(counts: DecisionCounts) -> IntArray:
    """Return the arms, those with the most decisions first."""
    asked = np.array(counts.asked, np.int64)
    return np.argsort(-np.bincount(asked, minlength=len(counts.arms)), kind="stable")


def _thin(values: Any) -> Any:
    """Return at most so many of the values of a curve as can be seen, evenly spread."""
    places = np.linspace(0, len(values) - 1, min(len(values), _MOST_STEPS))
    return values[places.round().astype(int)]


def _decisions(asked: IntArray, arm: int) -> tuple[IntArray, IntArray]:
    """Return the numbers of the decisions of an arm, and how many it has had by then."""
    (found,) = np.nonzero(asked == arm)
    count = len(found)
    return np.concatenate([[0], found + 1, [len(asked)]]), np.append(np.arange(count + 1), count)


def _word(counts: DecisionCounts) -> str:
    """Return the name of the first number in the feedback."""
    return next((name for _, _, words in counts.feedback for name in words), "feedback")


def _means(counts: DecisionCounts, arm: int) -> tuple[IntArray, FloatArray]:
    """Return the decisions at which an arm's feedback was told, and its mean by then."""
    told = _told(counts, arm)
    if not told:
        return np.zeros(0, np.int64), np.zeros(0)
    means = np.cumsum([value for _, value in told]) / np.arange(1, len(told) + 1)
    steps = np.array([at for at, _ in told] + [len(counts.asked)])
    return steps, np.append(means, means[-1])


def _told(counts: DecisionCounts, arm: int) -> list[tuple[int, float]]:
    """Return the decisions at which an arm's feedback was told, and the first number in it."""
    word = _word(counts)
    return [(at, words[word]) for at, own, words in counts.feedback if own == arm and word in words]


def _fill_interval(counts: DecisionCounts, arm: int, axes: "Axes", colour: str) -> None:
    """Draw the intervals of an arm's mean: at all times together they hold it."""
    told = _told(counts, arm)
    totals = np.cumsum([value for _, value in told])
    places = _thin(np.arange(len(told)))
    word = counts.interval_word
    ends = [make_mean(counts, word, int(i) + 1, float(totals[i])).interval for i in places]
    low, high = np.array(ends + ends[-1:]).T
    steps = np.array([told[i][0] for i in places] + [len(counts.asked)])
    axes.fill_between(steps, low, high, step="post", color=colour, alpha=0.12, linewidth=0)


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
