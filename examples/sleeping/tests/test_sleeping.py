"""The setting keeps the contract, and AUER takes the decisions of its reference."""

import math

import numpy as np
import pytest

from keyhole import simulate
from keyhole.testing import CheckContext, check_problem, check_setting, parametrize_with_checks
from keyhole_sleeping import AUER, SETTING, Problem, Uniform

PROBLEM = Problem(means=[0.2, 0.4, 0.6, 0.8], awake=[1, 0.9, 0.5, 0.3])


@parametrize_with_checks([CheckContext(policy, PROBLEM) for policy in (AUER(), Uniform())])
def test_policies_keep_the_contract(check, subject):
    check(subject)


def test_problem_and_setting_keep_the_contract():
    check_problem(PROBLEM, AUER())
    check_setting(SETTING, {"arms": 2}, context={"awake": [1, 0]}, vocabulary=AUER.vocabulary_class)


def reference(alpha, t, awake, history):
    """Return the arm that the paper's algorithm pulls, from all that was seen."""
    seen = {arm: [reward for other, reward in history if other == arm] for arm in awake}
    if new := [arm for arm in awake if not seen[arm]]:
        return new[0]
    width = {arm: math.sqrt(alpha * math.log(t) / len(found)) for arm, found in seen.items()}
    return max(awake, key=lambda arm: np.mean(seen[arm]) + width[arm])


@pytest.mark.parametrize("alpha", [8.0, 0.5])
def test_auer_takes_the_decisions_of_its_reference(alpha):
    draw, history = np.random.default_rng(7), []
    learner = AUER(alpha=alpha).learner(arms=4)
    for t in range(1, 300):
        awake = [arm for arm in range(4) if arm == 0 or draw.random() < 0.5]
        arm = learner.ask(awake=awake)
        assert arm == reference(alpha, t, awake, history)
        history.append((arm, float(draw.random() < 0.2 * (arm + 1))))
        learner.tell(history[-1][1])


def test_a_policy_that_pulls_a_sleeping_arm_is_refused():
    class Stubborn(Uniform):
        def select(p):
            return 3

    with pytest.raises(ValueError, match="took a decision that the setting does not allow"):
        simulate(PROBLEM, [Stubborn()], horizon=100, replications=8)


def test_who_learns_loses_less_to_the_best_arm_awake():
    curves = simulate(PROBLEM, [AUER(alpha=0.5), Uniform()], horizon=2000, replications=200)
    ours, theirs = (curves.mean(policy, "regret")[-1] for policy in ("AUER", "Uniform"))
    assert 0 < ours < theirs / 4
