"""Feedback that learners accept, their memory and their last round."""

import numpy as np
import pytest

from keyhole import Learner
from keyhole.contract.state_arrays import float_array, int_array
from keyhole.delayed import ODAAF, ODAAFB, QPMD, DelayedUCB1, Policy
from keyhole.play.learner import make_learner
from keyhole.stochastic import ImprovedUCB
from tests.delayed.cases import NAMED

pytestmark = pytest.mark.interpreted


class Hoarder(Policy):
    """Keep every reward, and pull the arm of the last."""

    works_with = ("named",)

    class State:
        stored = int_array()
        last = int_array()
        hoard = float_array("memory")

    def select(p, s):
        return int(s.last[0])

    def update(p, s, count, sources, rewards):
        for i in range(count):
            s.hoard[s.stored[0]] = rewards[i]
            s.stored[0] += 1
            s.last[0] = sources[i]


@pytest.fixture
def copy_learner(tmp_path):
    """Return a function that saves a learner and loads it."""

    def copy(learner):
        learner.save(tmp_path / "learner.json")
        return Learner.load(tmp_path / "learner.json", policies=[type(learner.policy)])

    return copy


def anonymous(policy=None, horizon=10_000):
    learner = (policy or ODAAF(expected_delay=2)).learner(
        arms=2, horizon=horizon, feedback="anonymous"
    )
    learner.ask()
    return learner


@pytest.mark.parametrize("total", [-0.5, 1.5, float("nan"), "1", None])
def test_a_total_that_cannot_have_arrived_changes_nothing(total):
    learner = anonymous()
    with pytest.raises((TypeError, ValueError), match="arrived must"):
        learner.tell(total)
    assert learner.state["totals"].sum() == 0
    learner.tell(1.0)
    with pytest.raises(RuntimeError, match="tell must follow an ask"):
        learner.tell(1.0)


def test_a_sum_above_what_all_pulls_can_have_earned_is_refused():
    learner = anonymous()
    learner.tell(1.0)
    learner.ask()
    with pytest.raises(ValueError, match=r"arrived must lie in \[0, 1\], got 2"):
        learner.tell(2.0)
    learner.tell(0.5)
    learner.ask()
    learner.tell(1.5)


def test_sums_may_round_up():
    learner = anonymous()
    for _ in range(10):
        learner.tell(0.0)
        learner.ask()
    learner.tell(0.0)
    learner.ask()
    learner.tell(12 * (1.0 + 1e-12))


def test_the_sum_of_a_day_is_told_in_its_last_round():
    learner = anonymous(ODAAFB(expected_delay=20 + 49.5, bound=40 + 99))
    for _ in range(99):
        learner.tell(0.0)
        learner.ask()
    learner.tell(45.0)
    assert learner.state["totals"].tolist() == [45.0, 0.0]


def test_a_sum_above_the_bound_of_delays_is_accepted_with_a_warning():
    learner = anonymous(ODAAFB(expected_delay=20, bound=40))
    for _ in range(99):
        learner.tell(0.0)
        learner.ask()
    with pytest.warns(UserWarning, match="delays of at most 40 rounds, as ODAAFB"):
        learner.tell(45.0)
    assert learner.state["totals"].tolist() == [45.0, 0.0]


@pytest.mark.parametrize(
    ("arrived", "message"),
    [
        (1.0, "arrived must be a list of .* pairs, got 1.0"),
        ([(0, 1.0), (0, 0.5)], "must have at most 1 rewards of arm 0, .*; got 2"),
        ([(1, 1.0)], "must have at most 0 rewards of arm 1, one for each of its pulls"),
        ([(2, 1.0)], r"arrived\[0\]\[0\] must lie in \[0, 2\), got 2"),
        ([(0, 1.5)], r"arrived\[0\]\[1\] must lie in \[0, 1\], got 1\.5"),
        ([3], r"arrived\[0\] must be a pair \(arm, reward\), got 3"),
    ],
)
def test_pairs_that_cannot_have_arrived_are_refused(arrived, message):
    learner = QPMD().learner(arms=2, feedback="named")
    learner.ask()
    with pytest.raises((TypeError, ValueError), match=message):
        learner.tell(arrived)
    learner.tell([(0, 1.0)])


def test_a_pull_has_one_reward_at_any_delay(copy_learner):
    learner = DelayedUCB1().learner(arms=2, feedback="named")
    for arrived in ([], [], [(1, 0.5)]):
        learner.ask()
        learner.tell(arrived)
    again = copy_learner(learner)
    for one in (learner, again):
        assert one.ask() == 0
        with pytest.raises(ValueError, match="at most 0 rewards of arm 1"):
            one.tell([(0, 1.0), (1, 0.5)])
        one.tell([(0, 1.0)])


def test_ask_beyond_a_needed_horizon_is_refused():
    with pytest.raises(TypeError, match=r"horizon \(rounds in all\) must be given"):
        QPMD(base=ImprovedUCB()).learner(arms=2, feedback="named")
    learner = QPMD(base=ImprovedUCB()).learner(arms=2, horizon=2, feedback="named")
    for _ in range(2):
        learner.ask()
        learner.tell([])
    with pytest.raises(RuntimeError, match="the horizon of 2 rounds has been reached"):
        learner.ask()


