"""Numbers of a problem, against sums over a fine grid and many runs."""

import numpy as np
import pytest

from keyhole.papers.bengs2022 import computed_quantities
from keyhole.resource import plots, three_models_problem

pytestmark = pytest.mark.interpreted

RUNS = 1500


def test_numbers_of_the_three_models_are_those_of_many_runs():
    problem = three_models_problem("soft")
    lines = plots.draw_runs(problem, runs=RUNS, seed=7).lines
    points = [(line.get_xdata(), line.get_ydata()) for line in lines]
    means = [(np.mean(earned), np.mean(used)) for used, earned in points]
    numbers = (
        computed_quantities.mean_rewards(problem),
        computed_quantities.mean_consumptions(problem),
    )
    for (reward, used), *exact in zip(means, *numbers, strict=True):
        assert [reward, used] == pytest.approx(exact, abs=5 * 0.15 / np.sqrt(RUNS))
    for (used, earned), rise in zip(points, computed_quantities.reward_rises(problem), strict=True):
        more = np.array(used) > np.mean(used)
        found = np.mean(np.array(earned)[more]) - np.mean(np.array(earned)[~more])
        assert found == pytest.approx(rise, abs=5 * 2 * 0.1 / np.sqrt(RUNS))
    shares = [np.mean(np.array(used) > 0.6) for used, _ in points]
    assert shares == pytest.approx(
        computed_quantities.half_limit_exceedance(problem), abs=5 * 0.5 / np.sqrt(RUNS)
    )


def test_the_leader_at_a_limit_is_worth_the_most():
    problem = three_models_problem("strict")
    starts, shares = (
        computed_quantities.first_leading_limits(problem),
        computed_quantities.best_arm_shares(problem),
    )
    assert np.isinf(starts[0])
    assert shares[0] == 0
    assert shares.sum() == pytest.approx(1.0)
    turn = 0.6 * starts[1]
    assert problem.gain(1, turn) > problem.gain(2, turn)
    assert problem.gain(1, turn - 0.002) < problem.gain(2, turn - 0.002)
    assert computed_quantities.largest_gains(problem)[1] == pytest.approx(problem.best_gain)
