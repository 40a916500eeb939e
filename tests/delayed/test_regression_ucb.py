"""Tests of the policy `RegressionUCB` beside those that run for every policy of the setting."""

import json
import math

import numpy as np
import pytest

from keyhole import simulate
from keyhole.delayed import Constant, Geometric, Problem, RegressionUCB, Uniform
from tests.delayed.cases import make_sampler
from tests.lengths import short_or_long
from tests.reference import delayed as reference
from tests.reference.delayed import play

pytestmark = pytest.mark.interpreted


@pytest.mark.parametrize(
    ("told", "delay"),
    [
        (0.0, Constant(0)),
        (0.3, Uniform(0, 4)),
        (3.0, Constant(40)),
        (20.0, Geometric(7.5)),
    ],
)
@pytest.mark.parametrize("correct_delay", [0, 1, 2])
@pytest.mark.parametrize("limit", [0, 200])
def test_the_reference_takes_the_same_decisions_for_any_parameters(
    told, delay, correct_delay, limit
):
    # A batch lasts for two delays at least, and there must be several.
    horizon = short_or_long(max(500, int(30 * told)), 2500)
    problem = Problem([0.3, 0.7, 0.5, 0.0], delay)
    asked, arrivals = play(
        reference.RegressionUCB(problem.arms, told, correct_delay, limit),
        make_sampler(problem, 5, 0),
        4,
        horizon,
    )
    assert np.count_nonzero(np.diff(asked)) > 4
    policy = RegressionUCB(told, correct_delay, limit)
    learner = policy.learner(arms=4, feedback="anonymous")
    for t, arm in enumerate(asked):
        assert learner.ask() == arm, t
        learner.tell(sum(reward for _, reward in arrivals[t]))


def test_estimates_are_right_where_delays_are_geometric():
    problem, rng = Problem([0.2, 0.25, 0.3], Geometric(20.0)), np.random.default_rng(4)
    learner, due = RegressionUCB(20.0, 0).learner(arms=3, feedback="anonymous"), np.zeros(10**4)
    for t in range(6000):
        if rng.random() < problem.means[learner.ask()]:
            due[t + rng.geometric(1 / 21) - 1] += 1
        learner.tell(due[t])
    known = learner.state["information"][0]
    assert known.min() > 100  # else the test says nothing
    errors = (learner.state["weighted"][0] / known - problem.means) * np.sqrt(known)
    assert np.abs(errors).max() < 5 * 0.5


def test_a_batch_lasts_for_two_delays_or_a_tenth_of_the_pulls():
    learner, lengths, last = RegressionUCB(3.2, 0).learner(arms=1, feedback="anonymous"), [], 0
    for t in range(1, 3000):
        learner.ask()
        learner.tell(0.0)
        if learner.state["left"][0] == 0:
            lengths.append((last, t - last))
            last = t
    assert all(length == max(7, math.ceil(0.1 * pulls)) for pulls, length in lengths)
    assert len(lengths) == learner.state["batches"][0] < 60


def test_what_is_due_and_what_has_arrived_are_the_pulls():
    learner = RegressionUCB(5.0).learner(arms=2, feedback="anonymous")
    delays = 5.0 * np.array([1, 2, 4, 8, 16, 32, 1 / 2, 1 / 4])
    arrived = np.zeros((8, 2))
    for _ in range(500):
        learner.ask()
        learner.tell(0.0)
        if learner.state["left"][0] == 0:
            arrived += learner.state["expected"]
            assert np.allclose(arrived + learner.state["due"], learner.state["pulls"])
            assert (learner.state["due"].sum(axis=1) < delays + 1e-9).all()


@pytest.mark.parametrize(("delay", "told"), [(Geometric(12.0), 12.0), (Constant(60), 12.0)])
def test_the_steps_of_its_bound_hold(delay, told):
    """Check the steps of docs/regression_ucb_bound.md, with delays as told and with others."""
    means, draw = np.array([0.2, 0.6]), make_sampler(Problem([0.2, 0.6], delay), 7, 0)
    learner, pending = RegressionUCB(told, 0).learner(arms=2, feedback="anonymous"), []
    pulls, earned, before = np.zeros(2, int), 0.0, 0.0
    batches, errors, runs, last = np.zeros(2), np.full(2, 0.5) - means, np.zeros(2), -1
    for t in range(4000):
        state = {name: learner.state[name].copy() for name in ("information", "weighted")}
        if learner.state["left"][0] == 0:
            first, earned, total = t, 0.0, 0.0
        arm = learner.ask()
        reward, late = draw(arm, pulls[arm])
        pulls[arm] += 1
        earned += reward
        pending.append((t + late, reward))
        arrived = sum(value for due, value in pending if due == t)
        pending = [(due, value) for due, value in pending if due > t]
        learner.tell(arrived)
        total += arrived
        if learner.state["left"][0] > 0:
            continue
        rounds, x, due = t + 1 - first, learner.state["expected"][0], learner.state["due"][0]
        known = state["information"][0]
        limited = (state["weighted"][0] / known).clip(0, 1)
        assert due.sum() <= told * (1 + 1e-9)
        assert x.sum() <= rounds * (1 + 1e-9)
        martingale = earned - rounds * means[arm]
        after = sum(value for _, value in pending) - means @ due
        assert total - x @ means == pytest.approx(martingale + before - after)
        others = x[::-1] ** 2 / known[::-1]
        cross = x[::-1] * (means - limited)[::-1]
        weights = x / (rounds + others)
        errors += weights * (martingale + before - after + cross)
        before = after
        batches[arm] += 1
        runs[arm] += arm != last
        last = arm
        known = learner.state["information"][0]
        assert np.allclose(learner.state["weighted"][0] - known * means, errors)
        assert (known >= pulls / 7.4).all()
        assert (known >= pulls - 5.2 * told * batches).all()
    assert runs.min() > 1  # both arms were left and taken up again