@pytest.mark.parametrize("policy", [*NAMED, Hoarder()], ids=repr)
def test_a_learner_without_a_horizon_has_no_last_round(policy, copy_learner):
    rounds = 1500
    learner = policy.learner(arms=2, feedback="named")
    larger = make_learner(policy, {"arms": 2, "named": 1, "memory": rounds})
    waiting = []
    for t in range(rounds):
        arm = learner.ask()
        assert arm == larger.ask()
        waiting.append((arm, float(t % 3 == 0)))
        arrived, waiting = (waiting, []) if t % 1200 == 1199 else ([], waiting)
        if t % 500 == 0:
            learner = copy_learner(learner)
        learner.tell(arrived)
        larger.tell(arrived)
    assert learner.state.keys() == larger.state.keys()


def test_where_kernels_are_interpreted_nothing_is_compiled_when_memory_grows(monkeypatch):
    def compile_it(owner, *given):
        raise AssertionError(f"{owner} was compiled")

    monkeypatch.setattr("keyhole.kernels.compile_cache._load_or_compile", compile_it)
    learner = Hoarder().learner(arms=2, feedback="named", interpreted=True)
    memory = learner.facts["memory"]
    waiting = []
    for _ in range(memory + 1):
        waiting.append((learner.ask(), 1.0))
        learner.tell(waiting if len(waiting) > memory else [])
    assert learner.facts["memory"] == 2 * memory


def test_queues_reuse_their_memory():
    learner = QPMD().learner(arms=2, feedback="named")
    for t in range(5000):
        learner.tell([(learner.ask(), float(t % 2))])
    assert learner.facts["memory"] == 1024
    assert learner.state["used"][0] <= 2


def test_the_text_of_a_learner():
    learner = anonymous()
    learner.tell(1.0)
    lines = repr(learner).splitlines()
    assert lines[0].endswith("after 1 round, 2 arms, horizon 10000, anonymous feedback")
    assert lines[1].strip().startswith("phase 1: tolerance 0.5, ")
    assert lines[2].strip() == "arm 0: remaining, credited with 1"
    named = QPMD().learner(arms=2, feedback="named")
    assert repr(named).splitlines()[1].strip() == "arm 0: 0 used rewards"


@pytest.mark.parametrize(
    ("group", "name", "value", "message"),
    [
        ("ledger", "pulls", 7, "its ledger must have one pull a round"),
        ("ledger", "told", 2, "no more rewards than pulls"),
        ("ledger", "told", -1, "no more rewards than pulls"),
        ("state", "held", 2, "no more than the 1 rewards that it was told"),
    ],
)
def test_an_inconsistent_ledger_is_refused(copy_learner, group, name, value, message):
    learner = QPMD().learner(arms=2, feedback="named")
    learner.ask()
    learner.tell([(0, 1.0)])
    learner._views_to_save()[group][name][0] = value
    with pytest.raises(ValueError, match=message):
        copy_learner(learner)


def test_pulls_are_not_shown_as_arrived_rewards():
    class Plain(Policy):
        works_with = ("named",)

        class State:
            pulls = int_array("arms")
            totals = float_array("arms")

        def select(p, t):
            return t % p.arms

        def update(p, s, arm):
            s.pulls[arm] += 1

    learner = Plain().learner(arms=2, feedback="named")
    learner.ask()
    learner.tell([])
    assert "used" not in repr(learner)
    assert "pulls: [0 1]" in repr(learner)


def long_phases():
    return ODAAF(expected_delay=20).learner(arms=2, horizon=10_000, feedback="anonymous")


def test_a_sum_of_several_rounds_is_nothing_before_the_last():
    lump, single = long_phases(), long_phases()
    assert lump.ask() == single.ask()
    lump.tell(arrived=45, rounds=100)
    for _ in range(99):
        single.tell(0)
        single.ask()
    single.tell(45)
    assert lump.rounds_told == single.rounds_told == 100
    assert repr(lump) == repr(single)
    assert lump.ask() == single.ask()


def test_named_rewards_of_several_rounds_are_of_the_pulled_arm():
    learner = QPMD().learner(arms=2, feedback="named")
    arm = learner.ask()
    learner.tell([(arm, 1)] * 30, rounds=40)
    assert learner.rounds_told == 40
    learner.ask()
    with pytest.raises(ValueError, match="at most 10 rewards of arm 0"):
        learner.tell([(arm, 1)] * 11, rounds=40)
    assert learner.rounds_told == 40


def test_more_rounds_than_the_policy_keeps_the_arm_are_refused():
    learner = long_phases()
    learner.ask()
    before = repr(learner)
    with pytest.raises(ValueError, match=r"at most \d+, after which ODAAF.* another arm"):
        learner.tell(45, rounds=9_000)
    assert repr(learner) == before
    with pytest.raises(ValueError, match=r"arrived must lie in \[0, 10\], got 45"):
        learner.tell(45, rounds=10)
    with pytest.raises(ValueError, match="rounds must be at least 1, got 0"):
        learner.tell(45, rounds=0)
    assert repr(learner) == before


def test_rounds_beyond_the_horizon_are_refused():
    learner = ODAAF(expected_delay=2).learner(arms=1, horizon=30, feedback="anonymous")
    learner.ask()
    with pytest.raises(ValueError, match=r"at most 30, with which the horizon .* got 31"):
        learner.tell(5, rounds=31)
    assert learner.rounds_told == 0
    learner.tell(5, rounds=30)
    assert learner.rounds_told == 30


@pytest.mark.parametrize("yes", [True, np.True_])
def test_a_bool_is_a_sum_of_0_or_1(yes):
    learner = long_phases()
    learner.ask()
    learner.tell(yes)
    assert learner.state["totals"].sum() == 1.0
