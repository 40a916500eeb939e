"""A log is gone through as if each of its rounds had been asked for and told."""

import copy

import numpy as np
import pytest

from keyhole.play import learning_from_log
from keyhole.resource import RCUCB, Power, ReductionUCB
from keyhole.stochastic import UCB1, ImprovedUCB, ThompsonSampling
from keyhole.threshold import KaplanMeierUCB, SurvivalThompson
from keyhole.thresholding import LSA, OptKG, RoundRobin

ROUNDS = 60
DRAW = np.random.default_rng(3)
REWARDS = DRAW.random(ROUNDS).round(3).tolist()


def of_arms(learner):
    log = []
    for reward in REWARDS:
        log.append((learner.ask(), reward))
        learner.tell(reward)
    return zip(*log, strict=True)


def of_thresholds(learner):
    log = []
    for t, reward in enumerate(REWARDS):
        threshold = 1 + t % 3
        value = int(4 * reward)
        arm = learner.ask(threshold=threshold)
        censored = learner.facts["censored"] and value >= threshold
        learner.tell(censored=True) if censored else learner.tell(value)
        log.append((threshold, arm, threshold if censored else value))
    return zip(*log, strict=True)


def of_runs(learner):
    log = []
    for reward in REWARDS:
        arm, limit = learner.ask()
        over = reward > 0.7
        if over:
            learner.tell(exceeded=True)
        else:
            learner.tell(reward, reward / 3)
        log.append((arm, limit, *((9.0, 9.0) if over else (reward, reward / 3)), over))
    return zip(*log, strict=True)


def bandit(policy, **facts):
    return policy.learner(arms=3, seed=4, **facts)


COSTS = {"limits": [0.5, 1.0], "cost": Power(slope=0.1), "penalty": Power(slope=0.2)}
LEARNERS = {
    "LSA": (lambda: bandit(LSA(), threshold=0.5), of_arms),
    "OptKG": (lambda: bandit(OptKG(), threshold=0.5), of_arms),
    "Thompson": (lambda: bandit(ThompsonSampling()), of_arms),
    "UCB1": (lambda: bandit(UCB1()), of_arms),
    "censored": (
        lambda: bandit(SurvivalThompson(), levels=4, feedback="censored"),
        of_thresholds,
    ),
    "uncensored": (
        lambda: bandit(KaplanMeierUCB(), levels=4, feedback="uncensored", horizon=90),
        of_thresholds,
    ),
    "RCUCB": (lambda: bandit(RCUCB(), **COSTS), of_runs),
}
pytestmark = [
    pytest.mark.interpreted,
]
COMPILED = ("Thompson", "censored", "RCUCB")  # a draw, a context, a decision of two parts


def memory(learner):
    """Return all that a learner is, but who may ask and what it was last told."""
    saved = learner._make_saved_learner()
    arrays = {n: a.tolist() for group in saved.arrays.values() for n, a in group.items()}
    return saved.rounds, saved.pending, saved.stream.tolist(), arrays


@pytest.fixture(
    params=[
        pytest.param(name, marks=[pytest.mark.compiled] if name in COMPILED else [])
        for name in LEARNERS
    ]
)
def logged(request):
    """Return a learner as it was, its log, and the learner after it."""
    make, play = LEARNERS[request.param]
    after = make()
    return make(), [list(column) for column in play(after)], after


@pytest.mark.interpreted
def test_its_own_log_makes_a_learner_what_it_was(logged, monkeypatch):
    learner, log, after = logged
    monkeypatch.setattr(learning_from_log, "_BLOCK_ROWS", 25)
    assert learner.replay(*log) == ROUNDS
    assert memory(learner) == memory(after)
    assert repr(learner) == repr(after)


def test_a_log_may_be_gone_through_in_pieces(logged):
    learner, log, after = logged
    learner.replay(*([column[:20] for column in log]))
    learner.replay(*([column[20:20] for column in log]))
    learner.replay(*([column[20:] for column in log]))
    assert memory(learner) == memory(after)


def test_a_log_that_goes_wrong_late_changes_nothing(logged):
    learner, log, _ = logged
    learner.replay(*([column[:20] for column in log]))
    before, shown = memory(learner), repr(learner)
    rest = [column[20:] for column in log]
    rest[-1] = [*rest[-1][:-1], [[7]]]
    with pytest.raises((TypeError, ValueError), match="must"):
        learner.replay(*rest)
    assert memory(learner) == before
    assert repr(learner) == shown


def test_columns_have_a_row_each(logged):
    learner, log, _ = logged
    with pytest.raises(ValueError, match=r"must have 60 entries, one a round; got 59"):
        learner.replay(*log[:-1], log[-1][:-1])
    assert learner.rounds == 0


def test_a_log_waits_until_a_decision_is_told(logged):
    learner, log, _ = logged
    learner._ask(1.0 if learner._context else None)
    with pytest.raises(RuntimeError, match="tell must come first"):
        learner.replay(*log)


