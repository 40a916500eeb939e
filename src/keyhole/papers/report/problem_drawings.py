"""Figures of the problems of a reproduced experiment, which need no simulation."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from keyhole.pages.figure_files import blank_figure
from keyhole.papers.bengs2022.grid_refinement_plot import draw_refinement
from keyhole.resource.plots import draw_gains, draw_runs
from keyhole.results.plot import set_title
from keyhole.validate import check_choice

_HEIGHT: Final = 4.2
_PANEL: Final = 1.4  # the height of one of several panels that share the figure's width

Panels = Callable[[Figure, Mapping[str, Any], Sequence[str]], None]
"""Draws into a figure, given problems by title, and the names of the arms."""


def _side_by_side(
    draw: Callable[..., Axes], figure: Figure, problems: Mapping[str, Any], names: Sequence[str]
) -> None:
    """Draw a panel for each problem."""
    panels = figure.subplots(1, len(problems), squeeze=False)[0]
    for axes, (title, problem) in zip(panels, problems.items(), strict=True):
        draw(problem, axes, names=names)
        set_title(axes, title)


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
"""Every drawing that an entry may name, by its setting and its own name."""


def _check_drawing_name(name: str) -> str:
    return check_choice("draw", name, DRAWINGS)


class ProblemFigure(BaseModel):
    """Declaration of a figure of problems."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    title: str
    draw: Annotated[str, AfterValidator(_check_drawing_name)]  # a name in `DRAWINGS`
    problems: Annotated[list[str], Field(min_length=1)]  # keys; each has a panel of its own
    # of the arms; by default their indices
    names: Annotated[list[str], Field(default_factory=list)]
    note: str = ""  # a sentence on what it shows

    def check(self, where: str, problems: Mapping[str, Any]) -> None:
        """Refuse problems of another setting, and names that are not one for each arm."""
        setting = self.draw.partition(".")[0]
        for key, problem in problems.items():
            if problem.setting.name != setting:
                raise ValueError(
                    f"{where}.draw must be a drawing of the setting {problem.setting.name!r}, as "
                    f"{key!r} is, got {self.draw!r}"
                )
            if self.names and len(self.names) != problem.arms:
                raise ValueError(
                    f"{where}.names must have {problem.arms} entries, one for each arm of "
                    f"{key!r}, got {len(self.names)}"
                )

    def draw_figure(self, problems: Mapping[str, Any]) -> Figure:
        """Return the figure."""
        figure = blank_figure(height=_HEIGHT)
        DRAWINGS[self.draw](figure, problems, self.names)
        return figure
