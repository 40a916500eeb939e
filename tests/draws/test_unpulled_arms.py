"""The first arm without pulls."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.draws.argmin_tree import first_unpulled


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), max_size=60))
def test_it_is_found_for_feedback_in_any_order(order):
    pulls, begin = np.zeros(5), np.zeros(1)
    for arm in order:
        empty = np.flatnonzero(pulls == 0)
        assert first_unpulled(pulls, begin) == (empty[0] if len(empty) else -1)
        pulls[arm] += 1


def test_an_added_arm_is_found():
    begin = np.zeros(1)
    assert first_unpulled(np.ones(2), begin) == -1
    assert first_unpulled(np.array([1.0, 1.0, 0.0]), begin) == 2
