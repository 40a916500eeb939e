"""LeapsAndBounds: its phases are those of its authors' program, and need many runs."""

import numpy as np
import pytest

from keyhole import simulate
from keyhole.resource import LeapsAndBounds, Power, Problem, Replay, portfolio_problem
from keyhole.resource.policies.leaps_and_bounds import runs_per_phase
from tests.reference import resource as reference
from tests.resource.cases import learner_of

pytestmark = pytest.mark.interpreted

LAX = LeapsAndBounds(epsilon=1 / 3, delta=0.99, zeta=0.99)
TIMES = ([0.5, 0.6, 0.7], [0.2, 0.3, 2.0], [0.02, 0.3, 0.4])
PROBLEM = Problem(
    [Replay(np.ones(3), times) for times in TIMES], [0.05, 0.2, 1.0], Power(), Power()
)


def test_it_goes_through_phases_and_arms_as_the_reference_does():
    learner = learner_of(LAX, PROBLEM, None)
    slow = reference.LeapsAndBounds(
        arms=3, limits=[0.05, 0.2, 1.0], cost=None, penalty=None, **LAX.parameters()
    )
    turns, last = [0, 0, 0], None
    for _ in range(22_000):  # three phases
        arm, limit = learner.ask()
        assert slow.choose([]) == (arm, limit)
        used = TIMES[arm][turns[arm] % 3]
        turns[arm] += 1
        if used > limit:
            learner.tell(exceeded=True)
        else:
            learner.tell(1, used)
        slow.learn([(arm, limit, 1, used if used <= limit else None)])
        last = arm, limit
    assert learner.recommend() == slow.best([]) == last == (2, 1.0)
    assert learner.state["kept"][0] == 1
    assert learner.state["phase"][0] > 1


def test_two_thousand_runs_are_spent_on_the_first_arm():
    assert runs_per_phase(15, 0, 0.3, 0.5, 0.1) == 10_259
    policies = {"it": LeapsAndBounds()}
    curves = simulate(
        portfolio_problem("alike"), policies, horizon=2000, replications=2, details=True
    )
    assert (curves.values("it", "pulls[0]")[-1] == 2000).all()
