"""Plot of a paper's Figure 3: the time limits that a policy tries become finer as it learns.

The policy z-RCUCB chooses what to run and the limit at which the run is stopped.
"""

from collections.abc import Sequence

from matplotlib.figure import Figure

from keyhole.papers.bengs2022.refinement_schedule import Stage, stages
from keyhole.resource.plots import draw_points
from keyhole.resource.problem import Problem


def draw_refinement(problem: Problem, figure: Figure, *, names: Sequence[str] = ()) -> None:
    """Draw four stages of the grids of z-RCUCB, from top to bottom.

    They are the grids at the start, after the first round that extends a grid at one point, after
    the first that extends one at several, and after 1,000 rounds; see
    `keyhole.papers.bengs2022.refinement_schedule`.

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
