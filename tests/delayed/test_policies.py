"""Tests that run for every policy of the setting."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.delayed import ODAAF, QPMD, Constant, Geometric, Poisson, Problem, Uniform
from keyhole.stochastic import KLUCB, UCB1, ImprovedUCB
from keyhole.stochastic import Problem as PromptProblem
from tests.delayed.cases import NAMED, PHASED, POLICIES, make_sampler, problem_for, reference_of
from tests.lengths import short_or_long
from tests.reference.delayed import play

pytestmark = pytest.mark.interpreted

DISTRIBUTIONS = [Constant(2), Uniform(0, 4), Geometric(2.0), Poisson(2.0)]


@pytest.mark.filterwarnings("ignore:.* gives up no arm within the horizon")
@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@settings(max_examples=short_or_long(3, 8), deadline=None)
@given(
    means=st.lists(st.floats(0, 1, width=16), min_size=1, max_size=4),
    distribution=st.sampled_from(DISTRIBUTIONS),
    seed=st.integers(0, 2**32),
)
def test_the_reference_takes_the_same_decisions(policy, means, distribution, seed):
    assume(
        distribution.bound <= getattr(policy, "bound", math.inf)
    )  # else it is told what cannot be
    horizon = short_or_long(1000, 1500) if policy in PHASED else 300
    problem = problem_for(policy, means, distribution)
    asked, arrivals = play(
        reference_of(policy, len(means), horizon),
        make_sampler(problem, seed, 0),
        len(means),
        horizon,
    )
    learner = policy.learner(arms=len(means), horizon=horizon, feedback=problem.feedback)
    for t in range(horizon):
        assert learner.ask() == asked[t], t
        pairs = arrivals[t]
        learner.tell(pairs if problem.named else sum(reward for _, reward in pairs))


def test_phases_switch_arms_more_rarely_than_ucb1():
    problem, horizon, switches = Problem([0.4, 0.6], Poisson(5.0), feedback="named"), 5000, []
    for policy in (ODAAF(expected_delay=5.0), QPMD()):
        reference = reference_of(policy, problem.arms, horizon)
        asked, _ = play(reference, make_sampler(problem, 0, 0), problem.arms, horizon)
        switches.append(np.count_nonzero(np.diff(asked)))
    odaaf, ucb1 = switches
    assert 0 < odaaf <= problem.arms * 3  # the gap is above the tolerance of the third phase
    assert ucb1 > 10 * odaaf


def test_a_queue_takes_no_more_places_than_rewards_have_waited_at_once():
    learner = QPMD().learner(arms=2, feedback="named")
    for n in range(1, 60):
        arm = learner.ask()
        learner.tell([(arm, 1.0)] * {18: 0, 19: 0, 20: 3}.get(n, 1))
    assert learner.state["used"][0] == 3


def test_without_delays_a_base_decides_as_it_would_alone():
    means = [0.3, 0.6, 0.5]
    for base in (UCB1(), KLUCB(), ImprovedUCB()):
        late = Problem(means, Constant(0), feedback="named")
        prompt = simulate(PromptProblem(means), {"it": base}, horizon=400, replications=2)
        queued = simulate(late, {"it": QPMD(base=base)}, horizon=400, replications=2)
        assert np.array_equal(prompt.values("it", "regret"), queued.values("it", "regret"))


@pytest.mark.parametrize("policy", NAMED, ids=repr)
def test_policies_that_need_names_refuse_anonymous_feedback(policy):
    with pytest.raises(ValueError, match=r"feedback must be 'named' for .* got 'anonymous'"):
        policy.learner(arms=2, horizon=100, feedback="anonymous")


@pytest.mark.parametrize("policy", PHASED, ids=repr)
def test_policies_in_phases_ignore_names(policy):
    values = []
    for feedback in ("anonymous", "named"):
        problem = Problem([0.2, 0.9, 0.5], Uniform(0, 4), feedback=feedback)
        curves = simulate(
            problem, {"it": policy}, horizon=short_or_long(1000, 4000), replications=2
        )
        values.append(curves.values("it", "regret"))
    assert np.array_equal(*values)
