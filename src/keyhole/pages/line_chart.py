"""Line charts, which are interactive if the browser runs scripts, and grids of them."""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar, Final, Literal

from keyhole.extras import require_extra
from keyhole.validation import check_choice, check_distinct

if TYPE_CHECKING:
    from keyhole.pages.line_chart_drawing import Drawing, DrawnLine

ScaleName = Literal["linear", "log"]

_PANEL_HEIGHT: Final = 170
_MOST_CHARACTERS: Final = 22  # of a name at a curve's end; the curve's tooltip has the whole name


@dataclass(frozen=True, kw_only=True)
class Axis:
    """An axis: its title, its scale, and its ends if the data should not determine them.

    `unit` is shown in the heading and with numbers.
    """

    title: str
    scale: ScaleName = "linear"
    low: float | None = None
    high: float | None = None
    unit: str = ""

    def __post_init__(self) -> None:
        """Refuse an unknown scale."""
        check_choice("scale", self.scale, ("linear", "log"))

    @property
    def heading(self) -> str:
        """The title with the unit, if there is one."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A curve with its 95 % intervals, in ascending `x`; NaN breaks the line.

    If `steps` is set, a value holds until the next `x`. The tooltip of each point ends with `note`.
    If `is_bound` is set, the curve is dashed and black in figures of Matplotlib.
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] | None = None
    high: Sequence[float] | None = None
    steps: bool = False
    note: str = ""
    is_bound: bool = False


@dataclass(frozen=True, kw_only=True)
class ReferenceLine:
    """A horizontal dashed line with its name."""

    value: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Ring:
    """A circle around a point, and the name of the point."""

    x: float
    y: float
    label: str


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """A chart of curves; readers can hide curves, and touch a point to see its values.

    Parameters
    ----------
    id : str
        Identifier on the page.
    x, y : Axis
        The axes.
    curves : sequence of Curve
        The curves; their labels differ.
    alt : str
        What the chart shows, for readers who do not see it.
    caption, title : str
        Texts below and above the chart.
    named : sequence of str
        Labels, the most important first: these curves are coloured and named at their ends if
        there is space; all others are grey. By default the first 12 curves that have a point.
    references : sequence of ReferenceLine
        Horizontal lines that mark values.
    rings : sequence of Ring
        Circles that mark points.
    files : sequence of str
        Files of the figure, which are linked below it.
    height : int
        Height of the plot in pixels.
    siblings : sequence of str
        Labels of the curves in this chart and the charts beside it, so that a curve looks the same
        in all; by default only the labels of this chart.
    by_position : bool
        Whether the position of a curve gives its colour; by default its label gives it.

    Examples
    --------
    >>> chart = LineChart(
    ...     id="regret", x=Axis(title="round"), y=Axis(title="regret"), alt="Regret by round",
    ...     curves=[Curve(label="LSA", x=[1, 2, 3], y=[1, 1.5, 1.7])],
    ... )
    >>> [tick.text for tick in chart.drawing.x_ticks]
    ['1', '2', '3']
    """

    id: str
    x: Axis
    y: Axis
    curves: Sequence[Curve]
    alt: str
    caption: str = ""
    title: str = ""
    named: Sequence[str] = ()
    references: Sequence[ReferenceLine] = ()
    rings: Sequence[Ring] = ()
    files: Sequence[str] = ()
    height: int = 300
    siblings: Sequence[str] = ()
    by_position: bool = False
    template: ClassVar[str] = "pages/templates/line_chart.html.j2"

    def __post_init__(self) -> None:
        """Refuse two curves with the same label."""
        if self.curves:
            check_distinct("labels of curves", self.labels)

    @property
    def labels(self) -> list[str]:
        """The labels of the curves."""
        return [curve.label for curve in self.curves]

    @cached_property
    def drawing(self) -> "Drawing":
        """The chart as shapes and texts."""
        require_extra("plots", "a page with charts")
        from keyhole.pages.line_chart_drawing import draw_chart  # Matplotlib's ticks import slowly

        return draw_chart(self)


@dataclass(frozen=True)
class ChartGrid:
    """Several small charts with one legend, where readers hide a curve in all charts at once."""

    charts: Sequence[LineChart]
    caption: str = ""
    _: KW_ONLY
    files: Sequence[str] = ()  # of the figure with all panels
    height: int = _PANEL_HEIGHT
    columns: int = 4  # the most columns of the figure
    template: ClassVar[str] = "pages/templates/chart_grid.html.j2"

    @property
    def labels(self) -> list[str]:
        """The labels of all curves, each once, in the order of the charts."""
        return list(dict.fromkeys(label for chart in self.charts for label in chart.labels))

    @cached_property
    def drawings(self) -> "list[Drawing]":
        """The charts as shapes and texts."""
        from keyhole.pages.line_chart_drawing import draw_chart

        labels = self.labels
        return [draw_chart(chart, grid_labels=labels, height=self.height) for chart in self.charts]

    @cached_property
    def legend(self) -> "list[DrawnLine]":
        """A line of each label, for the legend: the last drawn one, in colour if possible."""
        lines: dict[str, DrawnLine] = {}
        for line in (line for drawing in self.drawings for line in drawing.lines):
            earlier = lines.get(line.curve.label)
            if earlier is None or (line.is_drawn and line.is_coloured >= earlier.is_coloured):
                lines[line.curve.label] = line
        return [lines[label] for label in self.labels]


def shorten_label(label: str) -> str:
    """Return a label, cut to at most 22 characters.

    Examples
    --------
    >>> shorten_label("a policy with a very long name")
    'a policy with a very …'
    """
    return label if len(label) <= _MOST_CHARACTERS else f"{label[: _MOST_CHARACTERS - 1]}…"
