import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.draws.argmin import argmin, argmin_fill, argmin_set, argmin_size


@pytest.mark.parametrize("candidates", [1, 2, 23, 24, 25, 31, 32, 33, 1000])
def test_a_filled_store_yields_the_first_candidate(candidates):
    keys = np.full(argmin_size(candidates), np.nan)
    argmin_fill(keys, candidates, -math.inf)
    assert argmin(keys, candidates) == 0


@settings(max_examples=60, deadline=None)
@given(
    candidates=st.integers(1, 70),
    changes=st.lists(
        st.tuples(st.integers(0, 69), st.sampled_from([-1.0, 0.0, 1.0, 2.0, math.inf]))
    ),
)
def test_the_lowest_of_the_smallest_keys_is_found_after_any_changes(candidates, changes):
    keys = np.empty(argmin_size(candidates))
    argmin_fill(keys, candidates, 1.5)
    plain = np.full(candidates, 1.5)
    for position, key in changes:
        argmin_set(keys, candidates, position % candidates, key)
        plain[position % candidates] = key
        assert argmin(keys, candidates) == plain.argmin()