def test_it_learns_where_the_expected_delay_is_overstated_tenfold():
    problem = Problem([0.4, 0.7], Uniform(0, 40))
    curves = simulate(problem, {"it": RegressionUCB(200.0)}, horizon=5000, replications=3)
    assert curves.mean("it", "regret")[-1] < 0.25 * 0.3 * 5000  # a coin has .5


def test_it_comes_back_to_a_first_arm_whose_rewards_fell_into_the_next_batch():
    problem = Problem([0.7, 0.5], Constant(130))
    policies = {"2": RegressionUCB(50.0), "1": RegressionUCB(50.0, correct_delay=1)}
    curves = simulate(problem, policies, horizon=2000, replications=5)
    assert curves.mean("2", "regret")[-1] < 300
    assert curves.values("1", "regret")[-1].min() > 370  # the first arm in one batch of 100


def test_each_arm_has_two_batches_before_any_is_chosen_the_second_in_reverse_order():
    learner, arms = RegressionUCB(1.0).learner(arms=3, feedback="anonymous"), []
    for _ in range(12):
        arms.append(learner.ask())
        learner.tell(float(arms[-1] == 2))
    assert arms == [0, 0, 1, 1, 2, 2, 2, 2, 1, 1, 0, 0]


def test_a_learner_of_version_0_2_goes_on_without_the_second_ones(tmp_path):
    learner = RegressionUCB(1.0, correct_delay=1).learner(arms=2, feedback="anonymous")
    learner.save(tmp_path / "learner.json")
    saved = json.loads((tmp_path / "learner.json").read_text())
    # What 0.2 wrote of the policy: neither a horizon nor another value of `correct_delay`.
    assert saved["content"]["parameters"].pop("horizon") == 0
    policy = RegressionUCB.from_parameters(saved["content"]["parameters"])
    assert policy == learner.policy


def test_a_horizon_that_is_told_limits_the_first_batches():
    learner, pulls = RegressionUCB(100.0, horizon=320).learner(arms=2, feedback="anonymous"), []
    for _ in range(40):
        pulls.append(learner.ask())
        learner.tell(0.0)
    assert pulls == [0] * 20 + [1] * 20


def test_it_warns_where_first_batches_take_more_than_a_quarter_of_the_rounds():
    problem = Problem([0.3, 0.5], Constant(3))
    with pytest.warns(UserWarning, match="takes 160 of 500 rounds for its first batches"):
        simulate(problem, [RegressionUCB(40.0)], horizon=500, replications=1)
    simulate(problem, [RegressionUCB(31.0)], horizon=500, replications=1)
    simulate(problem, [RegressionUCB(40.0, horizon=500)], horizon=500, replications=1)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_delay_that_is_understated_tenfold_is_corrected():
    problem, policies = Problem([0.4, 0.7], Uniform(0, 1000)), {}
    for name, correct_delay in (("compared", 1), ("believed", 0)):
        policies[name] = RegressionUCB(50.0, correct_delay)
    curves = simulate(problem, policies, horizon=20_000, replications=40)
    assert curves.values("compared", "regret")[-1].max() < 0.5 * 0.3 * 20_000  # a coin has .5
    assert curves.values("believed", "regret")[-1].max() > 0.9 * 0.3 * 20_000


@pytest.mark.parametrize("correct_delay", [-1, 3, 0.5])
def test_correct_delay_is_0_1_or_2(correct_delay):
    with pytest.raises((TypeError, ValueError), match="correct_delay must"):
        RegressionUCB(5.0, correct_delay)


@pytest.mark.parametrize("delay", [-1.0, math.nan, math.inf, 2.0**53])
def test_an_expected_delay_that_cannot_be_is_refused(delay):
    with pytest.raises(ValueError, match=r"expected_delay must (lie in|be a)"):
        RegressionUCB(delay)


def test_a_learner_shows_estimates_in_the_units_of_its_user():
    learner = RegressionUCB(0.0, 1).learner(arms=2, feedback="anonymous", scale=(0, 10))
    for total in (10, 0, 10, 10):
        learner.ask()
        learner.tell(total)
    assert "arm 0: 3 pulls, mean 8.75" in str(learner)
    assert "arm 1: 1 pull, mean 2.5" in str(learner)
