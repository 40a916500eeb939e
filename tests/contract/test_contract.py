"""Every kind of setting runs in the engine and in a learner."""

import numpy as np
import pytest

from keyhole import simulate
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.play.learner import Learner
from tests.toys import TOYS

pytestmark = pytest.mark.interpreted

HORIZON = 60
CHECKPOINTS = (1, 17, 60)


@pytest.mark.parametrize("kind", TOYS)
def test_engine_and_learner_take_the_same_decisions(kind):
    policy, problem = TOYS[kind]
    curves = simulate(
        problem, {"it": policy}, horizon=HORIZON, replications=6, seed=5, checkpoints=CHECKPOINTS
    )
    for replication in (0, 3, 5):
        environment = InteractiveEnvironment(
            problem, seed=5, replication=replication, horizon=HORIZON
        )
        facts = {
            n: HORIZON if n == "horizon" else problem.fact(n)
            for n in policy.setting.known_quantities(policy.needs)
        }
        learner = Learner(policy, facts, seed=5, replication=replication)
        for t in range(1, HORIZON + 1):
            environment.play_round(learner)
            if t in CHECKPOINTS:
                for metric, value in environment.score(learner._recommend()).items():
                    c = CHECKPOINTS.index(t)
                    assert value == curves.values("it", metric)[c, replication]


@pytest.mark.parametrize("kind", [kind for kind in TOYS if kind != "horizon"])
def test_replications_differ_and_metrics_are_not_constant(kind):
    policy, problem = TOYS[kind]
    curves = simulate(problem, {"it": policy}, horizon=HORIZON, replications=20, seed=1)
    values = curves.values("it", curves.metrics[0])[0]
    assert len(np.unique(values)) > 1
    assert values.any()
