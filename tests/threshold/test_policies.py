"""Tests that run for every policy of the setting."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import parameter, simulate
from keyhole.threshold import (
    DKWUCB,
    KMUCB,
    OPTIM,
    AnytimeDKWUCB,
    AnytimeKaplanMeierUCB,
    AnytimeOPTIM,
    IndexPolicy,
    KaplanMeierThompson,
    KaplanMeierUCB,
    MonotoneKLUCB,
    PerThresholdUCB,
    Problem,
    RoundRobin,
    SurvivalThompson,
)
from tests.lengths import short_or_long
from tests.reference.threshold import play
from tests.threshold.cases import (
    FITTING,
    FIVE,
    POLICIES,
    drive,
    learner_of,
    problem_for,
    reference_of,
    sampler,
    thresholds_of,
)

pytestmark = pytest.mark.interpreted

DRAWING = (KaplanMeierThompson, SurvivalThompson)


@st.composite
def _instances(draw):
    arms, levels = draw(st.integers(1, 4)), draw(st.integers(1, 5))
    chance = st.floats(0, 1, width=16)
    rows = draw(
        st.lists(st.lists(chance, min_size=levels, max_size=levels), min_size=arms, max_size=arms)
    )
    return [sorted(row, reverse=True) for row in rows]


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@settings(max_examples=short_or_long(3, 12), deadline=None)
@given(survival=_instances(), seed=st.integers(0, 2**32))
def test_the_reference_takes_the_same_decisions(policy, survival, seed):
    problem, rounds = problem_for(policy, survival), 120
    thresholds = thresholds_of(problem, rounds, seed, 0)
    sample = sampler(problem.survival, seed, 0)
    slow = play(
        reference_of(policy, problem, rounds, seed),
        lambda t: thresholds[t - 1],
        sample,
        rounds,
        censored=problem.censored,
    )
    learner = learner_of(policy, problem, rounds, seed=seed)
    assert drive(learner, problem, thresholds, sample) == slow


@pytest.mark.filterwarnings("ignore:MonotoneKLUCB.* ignores what samples tell")
@pytest.mark.parametrize("order", ["iid", "adversarial", "optimistic"])
@pytest.mark.parametrize("policy", [MonotoneKLUCB(), SurvivalThompson()], ids=repr)
def test_policies_for_any_order_agree_with_their_references_on_each(policy, order):
    for feedback in ("censored", "uncensored"):
        problem = Problem(FIVE, feedback=feedback, order=order)
        rounds = short_or_long(50, 80)
        thresholds = thresholds_of(problem, rounds, 3, 0)
        sample = sampler(problem.survival, 3, 0)
        slow = play(
            reference_of(policy, problem, rounds, seed=7),
            lambda t, given=thresholds: given[t - 1],
            sample,
            rounds,
            censored=problem.censored,
        )
        learner = learner_of(policy, problem, rounds, seed=7)
        assert drive(learner, problem, thresholds, sample) == slow


def test_a_bound_learnt_at_a_low_level_caps_the_higher_ones():
    learner = MonotoneKLUCB().learner(arms=2, levels=5, feedback="censored")
    for _ in range(40):  # arm 0 fails at level 1, arm 1 does not
        arm = learner.ask(threshold=1)
        learner.tell(0 if arm == 0 else None, censored=arm == 1)
    for level in (2, 3, 4, 5):
        assert learner.ask(threshold=level) == 1
        learner.tell(censored=True)


def test_survival_thompson_reports_the_estimate_of_kaplan_and_meier():
    learner = SurvivalThompson().learner(arms=1, levels=4, feedback="censored")
    pulls = [(2, 2), (4, 4), (3, 0), (1, 1), (3, 1), (4, 2)]
    for threshold, seen in pulls:
        learner.ask(threshold=threshold)
        learner.tell(None if seen == threshold else seen, censored=seen == threshold)
    # Lost from sight at threshold c: it lasted longer than c - 1.
    durations = [min(seen, c - 1) for c, seen in pulls]
    expected, chance = [], 1.0
    for time in range(4):
        at_risk = sum(duration >= time for duration in durations)
        ended = sum(seen == time < c for c, seen in pulls)
        chance *= 1.0 - ended / at_risk
        expected.append(chance)
    survival, _ = learner.estimates()
    assert survival[0].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("order", ["iid", "cyclic", "adversarial", "optimistic"])
def test_kaplan_meier_agrees_with_its_reference_on_every_order(order):
    for feedback in ("censored", "uncensored"):
        problem, rounds = Problem(FIVE, feedback=feedback, order=order), short_or_long(200, 400)
        thresholds = thresholds_of(problem, rounds, 3, 0)
        sample = sampler(problem.survival, 3, 0)
        slow = play(
            reference_of(KaplanMeierUCB(), problem, rounds),
            lambda t, given=thresholds: given[t - 1],
            sample,
            rounds,
            censored=problem.censored,
        )
        fast = drive(learner_of(KaplanMeierUCB(), problem, rounds), problem, thresholds, sample)
        assert fast == slow


def test_on_falling_thresholds_kaplan_meier_is_optim():
    problem = Problem(FIVE, feedback="censored", order="optimistic")
    rounds, runs = short_or_long(300, 3000), short_or_long(4, 20)
    curves = simulate(problem, [OPTIM(), KaplanMeierUCB()], horizon=rounds, replications=runs)
    first, second = (curves.values(label, "regret") for label in curves.labels)
    assert np.array_equal(first, second)


def test_on_rising_thresholds_kaplan_meier_is_a_bandit_for_each_threshold():
    class WideUCB(PerThresholdUCB):
        """With the width of Lemma 4 in place of UCB1's."""

        needs = ("horizon",)

        def index(p, t, tried, reached):
            return reached / tried + (2.0 * 2.0 * np.log(2.0 * p.horizon) / tried) ** 0.5

    problem = Problem(FIVE, feedback="censored", order="adversarial")
    rounds, runs = short_or_long(300, 3000), short_or_long(4, 20)
    curves = simulate(problem, [WideUCB(), KaplanMeierUCB()], horizon=rounds, replications=runs)
    first, second = (curves.values(label, "regret") for label in curves.labels)
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    "policy",
    # A bound of 1 stays 1 while nothing fails, and draws are no ties.
    [p for p in POLICIES if not isinstance(p, (KMUCB, MonotoneKLUCB, *DRAWING))],
    ids=repr,
)
def test_equal_arms_are_pulled_from_the_lowest_on(policy):
    problem = problem_for(policy, [[1.0, 1.0]] * 3)
    asked = drive(learner_of(policy, problem, 24), problem, [2] * 24, lambda arm, n: 2)
    assert asked == [0, 1, 2] * 8


