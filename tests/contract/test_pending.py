"""What a class says of open decisions is checked when it is made."""

import pytest

from keyhole.contract.base import WithBase
from keyhole.contract.memory import counts, per
from keyhole.contract.policy import parameter
from keyhole.resource import FixedLimit
from keyhole.stochastic import UCB1, ImprovedUCB, ThompsonSampling
from keyhole.testing import check_policy
from keyhole.thresholding import LSA, Policy, Problem
from tests.toys import BestAtLevel

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


class Tallying(Policy):
    """Pulls the arm pulled least."""

    class State:
        pulls = per("arms")
        totals = per("arms")

    def select(p, s):
        best = 0
        for arm in range(p.arms):
            if s.pulls[arm] < s.pulls[best]:
                best = arm
        return best

    def update(p, s, arm, reward):
        s.pulls[arm] += 1
        s.totals[arm] += reward


class OnlyCounts(Policy):
    """Its state is not what the room's kernels are for."""

    class State:
        seen = counts("arms")

    def select(p, s, t):
        return t % p.arms

    def update(p, s, arm):
        s.seen[arm] += 1

    def recommend(p, s, labels):
        for arm in range(p.arms):
            labels[arm] = s.seen[arm] > 0


def derive(base=Tallying, **content):
    return type("Mine", (base,), content)


def test_the_room_imagines_for_a_class_whose_state_it_knows():
    assert Tallying.pending == ("imagine", "ignore")
    check_policy(Tallying(), PROBLEM)


def test_a_class_with_another_state_waits():
    assert OnlyCounts.pending == ("wait",)


def test_a_class_may_say_what_it_can_do_all_the_same():
    mine = derive(OnlyCounts, pending=("ignore",))
    assert mine.pending == ("ignore",)
    assert derive(mine).pending == ("ignore",)


@pytest.mark.parametrize(
    ("pending", "message"),
    [
        (("imagin",), r"Mine.pending must be .*got 'imagin' \(did you mean 'imagine'\?\)"),
        ((), r"Mine.pending must be a tuple of at least one way, got \(\)"),
        ("wait", "Mine.pending must be a tuple of at least one way, got 'wait'"),
    ],
)
def test_a_way_that_there_is_not_is_refused(pending, message):
    with pytest.raises((TypeError, ValueError), match=message):
        derive(pending=pending)


def reads_pull(p, s, arm):
    s.pull[arm] += 1


def names_reward(p, s, arm, reward):
    s.pulls[arm] += 1


@pytest.mark.parametrize(
    ("imagine", "message"),
    [
        (reads_pull, r"got 'pull' \(did you mean 'pulls'\?\)"),
        (names_reward, "names 'reward'; it may name p, s, t, rng, age, arm, index?"),
    ],
)
def test_the_kernel_is_checked_as_others_are(imagine, message):
    with pytest.raises((TypeError, ValueError), match=message.replace(", index?", "")):
        derive(imagine=imagine, pending=("imagine",))


def test_imagining_needs_its_kernel():
    with pytest.raises(TypeError, match="'imagine', but Mine lacks the kernel imagine"):
        derive(BestAtLevel, pending=("imagine",))


def test_a_policy_with_a_base_waits_unless_both_can_do_more():
    class Asking(WithBase, Policy):
        base: Policy = parameter(LSA(), doc="who decides")

        def init(p, s, rng, base_init):
            base_init(p, s, 0, rng)

        def select(p, s, t, rng, base_select):
            return base_select(p, s, t, rng)

        def update(p, s, t, rng, arm, reward, base_update):
            base_update(p, s, t, rng, arm, reward)

    assert type(Asking()).pending == ("wait",)
    bases = {UCB1(): ("imagine", "ignore"), ThompsonSampling(): ("ignore", "imagine")}
    bases[ImprovedUCB()] = ("wait",)
    for base, pending in bases.items():
        assert FixedLimit(limit=0.5, base=base).pending == pending


class Turning(Tallying):
    """Its select leaves behind whose turn it is."""

    class State(Tallying.State):
        turn = counts()

    def select(p, s):
        s.turn[0] = (s.turn[0] + 1) % p.arms
        return s.turn[0]


def test_a_select_that_leaves_something_behind_must_not_be_imagined_with():
    with pytest.raises(AssertionError, match="what `select` leaves in the state is lost"):
        check_policy(Turning(), PROBLEM)
    check_policy(derive(Turning, pending=("ignore",))(), PROBLEM)


class Relying(Tallying):
    """Relies on what its last select chose."""

    pending = ("ignore",)

    class State(Tallying.State):
        chosen = counts()

    def select(p, s, t):
        s.chosen[0] = t % p.arms
        return s.chosen[0]

    def update(p, s, arm, reward):
        s.pulls[s.chosen[0]] += 1
        s.totals[arm] += reward


def test_an_update_that_relies_on_its_select_is_found_out():
    with pytest.raises(AssertionError, match="depends on one that was asked since"):
        check_policy(Relying(), PROBLEM)


class Stateless(Policy):
    """Remembers nothing."""

    pending = ("ignore",)

    def select(p, t):
        return t % p.arms

    def update(p, arm):
        """Learn nothing."""

    def recommend(p, labels):
        for arm in range(p.arms):
            labels[arm] = 1.0


def test_a_policy_that_remembers_nothing_may_ignore_what_is_open():
    check_policy(Stateless(), PROBLEM)
