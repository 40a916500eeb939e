import copy
import math
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.draws.mean_bounds import log_1_minus_ucb
from keyhole.stochastic import KLUCB
from keyhole.stochastic.policies.klucb import find_only_arm_above, guess_x_between

pytestmark = pytest.mark.interpreted


def entropy(mean):
    return -mean * math.log(mean) - (1 - mean) * math.log1p(-mean)


def test_arms_that_never_fail_tie_for_the_lowest():
    learner = KLUCB().learner(arms=3)
    asked = []
    for _ in range(12):
        asked.append(learner.ask())
        learner.tell(0.0 if asked[-1] == 0 else 1.0)
    assert asked[:3] == [0, 1, 2]
    assert set(asked[3:]) == {1}


ARM = st.tuples(st.integers(1, 400), st.floats(0, 1)).map(lambda arm: (arm[0], round(arm[1], 2)))


@settings(max_examples=40)
@given(arms=st.lists(ARM, min_size=1, max_size=6), level=st.floats(0.7, 12), x=st.floats(-6, -0.01))
def test_the_only_arm_above_a_number_has_the_largest_bound(arms, level, x):
    pulls, mean = np.array(arms, float).T
    entropies = np.array([entropy(m) if 0 < m < 1 else 0.0 for m in mean])
    state = SimpleNamespace(pulls=pulls, mean=mean, entropy=entropies)
    bounds = [log_1_minus_ucb(*arm, level) for arm in zip(pulls, mean, entropies, strict=True)]
    for _ in range(4):
        if (found := find_only_arm_above(state, x, level)) >= 0:
            first = bounds.index(min(bounds))
            assert found == first or arms[found] == arms[first]
            assert found == arms.index(arms[found])  # the lowest of equals
        if 1.0 in mean:  # no bound lies above
            break
        x = min(max(guess_x_between(state, x, level), -7.0), -0.001)


def test_a_number_between_the_two_largest_bounds_is_soon_found():
    pulls, mean = np.array([40.0, 50.0, 9.0]), np.array([0.4, 0.5, 0.1])
    state = SimpleNamespace(pulls=pulls, mean=mean, entropy=np.array([*map(entropy, mean)]))
    x = -0.5
    for _ in range(3):
        x = guess_x_between(state, x, 3.0)
    assert find_only_arm_above(state, x, 3.0) == 1


def test_a_learner_goes_on_without_its_scratch():
    learner = KLUCB().learner(arms=3)
    for n in range(60):
        learner.ask()
        learner.tell(n * 7919 % 11 % 2)
    copied = copy.copy(learner)
    assert learner.state["between"][0] < 0 == copied.state["between"][0]
    for n in range(60):
        assert copied.ask() == learner.ask()
        learner.tell(n * 7919 % 11 % 2)
        copied.tell(n * 7919 % 11 % 2)
