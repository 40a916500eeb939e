"""Reconstructions of the paper's instances, and the paper's statements about them."""

import numpy as np
import pytest

from keyhole.resource import ZoomingRCUCB, reconstructed_problem, three_models_problem
from tests.resource import cases

pytestmark = pytest.mark.interpreted

NAMES = ["complex", "medium", "simple"]
SHARES = {  # of censored runs of the best pair: sections 5.1 and F.1
    ("PosCorr", "main"): 0.6116,
    ("NegCorr", "main"): 0.7631,
    ("Indep", "main"): 0.4404,
    ("PosCorr", "small"): 0.5584,
    ("NegCorr", "small"): 0.7189,
    ("Indep", "small"): 0.4066,
    ("PosCorr", "large"): 0.5851,
    ("NegCorr", "large"): 0.7559,
    ("Indep", "large"): 0.4222,
}


@pytest.mark.parametrize(("instance", "grid"), SHARES)
def test_replicas_have_the_papers_shares_of_censored_runs(instance, grid):
    problem = reconstructed_problem(instance, grid)
    arm, limit = problem.best_pair
    assert arm == 0
    place = problem.limits.tolist().index(limit)
    assert problem.censoring[arm, place] == pytest.approx(SHARES[instance, grid], abs=0.0025)
    assert problem.gains == pytest.approx(
        cases.reconstructed_problem(instance, grid).gains, abs=1e-9
    )


def test_runs_of_low_censoring_are_correlated_and_rarely_exceed_the_best_limit():
    problem = reconstructed_problem("LowCensoring", "low")
    assert problem.arms == 5
    for distribution in problem.distributions:
        (rr, rc), (_, cc) = distribution.covariance
        assert rc / np.sqrt(rr * cc) == pytest.approx(0.5)
    place = problem.limits.tolist().index(problem.best_pair[1])
    assert 0.02 < problem.censoring[0, place] < 0.05


def test_arms_beyond_the_tenth_are_like_it():
    problem = reconstructed_problem("PosCorr", size=12)
    assert problem.arms == 12
    assert (problem.gains[10:] == problem.gains[9]).all()
    assert problem.gains[8, 0] != problem.gains[9, 0]


def test_limits_may_be_counted_or_listed():
    assert reconstructed_problem("Indep", 4).limits.tolist() == [0.25, 0.5, 0.75, 1.0]
    assert reconstructed_problem("Indep", [0.3, 0.4]).limits.tolist() == [0.3, 0.4]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: reconstructed_problem("Poscorr"), "instance must be"),
        (lambda: reconstructed_problem("Indep", "big"), "limits must be"),
        (lambda: reconstructed_problem("Indep", 0), "limits must be at least 1, got 0"),
        (lambda: reconstructed_problem("Indep", size=0), "size must be at least 1, got 0"),
        (lambda: three_models_problem("loose"), "promise must be"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_a_strict_promise_favours_the_simple_model_until_the_medium_one_is_done_in_time():
    gains = three_models_problem("strict").gains
    best = gains.argmax(axis=0)
    assert (best[:54] == 2).all()  # up to nine tenths of the promised time
    assert best[-1] == 1
    assert (gains[0] < 0).all()


def test_a_soft_promise_favours_the_complex_model_at_a_larger_limit():
    strict, soft = three_models_problem("strict"), three_models_problem("soft")
    arm, limit = soft.best_pair
    assert arm == 0
    assert limit > strict.limits[-1]
    assert soft.gain(0, strict.limits[-1]) < 0 < soft.gain(0, limit)


def test_rewards_and_times_of_the_models_rise_together():
    for distribution in three_models_problem("soft").distributions:
        early, late = distribution.mean_reward(
            np.array([distribution.mean[1] - 0.15, distribution.mean[1] + 0.15])
        )
        assert late > early + 0.05


# Figures 1 to 3.


@pytest.fixture
def drawing(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    from keyhole.resource import plots

    return plots


def test_figure_1_shows_runs_of_all_models(drawing):
    axes = drawing.draw_runs(three_models_problem("strict"), runs=50, names=NAMES)
    assert [line.get_label() for line in axes.lines] == NAMES
    for get in ("get_xdata", "get_ydata"):
        assert all(len(set(getattr(line, get)())) == 50 for line in axes.lines)
        means = [np.mean(getattr(line, get)()) for line in axes.lines]
        assert means == sorted(means, reverse=True)


@pytest.mark.parametrize(
    "problem", [three_models_problem("soft"), reconstructed_problem("Indep", "small")], ids=repr
)
def test_figure_2_shows_gains_and_the_best_pair(drawing, problem):
    axes = drawing.draw_gains(problem)
    *curves, mark = axes.lines
    assert len(curves) == problem.arms
    assert mark.get_xdata()[0] == problem.best_pair[1]
    highest = max(curve.get_ydata().max() for curve in curves)
    assert highest == pytest.approx(problem.best_gain, abs=1e-4)


def test_figure_3_shows_every_point_of_the_grids(drawing):
    from matplotlib.figure import Figure

    problem = reconstructed_problem("Indep", size=2, continuous=True)
    learner = cases.learner_of(ZoomingRCUCB(alpha=0.05, lipschitz=4), problem, 200)
    cases.drive(learner, cases.runs_of(problem, 1, 0), 200)
    sizes = learner.state["sizes"].tolist()
    grids = [learner.state["points"][arm, :size] for arm, size in enumerate(sizes)]
    axes = drawing.draw_points(Figure().add_subplot(), grids, 1.0, ())
    shown = [len(line.get_xdata()) for line in axes.lines[1::2]]
    assert shown == sizes
    assert max(shown) > 2


def test_what_cannot_be_drawn_is_refused(drawing):
    with pytest.raises(ValueError, match="names must have 3 entries, got 1"):
        drawing.draw_gains(three_models_problem("soft"), names=["one"])
