"""Drawings of problems side by side: their runs, their gains, or stages of their grids."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from keyhole.pages.figure_files import blank_figure
from keyhole.papers.bengs2022.computed_quantities import GridStage, play_stages
from keyhole.papers.entry import ProblemFigure
from keyhole.resource.plots import draw_gains, draw_points, draw_runs
from keyhole.resource.problem import Problem
from keyhole.text_formatting import count_text


def draw_refinement(problem: Problem, figure: Figure, *, names: Sequence[str] = ()) -> None:
    """Draw four stages of the grids of z-RCUCB, from top to bottom.

    The stages are the start, the first round that extends a grid at one point, the first round that
    extends a grid at several points, and the end of 1,000 rounds; see
    `keyhole.papers.bengs2022.computed_quantities.play_stages`.

    Parameters
    ----------
    problem : Problem
        A problem in which every limit may be chosen.
    figure : matplotlib Figure
        An empty figure to draw on.
    names : sequence of str, optional
        The names of the arms; by default their indices.

    References
    ----------
    Bengs and Huellermeier (2022), section 4.1, Figure 3; the lowest panel is ours.
    """
    titled_stages = _stages_to_show(play_stages(problem))
    panels = figure.subplots(len(titled_stages), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (title, stage) in zip(panels, titled_stages.items(), strict=True):
        draw_points(axes, stage.grids, float(problem.limits[-1]), names)
        axes.label_outer()
        axes.set_title(title, fontsize=10, parse_math=False)


def _stages_to_show(all_stages: Sequence[GridStage]) -> dict[str, GridStage]:
    titled_stages = {"at the start": all_stages[0]}
    first_single = [stage for stage in all_stages if stage.extended_points == 1][:1]
    first_joint = [stage for stage in all_stages if stage.extended_points > 1][:1]
    for stage in first_single + first_joint:
        points = count_text(stage.extended_points, "point")
        titled_stages[f"after round {stage.round:,}, which extends a grid at {points}"] = stage
    return titled_stages | {"at the end": all_stages[-1]}


_HEIGHT: Final = 4.2  # inches
_PANEL_HEIGHT: Final = 1.4  # inches, of a panel in a column of several

Problems = Mapping[str, Any]
"""Problems of the drawing's setting, by title."""
DrawProblems = Callable[[Figure, Problems, Sequence[str]], None]
"""A function that draws problems into a figure, given the names of the arms."""


def draw_problem_figure(declaration: ProblemFigure, problems: Problems) -> Figure:
    """Return a figure of problems, given its declaration and the problems by title."""
    figure = blank_figure(height=_HEIGHT)
    DRAWINGS[declaration.draw](figure, problems, declaration.names)
    return figure


def _draw_side_by_side(
    draw: Callable[..., Axes], figure: Figure, problems: Problems, names: Sequence[str]
) -> None:
    """Draw a panel for each problem by the function `draw`."""
    panels = figure.subplots(1, len(problems), squeeze=False)[0]
    for axes, (title, problem) in zip(panels, problems.items(), strict=True):
        draw(problem, axes, names=names)
        axes.set_title(title, fontsize=10, parse_math=False)


def _draw_refinement(figure: Figure, problems: Problems, names: Sequence[str]) -> None:
    """Draw the grids of each problem as a column of panels."""
    columns = figure.subfigures(1, len(problems), squeeze=False)[0]
    for column, (title, problem) in zip(columns, problems.items(), strict=True):
        draw_refinement(problem, column, names=names)
        column.suptitle(title, fontsize=10, parse_math=False)
    figure.set_figheight(_PANEL_HEIGHT * max(len(column.axes) for column in columns))


DRAWINGS: Final[dict[str, DrawProblems]] = {
    "resource.runs": partial(_draw_side_by_side, draw_runs),
    "resource.gains": partial(_draw_side_by_side, draw_gains),
    "resource.refinement": _draw_refinement,
}
"""The function that draws each of `DRAWING_NAMES`."""
