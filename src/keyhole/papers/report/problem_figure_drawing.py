"""Drawing of a figure of problems, with a panel for each, such as stages of grids."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keyhole.pages.figure_files import blank_figure
from keyhole.papers.bengs2022.problem_numbers import Stage, stages
from keyhole.papers.entry import ProblemFigure
from keyhole.resource.plots import draw_gains, draw_points, draw_runs
from keyhole.resource.problem import Problem


def draw_refinement(problem: Problem, figure: Figure, *, names: Sequence[str] = ()) -> None:
    """Draw four stages of the grids of z-RCUCB, from top to bottom.

    They are the grids at the start, after the first round that extends a grid at one point, after
    the first that extends one at several, and after 1,000 rounds; see
    `keyhole.papers.bengs2022.problem_numbers.stages`.

    Parameters
    ----------
    problem : Problem
        The instance; every limit may be chosen.
    figure : matplotlib Figure
        An empty figure to draw on.
    names : sequence of str, optional
        Names of the arms; by default their numbers.

    References
    ----------
    Bengs and Huellermeier (2022), section 4.1, Figure 3; the lowest panel is ours.
    """
    shown = _stages_to_show(stages(problem))
    panels = figure.subplots(len(shown), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (title, stage) in zip(panels, shown.items(), strict=True):
        draw_points(axes, stage.grids, float(problem.limits[-1]), names)
        axes.label_outer()
        axes.set_title(title, fontsize=10, parse_math=False)


def _stages_to_show(found: Sequence[Stage]) -> dict[str, Stage]:
    """Return the stages to show, by their titles."""
    shown = {"at the start": found[0]}
    one = next((stage for stage in found if stage.extended == 1), None)
    several = next((stage for stage in found if stage.extended > 1), None)
    if one is not None:
        shown[f"after round {one.round:,}, which extends a grid at one point"] = one
    if several is not None:
        title = f"after round {several.round:,}, which extends a grid at {several.extended} points"
        shown[title] = several
    return shown | {"at the end": found[-1]}


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
