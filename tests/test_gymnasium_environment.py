"""Problems as environments of Gymnasium: its own checks, the same numbers, and bad input."""

import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from keyhole import delayed, resource, semibandit, simulate, stochastic, threshold, thresholding
from keyhole.gymnasium_environment import GymnasiumEnvironment
from keyhole.policy import float_array
from keyhole.resource import BetaExponential, Power

ARMS = [BetaExponential(a=5, b=5 + k, rate=1.0) for k in range(2)]
COSTS = {"cost": Power(slope=0.1), "penalty": Power(slope=0.2)}
REACH = [[0.9, 0.8, 0.2], [0.7, 0.6, 0.5]]
PROBLEMS = {
    "stochastic": stochastic.Problem([0.2, 0.8]),
    "thresholding": thresholding.Problem([0.2, 0.8], threshold=0.5),
    "threshold": threshold.Problem(REACH, feedback="uncensored"),
    "threshold censored": threshold.Problem(REACH, feedback="censored"),
    "delayed": delayed.Problem([0.2, 0.8], delayed.Poisson(3)),
    "delayed named": delayed.Problem([0.2, 0.8], delayed.Poisson(3), feedback="named"),
    "semibandit": semibandit.Problem([0.5, 0.6], [0.3, 0.7], resource=0.8),
    "resource": resource.Problem(ARMS, [0.5, 1.0], **COSTS),
    "resource continuous": resource.Problem(ARMS, [0.5, 1.0], **COSTS, continuous=True),
}
pytestmark = pytest.mark.interpreted


@pytest.mark.filterwarnings("ignore:.*(infinity|symmetric and normalized):UserWarning")
@pytest.mark.parametrize("name", PROBLEMS)
def test_gymnasium_finds_nothing_wrong(name):
    check_env(GymnasiumEnvironment(PROBLEMS[name], horizon=20), skip_render_check=True)


class Last(stochastic.Policy):
    """A policy that always takes the last arm."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p):
        return p.arms - 1

    def update(p, s):
        pass


def play(environment, action, rounds, **reset):
    environment.reset(**reset)
    steps = [environment.step(action) for _ in range(rounds)]
    return [reward for _, reward, *_ in steps], steps[-1]


def test_episodes_are_the_replications_of_a_simulation():
    problem = PROBLEMS["stochastic"]
    curves = simulate(problem, [Last()], horizon=30, replications=3, seed=7, details=True)
    environment = GymnasiumEnvironment(problem, horizon=30)
    found = [sum(play(environment, 1, 30, **how)[0]) for how in ({"seed": 7}, {}, {})]
    assert found == curves.values("Last()", "cumulative_reward")[-1].tolist()


def test_regret_is_told_only_on_request():
    problem = PROBLEMS["stochastic"]
    *_, info = play(GymnasiumEnvironment(problem, horizon=10, with_regret=True), 0, 10)[1]
    assert info == {"regret": pytest.approx(6.0)}
    *_, info = play(GymnasiumEnvironment(problem, horizon=10), 0, 10)[1]
    assert info == {}
    limited = GymnasiumEnvironment(PROBLEMS["resource"], horizon=5, with_regret=True)
    *_, info = play(limited, np.array([1, 0]), 5)[1]
    gains = PROBLEMS["resource"].gains
    assert info["regret"] == pytest.approx(5 * (gains.max() - gains[1, 0]))


def test_a_delayed_reward_is_seen_when_it_arrives():
    problem = delayed.Problem([1.0, 0.0], delayed.Constant(2))
    environment = GymnasiumEnvironment(problem, horizon=4)
    assert play(environment, 0, 4, seed=1)[0] == [0.0, 0.0, 1.0, 1.0]
    named = delayed.Problem([1.0, 0.0], delayed.Constant(2), feedback="named")
    _, (seen, *_) = play(GymnasiumEnvironment(named, horizon=3), 0, 3, seed=1)
    assert (seen["totals"].tolist(), seen["counts"].tolist()) == ([1.0, 0.0], [1.0, 0.0])


def test_the_reward_at_a_threshold_says_whether_it_was_reached():
    environment = GymnasiumEnvironment(PROBLEMS["threshold censored"], horizon=50)
    before, _ = environment.reset(seed=3)
    for _ in range(50):
        after, reward, *_ = environment.step(0)
        assert reward == (after["value"] >= before["threshold"])
        assert after["value"] <= before["threshold"]
        before = after


def test_amounts_that_do_not_fit_shrink_by_a_common_factor():
    problem = semibandit.Problem([1.0, 1.0], [0.4, 0.4], resource=0.8)
    environment = GymnasiumEnvironment(problem, horizon=2)
    rewards, _ = play(environment, np.array([1.0, 1.0]), 2, seed=1)
    assert rewards == [0.0, 0.0]
    rewards, (seen, *_) = play(environment, np.array([1.0, 0.5]), 2, seed=1)
    assert rewards == [-1.0, -1.0]
    assert seen["losses"].tolist() == [0.0, 1.0]


def test_the_reward_of_a_run_is_its_gain():
    problem = PROBLEMS["resource"]
    environment = GymnasiumEnvironment(problem, horizon=50)
    environment.reset(seed=1)
    exceeded = []
    for _ in range(50):
        seen, reward, *_ = environment.step(np.array([0, 0]))
        exceeded.append(bool(seen["exceeded"]))
        gain = seen["reward"][0] - problem.cost(seen["consumption"][0])
        assert reward == pytest.approx(-problem.penalty(0.5) if exceeded[-1] else gain)
    assert set(exceeded) == {True, False}


def make(name="stochastic", **given):
    return GymnasiumEnvironment(PROBLEMS[name], **{"horizon": 5} | given)


def after_reset():
    environment = make()
    environment.reset(seed=1)
    return environment


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda: make(horizon=0), ValueError, "horizon must lie in"),
        (lambda: make("thresholding", with_regret=True), ValueError, "with_regret must be False"),
        (lambda: GymnasiumEnvironment(3, horizon=5), TypeError, "one of the settings stochastic"),
        (lambda: make().step(0), RuntimeError, "has not begun or is over"),
        (lambda: play(after_reset(), 0, 6), RuntimeError, "has not begun or is over"),
        (lambda: after_reset().step(2), ValueError, r"action must lie in Discrete\(2\), got 2"),
        (lambda: make().reset(seed=2**63), ValueError, "seed must lie in"),
    ],
)
def test_bad_input_is_named(act, error, message):
    with pytest.raises(error, match=message):
        act()