def test_one_that_counts_learns_from_the_decisions_of_others():
    learner, told = bandit(LSA(), threshold=0.5), bandit(LSA(), threshold=0.5)
    arms = DRAW.integers(0, 3, ROUNDS)
    own = 0
    for arm, reward in zip(arms, REWARDS, strict=True):
        own += told.ask() == arm
        told._decision["arm"][()] = arm
        told.tell(reward)
    assert learner.replay(arms, REWARDS) == own < ROUNDS
    assert memory(learner) == memory(told)
    pulls = learner.state["pulls"].tolist()
    assert pulls == np.bincount(arms, minlength=3).tolist()


@pytest.mark.parametrize(("arms", "step"), [(1, 0), (0, 1)])
def test_a_decision_that_differs_in_one_part_is_not_its_own(arms, step):
    arm, limit = bandit(ReductionUCB(), **COSTS).ask()
    other = (arm + arms) % 3, 1.5 - limit if step else limit
    learner = bandit(ReductionUCB(), **COSTS)
    with pytest.raises(ValueError, match=r"row 0 of the log must be what Reduc.* decides there"):
        learner.replay(*([value] for value in other), [1.0], [0.25], [False])


@pytest.mark.parametrize(
    ("policy", "facts", "played"),
    [
        (OptKG(), {"threshold": 0.5}, (REWARDS,)),
        (ThompsonSampling(), {}, (REWARDS,)),
        (SurvivalThompson(), {"levels": 4, "feedback": "uncensored"}, None),
        (KaplanMeierUCB(), {"levels": 4, "feedback": "uncensored", "horizon": 90}, None),
    ],
    ids=repr,
)
def test_an_off_policy_one_stays_a_number_whatever_it_is_told(policy, facts, played):
    assert policy.off_policy
    learner, arms = bandit(policy, **facts), np.full(ROUNDS, 2)
    if played:
        learner.replay(arms, *played)
    else:
        learner.replay(np.full(ROUNDS, 4), arms, DRAW.integers(0, 5, ROUNDS))
    assert all(np.isfinite(a).all() for n, a in learner.state.items() if n != "index")
    assert learner._ask(2.0 if learner._context else None) in range(3)


def test_one_that_does_not_says_where_it_would_have_decided_otherwise():
    learner = bandit(ImprovedUCB(), horizon=100)
    again = copy.copy(learner)
    with pytest.raises(ValueError, match=r"row 1 of the log must be what ImprovedUCB\(\) decides"):
        learner.replay([0, 2, 1], [1, 1, 1])
    assert memory(learner) == memory(again)


def test_whether_something_happened_is_a_reward_in_a_log():
    one, other = (bandit(RoundRobin(), threshold=0.5) for _ in range(2))
    one.replay([0, 1, 2], [True, False, True])
    other.replay(np.array([0, 1, 2]), np.array([1.0, 0.0, 1.0]))
    assert memory(one) == memory(other)


@pytest.mark.parametrize(
    ("arms", "rewards", "message"),
    [
        ([0, 3], [0, 1], r"arms\[1\] must lie in \[0, 3\), got 3"),
        ([0, -1], [0, 1], r"arms\[1\] must lie in \[0, 3\), got -1"),
        ([0, 1.5], [0, 1], "arms must be a list of whole numbers"),
        (["0", "1"], [0, 1], "arms must be a list of whole numbers"),
        (0, [0, 1], "arms must be a list of whole numbers, got 0"),
        ([0, 1], [0, 1.5], r"rewards\[1\] must lie in \[0, 1\], got 1.5"),
        ([0, 1], [0, np.nan], r"rewards\[1\] must lie in \[0, 1\], got nan"),
        ([0, 1], [0, None], "rewards must be a list of numbers"),
        ([0, 1], [[0, 1], [1, 0]], "rewards must be a list of numbers"),
    ],
)
def test_what_cannot_be_is_named_before_anything_is_told(arms, rewards, message):
    learner = bandit(LSA(), threshold=0.5)
    with pytest.raises((TypeError, ValueError), match=message):
        learner.replay(arms, rewards)
    assert learner.rounds == 0


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("censored", lambda log: log[2].__setitem__(4, 3), r"values\[4\] must be at most the"),
        ("RCUCB", lambda log: log[3].__setitem__(0, 2.0), r"consumptions\[0\] must be at most"),
        ("RCUCB", lambda log: log[4].__setitem__(0, 1), "exceeded must be a list of True or False"),
    ],
)
def test_settings_refuse_impossible_rounds(name, change, message):
    make, play = LEARNERS[name]
    log = [list(column) for column in play(make())]
    change(log)
    learner = make()
    with pytest.raises((TypeError, ValueError), match=message):
        learner.replay(*log)
    assert learner.rounds == 0
