"""Policies that say when they have enough: verdicts, guarantee, and what the base learns."""

import json
import math

import numpy as np
import pytest

from keyhole import Learner, simulate
from keyhole.policy import float_array
from keyhole.thresholding import (
    APT,
    LSA,
    FalseDiscoveryStopping,
    FamilywiseStopping,
    IndexPolicy,
    OptKG,
    PerArmStopping,
    Policy,
    Problem,
    RoundRobin,
)
from tests.reference import thresholding as reference
from tests.thresholding.cases import SETUP_1, bernoulli

pytestmark = pytest.mark.interpreted


RULES = [PerArmStopping, FamilywiseStopping, FalseDiscoveryStopping]


class MostLikelyWrong(IndexPolicy):
    """An adversary: tries the arm that is nearest to a verdict for "above", and leaves the rest."""

    def index(p, pulls, total):
        return (total - p.threshold * pulls) / math.sqrt(pulls)


def run_to_the_end(learner, reward, most):
    """Drive a learner until it is done, at most some rounds; return the arms that it asked for."""
    pulls, asked = [0] * learner.facts["arms"], []
    while not learner.is_done and len(asked) < most:
        arm = learner.ask()
        learner.tell(reward(arm, pulls[arm]))
        pulls[arm] += 1
        asked.append(arm)
    return asked


@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("tolerance", [0.0, 0.1])
def test_it_takes_the_decisions_of_the_reference(kind, tolerance):
    means = [0.1, 0.8, 0.3, 0.95]
    draw = bernoulli(means, 5, 0)

    def reward(arm, pull):  # in between for one arm
        return 0.5 * draw(arm, pull) + 0.2 if arm == 1 else draw(arm, pull)

    learner = kind(tolerance=tolerance).learner(arms=4, threshold=0.5)
    base = reference.LSA(0.5, 1.35)
    other = getattr(reference, kind.__name__)(0.5, base, 4, delta=0.05, tolerance=tolerance)
    pulls, totals = [0] * 4, [0.0] * 4
    for _ in range(250):
        if learner.is_done:
            break
        arm = other.choose(pulls, totals)
        assert learner.ask() == arm
        value = reward(arm, pulls[arm])
        learner.tell(value)
        other.learn(arm, value)
        pulls[arm] += 1
        totals[arm] += value
        verdicts = {i: v for i, v in enumerate(other.verdicts) if v is not None}
        assert learner.settled == verdicts
    assert len(learner.settled) >= 2


@pytest.mark.parametrize("base", [LSA(), RoundRobin(), APT(epsilon=0.05), OptKG()], ids=repr)
def test_the_base_does_not_change_how_many_pulls_it_takes(base):
    reward = bernoulli([0.2, 0.4, 0.7], 3, 0)
    learner = PerArmStopping(base=base).learner(arms=3, threshold=0.5)
    asked = run_to_the_end(learner, reward, 5000)
    alone = PerArmStopping(base=RoundRobin()).learner(arms=3, threshold=0.5)
    assert sorted(asked) == sorted(run_to_the_end(alone, reward, 5000))
    assert learner.settled == alone.settled
    assert learner.remaining == []


def test_a_settled_arm_is_tried_no_more_and_keeps_its_verdict():
    learner = PerArmStopping(base=RoundRobin()).learner(arms=2, threshold=0.5)
    asked = []
    for _ in range(40):
        asked.append(learner.ask())
        learner.tell(1.0 if asked[-1] == 0 else asked.count(1) % 2)
    assert learner.settled == {0: "above"}
    assert learner.remaining == [1]
    assert asked.count(0) == 6
    # A log may go on with it: the base learns, and the verdict stands.
    learner = PerArmStopping(base=RoundRobin()).learner(arms=1, threshold=0.5)
    learner.replay([0] * 30, [1.0] * 8 + [0.0] * 22)
    assert learner.settled == {0: "above"}
    assert learner.recommend().tolist() == [True]
    assert learner.state["stopped"][0] == 6


def test_a_learner_that_is_done_is_not_asked_again():
    learner = PerArmStopping().learner(arms=2, threshold=0.5)
    assert run_to_the_end(learner, lambda arm, pull: float(arm), 100) == [0, 1] * 6
    assert learner.is_done
    with pytest.raises(RuntimeError, match=r"is done: every arm is settled \(after 12 rounds\)"):
        learner.ask()
    assert "after 12 rounds, 2 arms, threshold 0.5, done\n  arm 0: settled below" in repr(learner)


def test_a_policy_that_cannot_stop_has_all_arms_left():
    learner = LSA().learner(arms=2, threshold=0.5)
    assert (learner.is_done, learner.settled, learner.remaining) == (False, {}, [0, 1])


