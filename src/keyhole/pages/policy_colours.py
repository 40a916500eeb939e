"""Colours and line styles of policies, the same on all pages and in all figures; legends."""

from __future__ import annotations

import math
import re
import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final

from keyhole.validation import escape_controls

if TYPE_CHECKING:
    from matplotlib.axes import Axes


COLOURS: Final = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9")
"""Okabe and Ito's (2008) palette without its yellow, which is too pale on white.

Readers with any colour vision can distinguish them.
"""

# Two constants of a hash, found by a search. With them, the built-in policies of a setting with at
# most seven policies have different colours; in a setting with up to fourteen policies, no colour
# has more than two. The labels of a figure in the documentation, which names policies as papers do,
# have different colours, too. If a new policy breaks this, a test fails: choose its colour in
# `_CHOSEN_COLOURS`, so that others keep theirs. `RoundRobin`, to which others are compared,
# is black.
_HASH_START: Final = 7356
_HASH_MULTIPLIER: Final = 3_871_776_092
_CHOSEN_COLOURS: Final = {
    "APGAI": 0, "HDoC": 2, "KnownVarianceUCB": 1, "LUCBG": 3, "OUP": 6, "RoundRobin": 5,
}  # fmt: skip
_HASH_MASK: Final = 0xFFFFFFFF  # 32 bits

_IDENTIFIER: Final = re.compile(r"[^\W\d]\w*")


@dataclass(frozen=True)
class LineStyle:
    """The look of a line: the indices of its colour, its dashes and its marker."""

    colour: int
    dashes: int  # the number of earlier lines of the figure with this colour
    position: int  # the index of the line in the figure, which gives the marker


def leading_identifier(label: str) -> str:
    """Return the identifier that a label begins with, or the whole label if there is none.

    Examples
    --------
    >>> leading_identifier("LSA(alpha=1.35)"), leading_identifier("0.5")
    ('LSA', '0.5')
    """
    match = _IDENTIFIER.match(label)
    return match[0] if match else label


def policy_colour(label: str) -> str:
    """Return the colour of a policy as ``#RRGGBB``.

    Examples
    --------
    >>> policy_colour("LSA") == policy_colour("LSA(alpha=1.35)")
    True
    """
    return COLOURS[_colour_number(leading_identifier(label))]


def _colour_number(identifier: str) -> int:
    if identifier in _CHOSEN_COLOURS:
        return _CHOSEN_COLOURS[identifier]
    # A number of 32 bits; `hash` would differ between processes.
    hash_value = zlib.crc32(identifier.encode(), _HASH_START) * _HASH_MULTIPLIER & _HASH_MASK
    return hash_value * len(COLOURS) >> _HASH_MASK.bit_length()


def line_styles(labels: Sequence[str], by_position: bool = False) -> dict[str, LineStyle]:
    """Return the style of each line of a figure, by label.

    The positions of the lines determine their colours if `by_position` is set, or if all labels
    begin with one name, as labels of variants of a policy or of numbered arms do.

    Examples
    --------
    >>> styles = line_styles(["LSA(alpha=1)", "RoundRobin", "LSA(alpha=2)"])
    >>> [style.dashes for style in styles.values()]
    [0, 0, 1]
    >>> [style.colour for style in line_styles(["arm 1", "arm 2"]).values()]
    [0, 1]
    """
    identifiers = {label: leading_identifier(label) for label in labels}
    # Variants of one policy would all have its colour.
    is_one_policy = len(identifiers) > 1 and len(set(identifiers.values())) == 1
    by_position = by_position or is_one_policy
    lines_before: Counter[int] = Counter()
    styles = {}
    for position, (label, identifier) in enumerate(identifiers.items()):
        colour = position % len(COLOURS) if by_position else _colour_number(identifier)
        styles[label] = LineStyle(colour, lines_before[colour], position)
        lines_before[colour] += 1
    return styles


FIGURE_WIDTH: Final = 4.2
"""The width of a figure in inches."""

# Line styles and markers distinguish curves in grey print.
_STYLES: Final = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)))
_MARKERS: Final = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*", "h")

MOST_STYLES: Final = len(_MARKERS)
"""The most curves of a figure that have different markers."""

_AXES_HEIGHT: Final = 3.1  # inches, with the labels of the axes
_AXES_SHARE: Final = 0.775  # of a figure's width: the axes' width before the layout is computed
_LEGEND_LINE_HEIGHT: Final = 0.2  # inches
_LETTER_WIDTH: Final = 0.6  # mean, in units of the font size
_SAMPLE_WIDTH: Final = 5.0  # of a line's sample and the space around it, in the same units
_POINTS_PER_INCH: Final = 72.0
_LABEL_LETTERS: Final = 34  # the most letters on a line beside the y axis
_HANDLE_LENGTH: Final = 3.2  # of a sample, in the same units: long enough to tell dashes from dots
_FONT_SIZE: Final = 10.0  # points, to estimate the height


def matplotlib_styles(
    labels: Sequence[str], by_position: bool = False
) -> dict[str, dict[str, Any]]:
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
        for label, style in line_styles(labels, by_position).items()
    }


def figure_size(labels: Sequence[str]) -> tuple[float, float]:
    """Return width and height in inches of a figure with a legend of these labels."""
    texts = [_wrap_legend_label(label, FIGURE_WIDTH, _FONT_SIZE) for label in labels]
    rows = math.ceil(len(texts) / _count_columns(texts, FIGURE_WIDTH, _FONT_SIZE))
    lines = rows + sum(text.count("\n") for text in texts)
    return FIGURE_WIDTH, _AXES_HEIGHT + _LEGEND_LINE_HEIGHT * lines


def _wrap_legend_label(label: str, inches: float, size: float) -> str:
    """Break a label that would be wider than a legend of this width, in a font of `size` points."""
    letters = int(inches * _POINTS_PER_INCH / size / _LETTER_WIDTH - _SAMPLE_WIDTH / _LETTER_WIDTH)
    if len(label) <= letters:
        return label
    return fill(label, max(1, letters), break_on_hyphens=False)


def _count_columns(labels: Sequence[str], inches: float, size: float) -> int:
    """Return how many columns a legend of these labels has, with a font of `size` points."""
    letters = max((len(line) for label in labels for line in label.splitlines()), default=0)
    column_width = (letters * _LETTER_WIDTH + _SAMPLE_WIDTH) * size
    columns = max(1, min(len(labels), int(inches * _POINTS_PER_INCH / column_width)))
    # The fewest columns for this number of rows: of four labels, of which three fit side by side,
    # there are two rows of two.
    return math.ceil(len(labels) / math.ceil(len(labels) / columns)) if labels else 1


def wrap_axis_label(text: str) -> str:
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
    # The width that a figure with only these axes would have.
    inches = axes.get_position().width * figure.bbox.width / figure.dpi / _AXES_SHARE
    texts = [_wrap_legend_label(escape_controls(label), inches, size) for label in labels]
    # The ticks, their labels and the label of the axis need the height of some three lines.
    below = ScaledTranslation(0, -3.6 * size / _POINTS_PER_INCH, figure.dpi_scale_trans)
    legend = axes.legend(
        handles,
        texts,
        frameon=False,
        handlelength=_HANDLE_LENGTH,
        ncols=_count_columns(texts, inches, size),
        loc="upper center",
        borderaxespad=0.0,
        bbox_to_anchor=(0.5, 0.0),
        bbox_transform=axes.transAxes + below,
    )
    for text in legend.get_texts():  # a dollar sign begins no formula
        text.set_parse_math(False)
