"""Figure 3: the grids of z-RCUCB in a run."""

import numpy as np
import pytest
from matplotlib.figure import Figure

from keyhole.papers.bengs2022 import computed_quantities
from keyhole.papers.report.problem_figure_drawing import draw_refinement
from keyhole.resource import three_models_problem

pytestmark = pytest.mark.interpreted


@pytest.mark.slow
def test_figure_3_shows_the_start_one_extension_several_at_once_and_the_end():
    figure, problem = Figure(), three_models_problem("soft")
    draw_refinement(problem, figure, names=["complex", "medium", "simple"])
    start, one, several, end = (
        [len(line.get_xdata()) for line in axes.lines[1::2]] for axes in figure.axes
    )
    assert start == [1, 1, 1]
    assert sum(one) == 4
    assert max(new - old for new, old in zip(several, one, strict=True)) > 1
    assert end == computed_quantities.grid_sizes(problem).tolist()
    assert [axes.get_title() for axes in figure.axes][0::3] == ["at the start", "at the end"]


def test_stages_count_what_each_round_extends():
    first, *later = computed_quantities.play_stages(three_models_problem("strict"), rounds=200)
    assert (first.round, first.extended_points) == (0, 0)
    before = first
    for stage in later:
        grown = [len(a) - len(b) for a, b in zip(stage.grids, before.grids, strict=True)]
        assert sum(grown) == stage.extended_points == max(grown)  # of the arm played alone
        for grid, old in zip(stage.grids, before.grids, strict=True):
            assert set(old) <= set(grid)
            assert (np.diff(grid) > 0).all()
        before = stage