@pytest.mark.parametrize("shift", [0.0, -1e9, 1e9])
def test_an_index_policy_pulls_the_largest_index_whatever_its_sign(shift):
    class Least(IndexPolicy):
        """Goes round: the arm tried least has the largest index."""

        offset: float = parameter(default=0.0)

        def index(p, t, tried, reached):
            return p.offset - tried

    learner = Least(offset=shift).learner(arms=3, levels=1, feedback="censored")
    asked = []
    for _ in range(9):
        asked.append(learner.ask(threshold=1))
        learner.tell(0)
    assert asked == [0, 1, 2] * 3


def test_policies_of_uncensored_feedback_refuse_the_other():
    for policy in (DKWUCB(), AnytimeDKWUCB()):
        with pytest.raises(
            ValueError, match=r"feedback must be 'uncensored' for .*UCB.*'censored'"
        ):
            policy.learner(arms=2, levels=2, feedback="censored", horizon=10)
        with pytest.raises(ValueError, match="feedback must be 'uncensored'"):
            simulate(Problem(FIVE, feedback="censored"), [policy], horizon=10, replications=1)


@pytest.mark.slow
@pytest.mark.compiled
def test_every_policy_learns():
    for policy in POLICIES:
        if isinstance(policy, KMUCB | RoundRobin):
            continue
        problem = problem_for(policy)
        curves = simulate(
            problem, [policy], horizon=20_000, replications=8, checkpoints=[2000, 20_000]
        )
        early, late = curves.mean(repr(policy), "regret")
        untaught = 20_000 * problem.gaps.mean()
        assert late < 0.3 * untaught
        if FITTING[type(policy)][1] == "iid":
            assert late - early < 5 * early


@pytest.mark.parametrize(
    "policy", [AnytimeKaplanMeierUCB(), MonotoneKLUCB(), KaplanMeierThompson()], ids=repr
)
def test_a_policy_that_ignores_what_is_seen_beyond_the_threshold_says_so(policy):
    told = {"arms": 2, "levels": 3}
    words = r"ignores what samples tell beyond the threshold; .* take DKWUCB\(\) or SurvivalThom"
    with pytest.warns(UserWarning, match=words):
        policy.learner(feedback="uncensored", **told)
    policy.learner(feedback="censored", **told)  # warnings are errors
    with pytest.warns(UserWarning, match=words):
        simulate(Problem(FIVE, feedback="uncensored"), [policy], horizon=10, replications=1)


def test_policies_that_use_whole_samples_or_lose_nothing_do_not_warn():
    for policy in (SurvivalThompson(), AnytimeDKWUCB(), AnytimeOPTIM(), RoundRobin()):
        policy.learner(arms=2, levels=3, feedback="uncensored")
