"""The drawing of a line chart: paths in SVG, places of texts in per cent, and numbers as JSON."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from keyhole.pages.chart_json import chart_json
from keyhole.pages.chart_lines import DrawnLine, draw_lines
from keyhole.pages.chart_paths import UNITS
from keyhole.pages.chart_plot import Plot
from keyhole.pages.chart_scale import Tick
from keyhole.pages.line_chart import LineChart
from keyhole.pages.policy_colours import line_styles
from keyhole.pages.reference_marks import DrawnReference, DrawnRing, draw_references, draw_rings

_PHONE_CHARACTERS: Final = 25  # as wide as a plot on a phone


@dataclass(frozen=True)
class Drawing:
    """A chart as shapes and texts."""

    chart: LineChart
    plot: Plot
    lines: Sequence[DrawnLine]
    references: Sequence[DrawnReference]
    rings: Sequence[DrawnRing]

    @cached_property
    def x_ticks(self) -> Sequence[Tick]:
        """The ticks of the horizontal axis."""
        return self.plot.x_ticks()

    @cached_property
    def y_ticks(self) -> Sequence[Tick]:
        """The ticks of the vertical axis."""
        return self.plot.y_ticks()

    @property
    def view_box(self) -> str:
        """The view box of the drawing."""
        return f"0 0 {UNITS} {self.plot.units}"

    @property
    def bottom_up(self) -> list[DrawnLine]:
        """The lines in the order in which they are drawn: grey ones first, the weightiest last."""
        return sorted(self.lines, key=lambda line: (line.is_named, -line.rank))

    @property
    def grey(self) -> list[str]:
        """The labels of the curves that have no name at their end."""
        return [line.curve.label for line in self.lines if line.is_drawn and not line.is_named]

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to draw."""
        return not any(line.is_drawn for line in self.lines) and not self.rings

    @property
    def left_characters(self) -> int:
        """The number of characters of the longest label of the vertical axis."""
        return max((len(tick.text) for tick in self.y_ticks), default=1)

    @property
    def tail_characters(self) -> float:
        """The number of characters by which the last label of the horizontal axis juts out."""
        if not self.x_ticks:
            return 0.0
        last = self.x_ticks[-1]
        beyond = (100 - last.place) / 100 * _PHONE_CHARACTERS
        return round(max(len(last.text) / 2 + 0.5 - beyond, 0.0), 1)

    @property
    def is_crowded(self) -> bool:
        """Whether a phone has no space for all labels of the horizontal axis."""
        return sum(len(tick.text) + 2 for tick in self.x_ticks) > _PHONE_CHARACTERS

    @property
    def name_characters(self) -> int:
        """The number of characters of the longest name at a curve's end."""
        return max((len(line.name.text) for line in self.lines if line.name), default=0)

    @cached_property
    def data(self) -> str:
        """The numbers for the script, as JSON that may stand within HTML."""
        return chart_json(self.chart, self.plot)


def draw_chart(
    chart: LineChart, *, among: Sequence[str] = (), height: int | None = None
) -> Drawing:
    """Return the drawing of a chart.

    As a panel of a grid, whose labels are `among`, its curves have no names at their ends, since
    the grid has a legend.
    """
    plot = Plot.of(chart, height=height or chart.height, is_panel=bool(among))
    styles = line_styles([*(among or chart.among), *chart.labels])
    return Drawing(
        chart=chart,
        plot=plot,
        lines=draw_lines(chart.curves, plot, styles, chart.named),
        references=draw_references(chart.references, plot, chart.y.unit),
        rings=draw_rings(chart.rings, plot),
    )
