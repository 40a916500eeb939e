"""Rewards, and what is in their units, are told and shown in the user's."""

import copy
import json

import numpy as np
import pytest
from scipy import stats

from keyhole import Learner
from keyhole.delayed import ODAAF, QPMD, DelayedUCB1
from keyhole.distributions import Replay
from keyhole.resource import RCUCB, Power
from keyhole.stochastic import KLUCB, UCB1, Problem
from keyhole.study import Study
from keyhole.threshold import KaplanMeierUCB
from keyhole.thresholding import LSA, UCBE, KnownGaps

pytestmark = pytest.mark.interpreted

STARS = (1, 5)
REWARDS = np.random.default_rng(1).integers(0, 9, 40) / 8  # exact in both units


def pulls(learner, rewards):
    arms = []
    for reward in rewards:
        arms.append(learner.ask())
        learner.tell(reward)
    return arms


@pytest.mark.parametrize(
    ("policy", "stars", "plain"),
    [
        (LSA(), {"threshold": 3.0}, {"threshold": 0.5}),
        (UCB1(), {}, {}),
        (
            KnownGaps(),
            {"threshold": 3.0, "gaps": [1.0, 0.5, 2.0]},
            {"threshold": 0.5, "gaps": [0.25, 0.125, 0.5]},
        ),
        (UCBE(0), {"threshold": 3, "horizon": 99, "hardness": 2}, {"hardness": 32, "horizon": 99}),
    ],
    ids=repr,
)
def test_stars_lead_to_the_same_decisions(policy, stars, plain):
    if "threshold" in stars:
        plain = {"threshold": 0.5} | plain
    one = policy.learner(arms=3, scale=STARS, **stars)
    other = policy.learner(arms=3, **plain)
    assert pulls(one, (1 + 4 * REWARDS).tolist()) == pulls(other, REWARDS.tolist())
    assert np.array_equal(one.state["totals"], other.state["totals"])


def test_a_learner_shows_what_it_knows_in_its_units():
    learner = LSA().learner(arms=2, threshold=3.5, scale=STARS)
    pulls(learner, [5, 2, 4])
    assert repr(learner) == (
        "LSA(alpha=1.35) after 3 rounds, 2 arms, threshold 3.5, rewards from 1 to 5\n"
        "  arm 0: above, 2 pulls, mean 4.5 [1.3, 5.0] at any time\n"
        "  arm 1: below, 1 pull, mean 2.0 [1.0, 5.0] at any time"
    )
    assert learner.scale == (1, 5)


def test_a_log_is_in_its_units():
    one, other = (LSA().learner(arms=3, threshold=3, scale=STARS) for _ in range(2))
    rewards = 1 + 4 * REWARDS
    one.replay(pulls(other, rewards.tolist()), rewards)
    assert repr(one) == repr(other)
    with pytest.raises(ValueError, match=r"rewards\[0\] must lie in \[1, 5\], got 0"):
        one.replay([0], [0])


@pytest.mark.parametrize("reward", [0, 5.5, True, np.True_, float("nan"), "4"])
def test_what_is_no_reward_in_its_units_changes_nothing(reward):
    learner = LSA().learner(arms=2, threshold=3.5, scale=STARS)
    learner.ask()
    before = repr(learner)
    with pytest.raises((TypeError, ValueError), match=r"reward must (lie in \[1, 5\]|be a number)"):
        learner.tell(reward)
    assert repr(learner) == before


@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"threshold": 0.5, "scale": (1, 5)}, r"threshold must lie in \(1, 5\), got 0.5"),
        ({"threshold": 3, "scale": (5, 1)}, r"high, got \(5, 1\) \(did you mean \(1, 5\)\?\)"),
        ({"threshold": 3, "scale": (1, 1)}, "scale must have its low below its high"),
        ({"threshold": 3, "scale": 5}, r"scale must be a pair \(low, high\), got 5"),
        ({"threshold": 3, "scale": (1, "5")}, r"scale\[1\] must be a number, got '5'"),
    ],
)
def test_a_scale_and_what_is_in_it_are_checked(facts, message):
    with pytest.raises((TypeError, ValueError), match=message):
        LSA().learner(arms=2, **facts)


def test_errors_about_values_outside_of_0_and_1_suggest_a_scale():
    suggested = r"; for rewards in other units, make the learner or study with scale=\(low, high\)$"
    with pytest.raises(ValueError, match=rf"^threshold must lie in \(0, 1\), got 3.5{suggested}"):
        LSA().learner(arms=2, threshold=3.5)
    learner = LSA().learner(arms=2, threshold=0.5)
    with pytest.raises(
        ValueError, match=rf"^rewards\[1\] must lie in \[0, 1\], got 5.0{suggested}"
    ):
        learner.replay([0, 1], [1, 5])
    learner.ask()
    with pytest.raises(ValueError, match=rf"^reward must lie in \[0, 1\], got 4{suggested}"):
        learner.tell(4)


def test_other_errors_suggest_no_scale():
    for rewards in ([1], ["good", "bad"]):
        with pytest.raises((TypeError, ValueError), match=r"rewards must (?!.*scale=)"):
            LSA().learner(arms=2, threshold=0.5).replay([0, 1], rewards)
    with pytest.raises(ValueError, match=r"got 0\.5$"):
        LSA().learner(arms=2, threshold=0.5, scale=STARS)


