"""All policies of the setting: references and special cases."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole import simulate
from keyhole.draws.streams import POLICY, stream
from keyhole.semibandit import (
    CSBDT,
    CSBDTUCB,
    CSBST,
    CTS,
    ESCB,
    MPTS,
    SDCB,
    Problem,
    ThresholdThompson,
)
from tests.lengths import short_or_long
from tests.semibandit.cases import OWN, POLICIES, losses_of, reference_of, shown, told

# Most of these problems are not what the policies are made for; what is warned of then is tested
# beside the search.
pytestmark = [
    pytest.mark.interpreted,
    pytest.mark.filterwarnings("ignore:.* may search for"),
    pytest.mark.filterwarnings("ignore:.* to each arm that it funds"),
    pytest.mark.filterwarnings("ignore:.* the estimate was too low"),
]


def learner_of(policy, problem, seed):
    return policy.learner(
        arms=problem.arms, resource=problem.resource, **told(policy, problem), seed=seed
    )


instances = st.integers(1, 5).flatmap(
    lambda arms: st.builds(
        Problem,
        st.lists(st.floats(0.05, 1), min_size=arms, max_size=arms),
        st.lists(st.floats(0.05, 1), min_size=arms, max_size=arms) | st.floats(0.05, 1),
        st.floats(0.2, arms + 0.5),
    )
)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
@settings(max_examples=short_or_long(3, 10), deadline=None)
@given(problem=instances, seed=st.integers(0, 2**32))
def test_the_reference_takes_the_same_decisions(policy, problem, seed):
    slow, rng = reference_of(policy, problem), stream(seed, 0, POLICY)
    learner = learner_of(policy, problem, seed)
    for t in range(1, short_or_long(150, 300) + 1):
        expected, asked = slow.ask(rng, t), learner.ask()
        found, total = asked.tolist(), 0.0
        assert found == expected or found == pytest.approx(expected, abs=1e-9), t
        for amount in found:
            total += amount
        assert total <= problem.resource
        assert all(0 <= amount <= 1 for amount in found)
        losses = shown(problem, asked, losses_of(problem, seed, 0, t))
        slow.tell(losses, t, rng)
        learner.tell(losses)


@pytest.mark.parametrize(
    "policy",
    [CSBST(), CSBDT(), CSBDTUCB(), CTS(), SDCB(), MPTS(m=0), ESCB(m=0), ThresholdThompson()],
    ids=lambda policy: type(policy).__name__,
)
@pytest.mark.parametrize(
    "problem",
    [
        Problem([0.4], 0.7, resource=0.8),
        Problem([0.4], 0.7, resource=5),
        Problem([0.4, 0.9], [0.7, 1.0], resource=2),
        Problem([0.4, 0.9, 0.2], 0.9, resource=7.5),
    ],
    ids=repr,
)
def test_where_there_is_nothing_to_learn_there_is_no_regret(policy, problem):
    curves = simulate(problem, {"it": policy}, horizon=100, replications=3)
    assert np.all(curves.values("it", "regret") == 0)
    assert np.all(curves.values("it", "threshold_rounds") == 0)
    assert np.all(curves.values("it", "too_low") == 0)


TOO_LITTLE = Problem([0.9, 0.8, 0.7], [0.9, 0.2, 0.6], resource=0.3)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_resource_that_is_too_little_for_anyone_is_no_reason_to_search_for_ever():
    curves = simulate(TOO_LITTLE, {"it": CSBDT(gamma=0.01)}, horizon=3000, replications=20)
    assert np.all(curves.values("it", "threshold_rounds")[-1] < 1500)
    assert np.all(curves.values("it", "too_low")[-1] == 0)


def test_an_arm_that_needs_more_than_there_is_gets_nothing():
    learner = CSBDT(gamma=0.01).learner(arms=3, resource=0.3)
    for t in range(1, 1500):
        learner.tell(shown(TOO_LITTLE, learner.ask(), losses_of(TOO_LITTLE, 0, 0, t)))
    assert learner.recommend()[0] == learner.recommend()[2] == 1.0
    assert learner.ask().tolist() == pytest.approx([0, learner.recommend()[1], 0])


INSTANCE_1 = [round(0.25 + i / 50, 2) for i in range(20)]


def test_the_search_of_csbst_takes_the_steps_worked_out_by_hand():
    # 14 candidates; the true one, 0.7, is the eleventh. 7: loss, 11: enough, 9: loss, 10: loss.
    problem = Problem(INSTANCE_1, 0.7, resource=7)
    learner = CSBST(loss_free_rounds=2).learner(arms=20, resource=7)
    tried = []
    for _ in range(5):
        asked = learner.ask()
        tried.append(asked.max())
        learner.tell(shown(problem, asked, [1] * 20))
    assert tried == pytest.approx([7 / 14, 7 / 10, 7 / 10, 7 / 12, 7 / 11])
    assert learner.recommend()[0] == 0.7
    assert "second phase, after 5 rounds of search" in repr(learner)


def test_loss_free_rounds_are_those_of_the_paper_unless_given():
    # The values that the settled readings give for the instances of the paper.
    for resource, needed in ((3, 12), (7, 5)):
        learner = CSBST().learner(arms=20, resource=resource)
        assert learner.state["needed"][0] == needed
    assert CSBDT().learner(arms=5, resource=2).state["needed"][0] == 59
    assert CSBDT(loss_free_rounds=19).learner(arms=5, resource=2).state["needed"][0] == 19


def test_a_loss_at_less_than_is_tried_moves_no_bound():
    learner = CSBDT(gamma=0.01).learner(arms=2, resource=0.8)
    for _ in range(3):
        asked = learner.ask()
        learner.tell([int(amount > 0) for amount in asked])
    low = learner.state["low"].copy()
    asked = learner.ask()
    assert (asked == 0).sum() == 1  # the other arm has to wait
    learner.tell([1, 1])
    for arm in range(2):
        moved = learner.state["low"][arm] != low[arm]
        assert moved == (asked[arm] > 0)


@pytest.mark.slow
@pytest.mark.compiled
def test_rounding_finds_round_thresholds_exactly():
    problem = Problem([0.9, 0.8], [0.7, 0.35], resource=1.05)
    for decimals, error in ((0, 1e-3), (2, 0.0)):
        policy = CSBDT(gamma=1e-3, round_decimals=decimals, loss_free_rounds=30)
        curves = simulate(
            problem, {"it": policy}, horizon=2000, replications=20, checkpoints=[1500, 2000]
        )
        found = curves.values("it", "threshold_error")[-1]
        assert np.all(found <= error)
        regret = curves.values("it", "regret")
        assert np.all((regret[-1] > regret[0] + 100) == (decimals == 0))


def test_knapsacks_are_kept_for_as_many_rounds_as_asked():
    learner = CTS(solve_every=5).learner(arms=3, resource=1, thresholds=[0.5, 0.5, 0.5], seed=1)
    sets = []
    for _ in range(200):
        sets.append(tuple(learner.ask()))
        learner.tell([0, 1, 0])
    changes = [t for t in range(1, 200) if sets[t] != sets[t - 1]]
    assert changes
    assert all(t % 5 == 0 for t in changes)


@pytest.mark.slow
@pytest.mark.compiled
def test_hopeless_instances_have_linear_regret_and_say_so():
    # The optimum of Instance 2 uses all of Q = 2; the best set that fits estimates costs 0.28.
    problem = Problem(OWN.mean_losses, OWN.thresholds, resource=2)
    curves = simulate(
        problem, {"it": CSBDT()}, horizon=4000, replications=20, checkpoints=[2000, 4000]
    )
    assert np.all(curves.values("it", "threshold_error")[-1] <= 1e-3)
    middle, end = curves.values("it", "regret")
    assert np.all(end - middle >= 0.28 * 2000 - 1e-6)


@pytest.mark.slow
@pytest.mark.compiled
def test_wrong_estimates_are_as_rare_as_delta_says():
    # Lemmas 2 and 4, with mean losses of exactly epsilon: the worst case.
    delta, replications = 0.3, 2000
    for problem, policy in (
        (Problem([0.3] * 4, 0.45, resource=1), CSBST(delta=delta, epsilon=0.3)),
        (Problem([0.3] * 3, [0.4, 0.6, 0.8], resource=1.5), CSBDT(delta, 0.3, gamma=0.1)),
    ):
        curves = simulate(problem, {"it": policy}, horizon=1500, replications=replications)
        wrong = curves.values("it", "too_low")[-1] > 0
        assert np.all(curves.values("it", "threshold_rounds")[-1] < 1500)
        assert wrong.mean() <= delta + 5 * math.sqrt(delta * (1 - delta) / replications)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CSBST(delta=0), r"delta must lie in \(0, 1\), got 0"),
        (lambda: CSBST(epsilon=1), r"epsilon must lie in \(0, 1\), got 1"),
        (lambda: CSBDT(gamma=0), r"gamma must lie in \(0, 1\), got 0"),
        (lambda: CSBDT(gamma=-1e-3), r"gamma must lie in \(0, 1\), got -0\.001"),
        (lambda: CSBDT(solve_every=0), r"solve_every must lie in .*, got 0"),
        (lambda: CSBDT(round_decimals=-1), r"round_decimals must lie in \[0, 9\], got -1"),
        (lambda: CSBST(random_subset=2), r"random_subset must lie in \[0, 1\], got 2"),
        (lambda: CSBDT(as_printed=2), r"as_printed must lie in \[0, 1\], got 2"),
        (lambda: ThresholdThompson(delta=1), r"delta must lie in \(0, 1\), got 1"),
        (lambda: MPTS(m=-1), "m must be at least 0, got -1"),
        (lambda: ESCB(m=1, c=-1), "c must be at least 0, got -1"),
        (lambda: ESCB(m=4).learner(arms=3, resource=1), r"m must lie in \[0, 3\], got 4"),
        (lambda: MPTS(m=4).learner(arms=3, resource=1), r"m must lie in \[0, 3\], got 4"),
        (lambda: CTS().learner(arms=3, resource=1), r"thresholds \(.*\) must be given"),
        (
            lambda: CTS().learner(arms=3, resource=1, thresholds=[0.5]),
            "thresholds must have 3 entries, got 1",
        ),
        (lambda: CSBST().learner(arms=3, resource=0), r"resource must lie in \(0, .*, got 0"),
        (lambda: CSBST().learner(arms=0, resource=1), "arms must lie in"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()