def test_a_saved_learner_keeps_its_verdicts(tmp_path):
    path = tmp_path / "learner.json"
    reward = bernoulli([0.2, 0.45, 0.8], 1, 0)
    learner = FamilywiseStopping(base=APT(epsilon=0.1), delta=0.2).learner(arms=3, threshold=0.5)
    run_to_the_end(learner, reward, 50)
    learner.save(path)
    again = Learner.load(path)
    assert again.settled == learner.settled != {}
    assert again.policy == learner.policy
    assert run_to_the_end(again, lambda arm, n: 1.0, 300) == run_to_the_end(
        learner, lambda arm, n: 1.0, 300
    )


def test_a_file_with_an_unknown_verdict_is_refused(tmp_path):
    from keyhole.files import json_checksum

    path = tmp_path / "learner.json"
    PerArmStopping().learner(arms=2, threshold=0.5).save(path)
    found = json.loads(path.read_text())
    found["content"]["arrays"]["state"]["settled"]["values"][1] = 3
    found["checksum"] = json_checksum(found["content"])
    path.write_text(json.dumps(found))
    with pytest.raises(ValueError, match=r"settled\[1\] must be from 0 to 2, got 3"):
        Learner.load(path)


@pytest.mark.parametrize("workers", [1, 3])
def test_a_simulation_ends_with_the_last_verdict(workers):
    problem = Problem([0.1, 0.35, 0.9], 0.5)
    policies = {"stop": PerArmStopping(), "on": LSA()}
    settings = dict(horizon=600, checkpoints=[20, 300, 600], replications=6, details=True, seed=4)
    curves = simulate(problem, policies, **settings, workers=workers)
    used, left = curves.values("stop", "rounds_used"), curves.values("stop", "unfinished")
    pulls = sum(curves.values("stop", f"pulls[{arm}]") for arm in range(3))
    assert np.array_equal(used, pulls)
    assert (used[0] == 20).all()
    assert (left[0] == 1).all()
    assert (left[-1] == 0).all()
    assert (used[-1] < 600).all()
    assert (used[-1] > 20).all()
    assert (curves.values("stop", "settled")[-1] == 1).all()
    assert np.array_equal(curves.values("on", "rounds_used")[:, 0], [20, 300, 600])
    assert (curves.values("on", "unfinished") == 1).all()
    assert (curves.values("on", "settled") == 0).all()
    if workers == 1:
        learner = policies["stop"].learner(arms=3, threshold=0.5)
        asked = run_to_the_end(learner, bernoulli([0.1, 0.35, 0.9], 4, 0), 600)
        assert used[-1, 0] == len(asked) == learner.state["stopped"][0]


def test_an_arm_without_pulls_is_labelled_as_above():
    learner = PerArmStopping().learner(arms=2, threshold=0.5)
    assert learner.recommend().tolist() == [True, True]
    learner.ask()
    learner.tell(0)
    assert learner.recommend().tolist() == [False, True]


def test_wrong_verdicts_are_counted_beyond_the_tolerance_and_at_its_edge():
    problem = Problem([0.4, 0.45, 0.5, 0.55, 0.6, 0.1], 0.5)
    wrong = PerArmStopping(tolerance=0.1).wrong_verdicts(problem)
    assert wrong[:, 0].tolist() == [True, False, False, False, False, True]
    assert wrong[:, 1].tolist() == [False, False, False, False, True, False]
    exact = PerArmStopping(tolerance=0).wrong_verdicts(problem)
    assert exact.sum() == 6
    # A recorded mean on the threshold is right on either side.
    recorded = Problem.replay([[0, 1], [0, 0]], 0.5)
    assert PerArmStopping(tolerance=0).wrong_verdicts(recorded).tolist() == [[0, 0], [1, 0]]


def test_metrics_count_what_was_settled_wrongly():
    # With delta near 1 a single reward settles an arm.
    problem = Problem([0.2, 0.8, 0.8, 0.8], 0.5)
    curves = simulate(
        problem, {"rash": PerArmStopping(delta=0.99)}, horizon=40, replications=30, details=True
    )
    errors = [curves.values("rash", f"errors[{arm}]")[-1] for arm in range(4)]
    wrong = curves.values("rash", "wrong_settled")[-1]
    assert np.array_equal(np.mean(errors, axis=0), wrong)
    assert 0 < wrong.mean() < 0.5
    assert np.array_equal(curves.values("rash", "any_wrong_settled")[-1], wrong > 0)


def edge(kind, base, problem, *, horizon, replications, delta=0.05, tolerance=0.05):
    """Return the mean error of a rule with its standard error, and its largest allowed mean."""
    policy = kind(base=base, delta=delta, tolerance=tolerance)
    curves = simulate(problem, {"rule": policy}, horizon=horizon, replications=replications)
    guarantee = policy.guarantee()
    errors = curves.values("rule", guarantee.metric)[-1]
    settled = curves.mean("rule", "settled")[-1]
    most = guarantee.most + 5 * max(errors.std(ddof=1), 1e-3) / math.sqrt(replications)
    return errors.mean(), most, settled


