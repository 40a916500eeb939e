"""Drawing of a figure of problems, with a panel for each."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keyhole.pages.figure_files import blank_figure
from keyhole.papers.bengs2022.grid_refinement_plot import draw_refinement
from keyhole.papers.figure_declarations import ProblemFigure
from keyhole.resource.plots import draw_gains, draw_runs

_HEIGHT: Final = 4.2
_PANEL: Final = 1.4  # the height of one of several panels that share the figure's width

Panels = Callable[[Figure, Mapping[str, Any], Sequence[str]], None]
"""Draws into a figure, given problems by title, and the names of the arms."""


def draw_problem_figure(declared: ProblemFigure, problems: Mapping[str, Any]) -> Figure:
    """Return the figure, given the problems by title."""
    figure = blank_figure(height=_HEIGHT)
    DRAWINGS[declared.draw](figure, problems, declared.names)
    return figure


def _side_by_side(
    draw: Callable[..., Axes], figure: Figure, problems: Mapping[str, Any], names: Sequence[str]
) -> None:
    """Draw a panel for each problem."""
    panels = figure.subplots(1, len(problems), squeeze=False)[0]
    for axes, (title, problem) in zip(panels, problems.items(), strict=True):
        draw(problem, axes, names=names)
        axes.set_title(title, fontsize=10, parse_math=False)


def _refinement(figure: Figure, problems: Mapping[str, Any], names: Sequence[str]) -> None:
    """Draw the grids of each problem in a column of its own."""
    parts = figure.subfigures(1, len(problems), squeeze=False)[0]
    for part, (title, problem) in zip(parts, problems.items(), strict=True):
        draw_refinement(problem, part, names=names)
        part.suptitle(title, fontsize=10, parse_math=False)
    figure.set_figheight(_PANEL * max(len(part.axes) for part in parts))


DRAWINGS: Final[dict[str, Panels]] = {
    "resource.runs": partial(_side_by_side, draw_runs),
    "resource.gains": partial(_side_by_side, draw_gains),
    "resource.refinement": _refinement,
}
"""The function of each of `DRAWING_NAMES`."""
