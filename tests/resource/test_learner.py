import numpy as np
import pytest

from keyhole import Learner
from keyhole.resource import RCUCB, Power, ReductionThompson, ReductionUCB, ZoomingRCUCB
from tests.resource.cases import drive, learner_of, reconstructed_problem, runs_of

pytestmark = pytest.mark.interpreted


def waiting(**more):
    learner = RCUCB().learner(
        arms=2, limits=[0.5, 1.0], cost=Power(slope=0.1), penalty=Power(slope=0.2), **more
    )
    learner.ask()
    return learner


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ({}, "tell needs reward and consumption, or exceeded=True alone for a run above"),
        ({"reward": 0.5}, "tell needs reward and consumption"),
        ({"consumption": 0.5}, "tell needs reward and consumption"),
        ({"exceeded": False}, "tell needs reward and consumption"),
        ({"reward": 0.5, "consumption": 0.2, "exceeded": True}, "exceeded=True alone for"),
        ({"consumption": 1.0, "exceeded": True}, "exceeded=True alone for"),
        ({"reward": 1.5, "consumption": 0.2}, r"reward must lie in \[0, 1\], got 1.5"),
        ({"reward": -0.1, "consumption": 0.2}, r"reward must lie in \[0, 1\], got -0.1"),
        ({"reward": np.nan, "consumption": 0.2}, r"reward must lie in \[0, 1\], got nan"),
        ({"reward": 0.5, "consumption": -0.2}, "consumption must be at least 0, got -0.2"),
        ({"reward": 0.5, "consumption": 1.2}, "consumption must be at most the limit, 1, got 1.2"),
        ({"reward": "1", "consumption": 0.2}, "reward must be a number, got '1'"),
        ({"exceeded": 1}, "exceeded must be True or False, got 1"),
    ],
)
def test_what_is_told_must_make_sense_and_changes_nothing_if_not(told, message):
    learner = waiting()
    before = {name: value.copy() for name, value in learner.state.items()}
    with pytest.raises((TypeError, ValueError), match=message):
        learner.tell(**told)
    assert all((before[name] == value).all() for name, value in learner.state.items())
    learner.tell(reward=1, consumption=1)


def test_tell_must_follow_ask():
    learner = waiting()
    learner.tell(exceeded=True)
    with pytest.raises(RuntimeError, match="tell must follow an ask"):
        learner.tell(exceeded=True)


def test_asking_twice_gives_the_same_pair():
    learner = waiting()
    assert learner.ask() == learner.ask() == (0, 1.0)


def test_it_prints_what_it_has_learnt():
    learner = waiting()
    assert repr(learner) == (
        "RCUCB(alpha=0.5, gain_range=1) after 0 rounds, 2 arms, 2 limits up to 1, "
        "waiting for feedback\n  arm 0: 0 runs\n  arm 1: 0 runs"
    )
    learner.tell(reward=0.5, consumption=0.25)
    assert "best so far: arm 0 with limit 1\n  arm 0: 1 run" in repr(learner)


@pytest.mark.parametrize(
    "policy", [RCUCB(), ReductionUCB(), ReductionThompson(), ZoomingRCUCB(lipschitz=9)], ids=repr
)
def test_a_function_of_ones_own_survives_saving(policy, tmp_path):
    problem = reconstructed_problem(
        "PosCorr", "small", arms=2, continuous=isinstance(policy, ZoomingRCUCB)
    )
    run = runs_of(problem, 3, 0)

    def made():
        return policy.learner(
            arms=2,
            limits=problem.limits,
            cost=lambda x: x / 10,
            penalty=lambda x: 0.1 + 0.3 * x * x,
            continuous=problem.continuous,
            horizon=90,
        )

    straight = drive(made(), run, 90)
    learner, pulls, asked = made(), {}, []
    for t in range(90):
        if t in (5, 40, 77):
            learner.save(tmp_path / "learner.json")
            learner = Learner.load(tmp_path / "learner.json")
        arm, limit = learner.ask()
        asked.append((arm, limit))
        reward, used = run(arm, pulls.get(arm, 0))
        pulls[arm] = pulls.get(arm, 0) + 1
        learner.tell(exceeded=True) if used > limit else learner.tell(reward, used)
    assert asked == straight


def test_every_tell_informs_about_smaller_limits_only():
    learner = learner_of(RCUCB(), reconstructed_problem("Indep", "small", arms=1), None)
    learner.ask()
    learner.tell(exceeded=True)
    assert learner.state["told"].tolist() == [[1, 1, 1]]
    assert learner.state["over"].tolist() == [[1, 1, 1]]
    learner.ask()
    learner._decision["limit"][()] = 0.6  # whatever it would have chosen
    told, over, net = (learner.state[name].copy() for name in ("told", "over", "net"))
    learner.tell(reward=0.9, consumption=0.4)
    assert (learner.state["told"] - told).tolist() == [[1, 1, 0]]
    assert (learner.state["over"] - over).tolist() == [[1, 0, 0]]
    assert (learner.state["net"] - net)[0] == pytest.approx([0, 0.9 - 0.04, 0])


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"arms": 0}, "arms must be at least 1|arms must lie in"),
        ({"arms": 2.0}, "arms must be a whole number, got 2.0"),
        ({"limits": [1.0, 0.5]}, "limits must rise, got 0.5 after 1"),
        (
            {"cost": Power(slope=2)},
            r"cost must lie in \[0, 1\] up to the largest limit, got 2 at 1",
        ),
        ({"penalty": None}, r"penalty \(.*\) must be given"),
        ({"penalty": lambda x: -x}, "penalty.* must be at least 0"),
        ({"penalty": lambda x: 1 - x / 2}, "penalty must not fall, got"),
        ({"continuous": "yes"}, "continuous must be True or False, got 'yes'"),
    ],
)
def test_bad_facts_are_named(facts, message):
    known = {"arms": 2, "limits": [1.0], "cost": Power(), "penalty": Power()}
    with pytest.raises((TypeError, ValueError), match=message):
        RCUCB().learner(**known | facts)