def test_an_adversary_at_the_edge_does_not_break_the_guarantee():
    problem = Problem([0.45] * 12, 0.5)
    error, most, settled = edge(
        PerArmStopping, MostLikelyWrong(), problem, horizon=700, replications=15
    )
    assert error <= most
    # It is a share of all arms: of those that this adversary has settled so far, more are wrong.
    assert error / settled > 0.05


EDGES = {
    "half on either edge": (Problem([0.45] * 5 + [0.55] * 5, 0.5), 0.05),
    "rare": (Problem([0.03] * 8 + [0.07] * 2, 0.05), 0.02),
    "no tolerance": (Problem([0.5] * 10, 0.5), 0.0),
    "in between": (Problem([0.45] * 10, 0.5, distribution="beta", concentration=0.5), 0.05),
}


def test_more_is_found_among_many_arms_than_with_no_wrong_arm_at_all():
    problem = Problem([0.7] * 8 + [0.45] * 24, 0.5)
    rules = {kind.__name__: kind(base=RoundRobin()) for kind in RULES}
    curves = simulate(problem, rules, horizon=32 * 30, replications=4)
    settled = [curves.mean(name, "settled")[-1] for name in rules]
    # In the order of what they promise: among all arms, any, and among those settled.
    assert settled[1] < settled[2] < settled[0]


def test_evidence_for_a_verdict_stays_and_others_need_less():
    learner = FalseDiscoveryStopping(base=RoundRobin()).learner(arms=4, threshold=0.5)
    arms = []
    while not learner.is_done:
        arm = learner.ask()
        learner.tell(arm != 3)
        arms.append((len(learner.settled), sum(v == "above" for v in learner.settled.values())))
    # All three good arms have the same rewards: none is settled until three can be.
    assert next(above for _, above in arms if above) == 3
    assert learner.settled == {0: "above", 1: "above", 2: "above", 3: "below"}


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("kind", RULES)
@pytest.mark.parametrize("base", [MostLikelyWrong(), LSA()], ids=repr)
@pytest.mark.parametrize("name", EDGES)
def test_thousands_of_runs_at_the_edge(name, base, kind):
    problem, tolerance = EDGES[name]
    # Enough that a rule with twice the delta fails: any error is a coin, that of an arm a share.
    runs = 8000 if kind is FamilywiseStopping else 4000
    error, most, _ = edge(kind, base, problem, horizon=5000, replications=runs, tolerance=tolerance)
    assert error <= most


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PerArmStopping(delta=0), r"delta must lie in \(0, 1\), got 0"),
        (lambda: FamilywiseStopping(delta=1.0), r"delta must lie in \(0, 1\), got 1"),
        (lambda: PerArmStopping(tolerance=-0.1), r"tolerance must lie in \[0, 0.5\), got -0.1"),
        (
            lambda: PerArmStopping(tolerance=0.1).learner(arms=2, threshold=0.1),
            "tolerance must be below the distance of the threshold, 0.1, from 0 and 1; got 0.1",
        ),
        (  # 1 - 0.95 is above 0.05 in floating point, but no mean is above 0.95 + 0.05
            lambda: PerArmStopping(tolerance=0.05).learner(arms=2, threshold=0.95),
            "tolerance must be below the distance of the threshold, 0.95, from 0 and 1; got 0.05",
        ),
        (
            lambda: PerArmStopping(base=FamilywiseStopping()),
            r"base must be a policy that does not stop, got FamilywiseStopping",
        ),
        (lambda: PerArmStopping(base=OwnDecisionsOnly()), r"base must be .* \(off_policy\)"),
        (lambda: PerArmStopping().learner(arms=1, threshold=0.5).replay([0], [1.5]), "rewards"),
    ],
)
def test_bad_input_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


class OwnDecisionsOnly(Policy):
    """A policy that says nothing of learning from decisions of others."""

    class State:
        pulls = float_array("arms")
        totals = float_array("arms")

    def select(p, t):
        return t % p.arms

    def update(p, s, arm, reward):
        s.pulls[arm] += 1.0
        s.totals[arm] += reward


def test_arms_change_where_the_level_does_not_depend_on_their_number():
    assert PerArmStopping().arms_change
    assert not PerArmStopping(base=OptKG()).arms_change
    assert not FamilywiseStopping().arms_change


def test_set_up_1_takes_a_fifth_of_a_fixed_budget():
    # A fixed number with the same guarantee is about 300 pulls an arm (docs/stopping.md).
    curves = simulate(
        Problem(SETUP_1, 0.5), {"rule": PerArmStopping()}, horizon=5000, replications=8
    )
    assert 300 < curves.mean("rule", "rounds_used")[-1] < 1000
