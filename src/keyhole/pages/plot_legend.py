"""The legend of a plot, below its axes, the styles of its lines, and the size of its figure.

A page on a phone shows a figure about 330 pixels wide. Figures are 4.2 inches wide, so that
letters of 10 points, Matplotlib's default, have 11 pixels there, and capitals 8.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from keyhole.pages.policy_colours import COLOURS, line_styles
from keyhole.validate import escape_controls

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIGURE_WIDTH: Final = 4.2
"""The width of a figure in inches."""

# Line styles and markers distinguish curves in grey print.
_STYLES: Final = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")

MOST_STYLES: Final = len(_MARKERS)
"""More curves cannot be distinguished."""

_AXES_HEIGHT: Final = 3.1  # inches, with the labels of the axes
_AXES_SHARE: Final = 0.775  # of the width of a figure, before the layout is computed
_LINE_HEIGHT: Final = 0.2  # inches, of a line of the legend
_LETTER: Final = 0.6  # mean width of a letter, in units of the font size
_SAMPLE: Final = 5.0  # width of a sample of a line and of the space around it, in the same units
_POINTS_AN_INCH: Final = 72.0
_LABEL_LETTERS: Final = 34  # that fit along the y axis
_HANDLE_LENGTH: Final = 3.2  # long enough to tell dashes from dots
_FONT_SIZE: Final = 10.0  # points, to estimate the height


def matplotlib_styles(labels: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return colour, line style and marker of each line of a figure, by label.

    A policy has the same colour in all figures and on all pages.
    """
    return {
        label: {
            "color": COLOURS[style.colour],
            "linestyle": _STYLES[style.dashes % len(_STYLES)],
            "marker": _MARKERS[style.position % len(_MARKERS)],
            "markersize": 4.0,
            "linewidth": 1.4,
        }
        for label, style in line_styles(labels).items()
    }


def figure_size(labels: Sequence[str]) -> tuple[float, float]:
    """Return width and height in inches of a figure with a legend of these labels."""
    texts = [_wrap(label, FIGURE_WIDTH, _FONT_SIZE) for label in labels]
    rows = math.ceil(len(texts) / _count_columns(texts, FIGURE_WIDTH, _FONT_SIZE))
    lines = rows + sum(text.count("\n") for text in texts)
    return FIGURE_WIDTH, _AXES_HEIGHT + _LINE_HEIGHT * lines


def _wrap(label: str, inches: float, size: float) -> str:
    """Break a label that is wider than the figure."""
    letters = int(inches * _POINTS_AN_INCH / size / _LETTER - _SAMPLE / _LETTER)
    if len(label) <= letters:
        return label
    return fill(label, max(1, letters), break_on_hyphens=False)


def _count_columns(labels: Sequence[str], inches: float, size: float) -> int:
    """Return how many of the labels fit side by side."""
    longest = max((len(line) for label in labels for line in label.splitlines()), default=0)
    wide = (longest * _LETTER + _SAMPLE) * size
    beside = max(1, min(len(labels), int(inches * _POINTS_AN_INCH / wide)))
    # Rows of equal length: four labels of which three would fit are two and two.
    return math.ceil(len(labels) / math.ceil(len(labels) / beside)) if labels else 1


def wrap_label(text: str) -> str:
    """Break the label of an axis that would be longer than the axes are high."""
    return text if len(text) <= _LABEL_LETTERS else fill(text, _LABEL_LETTERS)


def add_legend(axes: Axes, handles: Sequence[Any], labels: Sequence[str]) -> None:
    """Put a legend below the labels of the x axis, in as many columns as fit."""
    from matplotlib import rcParams
    from matplotlib.font_manager import FontProperties
    from matplotlib.transforms import ScaledTranslation

    if not labels:
        return
    size = FontProperties(size=rcParams["legend.fontsize"]).get_size_in_points()
    figure = axes.get_figure()
    assert figure is not None
    wide = axes.get_position().width * figure.bbox.width / figure.dpi / _AXES_SHARE
    texts = [_wrap(escape_controls(label), wide, size) for label in labels]
    # Ticks, their labels and the label of the axis are as high as some three lines.
    below = ScaledTranslation(0, -3.6 * size / _POINTS_AN_INCH, figure.dpi_scale_trans)
    legend = axes.legend(
        handles,
        texts,
        frameon=False,
        handlelength=_HANDLE_LENGTH,
        ncols=_count_columns(texts, wide, size),
        loc="upper center",
        borderaxespad=0.0,
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + below,
    )
    for text in legend.get_texts():  # a dollar sign begins no formula
        text.set_parse_math(False)