@pytest.mark.parametrize(
    ("make", "formula"),
    [
        (lambda: Problem([Replay([1, 5])]), r"\(reward - 1\) / 4"),
        (lambda: Problem([stats.uniform(-1, 4)]), r"\(reward \+ 1\) / 4"),
        (lambda: Problem.replay({"a": [1, 5]}), r"\(reward - low\) / \(high - low\)"),
    ],
)
def test_problems_say_how_to_convert_rewards_in_other_units(make, formula):
    with pytest.raises(
        ValueError, match=rf"simulations .* from 0 to 1: convert yours by {formula}$"
    ):
        make()
    with pytest.raises(ValueError, match=r"samples\['a'\] must have at least one entry.*none$"):
        Problem.replay({"a": []})


def test_a_scale_is_given_once(tmp_path):
    study = Study.create(tmp_path / "s.db", "stars", UCB1(), ["a", "b"], scale=STARS)
    for stars in (5, 2, 4, 4):
        study.tell(study.ask().id, stars)
    replayed = study.replay(KLUCB())
    assert replayed.asked == 4
    study.change_policy(KLUCB())
    study.tell(study.ask().id, 4.5)
    assert study.definition.scale == STARS


def test_a_scale_is_saved_and_copied(tmp_path):
    learner = LSA().learner(arms=2, threshold=3.5, scale=STARS)
    pulls(learner, [5, 2, 4])
    learner.save(tmp_path / "it.json")
    for again in (Learner.load(tmp_path / "it.json"), copy.copy(learner)):
        assert repr(again) == repr(learner)
        assert pulls(again, [2.5, 3.5, 4]) == pulls(copy.copy(learner), [2.5, 3.5, 4])


def test_only_a_file_with_a_scale_is_of_a_later_version(tmp_path):
    versions = []
    for scale in ((0, 1), STARS):
        LSA().learner(arms=2, threshold=0.99 + scale[0], scale=scale).save(tmp_path / "it.json")
        versions.append(json.loads((tmp_path / "it.json").read_text())["version"])
    assert versions == [1, 2]


def test_rewards_that_arrive_late_are_in_its_units():
    one = DelayedUCB1().learner(arms=2, feedback="named", scale=STARS)
    other = DelayedUCB1().learner(arms=2, feedback="named")
    for reward in REWARDS.tolist():
        arm = one.ask()
        assert arm == other.ask()
        one.tell([(arm, 1 + 4 * reward)])
        other.tell([(arm, reward)])
    mean = other.state["totals"][0] / other.state["arrived"][0]
    assert f"mean {1 + 4 * mean:.1f} [" in repr(one)


@pytest.mark.filterwarnings("ignore:.* gives up no arm")
def test_sums_are_in_its_units_where_nothing_is_0():
    euros = ODAAF(expected_delay=2).learner(
        arms=2, horizon=100, feedback="anonymous", scale=(0, 50)
    )
    euros.ask()
    euros.tell(20)
    assert euros.state["totals"].sum() == 0.4
    euros.ask()
    with pytest.raises(ValueError, match=r"arrived must lie in \[0, 80\], got 81"):
        euros.tell(81)
    with pytest.raises(ValueError, match=r"scale must begin at 0 .* got \(1.0, 5.0\)"):
        ODAAF(expected_delay=2).learner(arms=2, horizon=100, feedback="anonymous", scale=STARS)


@pytest.mark.parametrize(("low", "high"), [(0.0, 4.0), (1.0, 5.0), (-1.0, 3.0)])
def test_cost_and_penalty_are_in_the_units_of_rewards(low, high):
    span = high - low
    one = RCUCB().learner(
        arms=2,
        limits=[0.5, 1.0],
        cost=Power(slope=span * 0.125),
        penalty=Power(slope=span * 0.25, constant=span * 0.5 - low),
        scale=(low, high),
    )
    other = RCUCB().learner(
        arms=2,
        limits=[0.5, 1.0],
        cost=Power(slope=0.125),
        penalty=Power(slope=0.25, constant=0.5),
    )
    for reward in REWARDS.tolist():
        assert one.ask() == other.ask()
        if reward > 0.75:
            one.tell(exceeded=True)
            other.tell(exceeded=True)
        else:
            one.tell(low + span * reward, reward / 2)
            other.tell(reward, reward / 2)
    assert np.array_equal(one.state["estimate"], other.state["estimate"])
    assert "rewards from" in repr(one)


def test_exceeding_is_never_better_than_the_least_reward():
    with pytest.raises(ValueError, match="penalty must be at least 1, or a stopped run"):
        RCUCB().learner(arms=2, limits=[1.0], cost=Power(), penalty=Power(slope=1), scale=(-1, 1))


def test_settings_whose_feedback_is_no_reward_have_no_scale():
    with pytest.raises(TypeError, match=r"learner\(\) takes arms, levels.*; got 'scale'"):
        KaplanMeierUCB().learner(arms=2, levels=3, feedback="censored", horizon=9, scale=STARS)


def test_named_rewards_are_stored_in_their_units():
    learner = QPMD().learner(arms=1, feedback="named", scale=STARS)
    for _ in range(1100):
        learner.ask()
        learner.tell([])
    learner.ask()
    learner.tell([(0, 5)] * 1101)
    assert learner.facts["memory"] > 1024
    assert "rewards from 1 to 5" in repr(learner)


def test_who_tells_other_units_hears_of_scales():
    learner = UCB1().learner(arms=2)
    learner.ask()
    with pytest.raises(ValueError, match=r"must lie in \[0, 1\], got 20; .* scale=\(low, high\)"):
        learner.tell(20)


def test_who_tells_the_arm_too_hears_that_it_is_known():
    learner = UCB1().learner(arms=2)
    learner.ask()
    with pytest.raises(TypeError, match=r"tell takes the reward alone: .*; got \(0, 1\)"):
        learner.tell(0, 1)
    learner.tell(1)
    assert learner.rounds_told == 1
