import math
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.draws.argmin_tree import (
    _position,
    _smallest,
    argmin_tree_fill,
    argmin_tree_find,
    argmin_tree_keys_start,
    argmin_tree_rebuild,
    argmin_tree_size,
    argmin_tree_update,
    find_among_sixteen,
    smallest_of_sixteen,
)
from keyhole.kernels.kernel_decorators import kernel


@pytest.mark.parametrize("candidates", [1, 2, 15, 16, 17, 32, 255, 256, 257, 4096, 4097])
def test_a_filled_store_yields_the_first_candidate(candidates):
    keys = np.full(argmin_tree_size(candidates), np.nan)
    argmin_tree_fill(keys, candidates, -math.inf)
    assert argmin_tree_find(keys, candidates) == 0


@settings(max_examples=60, deadline=None)
@given(
    candidates=st.one_of(st.integers(1, 40), st.integers(250, 300)),
    changes=st.lists(
        st.tuples(
            st.integers(0, 299),
            st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 1.0, 2.0, math.inf]),
        )
    ),
)
def test_the_lowest_of_the_smallest_keys_is_found_after_any_changes(candidates, changes):
    keys = np.empty(argmin_tree_size(candidates))
    argmin_tree_fill(keys, candidates, 1.5)
    plain = np.full(candidates, 1.5)
    for position, key in changes:
        argmin_tree_update(keys, candidates, position % candidates, key)
        plain[position % candidates] = key
        assert argmin_tree_find(keys, candidates) == plain.argmin()


@pytest.mark.parametrize("candidates", [1, 10, 16, 17, 256, 257, 5000])
def test_a_store_is_rebuilt_from_its_keys(candidates):
    keys, other = (
        np.empty(argmin_tree_size(candidates)),
        np.full(argmin_tree_size(candidates), np.nan),
    )
    argmin_tree_fill(keys, candidates, 2.0)
    for position in range(0, candidates, 3):
        argmin_tree_update(keys, candidates, position, float(-position % 7))
    begin = argmin_tree_keys_start(len(keys), candidates)
    other[begin : begin + candidates] = keys[begin : begin + candidates]
    argmin_tree_rebuild(other, candidates)
    assert np.array_equal(keys, other)


@pytest.mark.parametrize("candidates", [3, 17, 300])
@pytest.mark.parametrize("damage", [math.nan, math.inf, -7.0])
def test_a_damaged_store_gives_positions_in_range(candidates, damage):
    size = argmin_tree_size(candidates)
    for cell in range(0, size, 5):
        keys = np.empty(size)
        argmin_tree_fill(keys, candidates, 1.0)
        keys[cell:] = damage
        assert argmin_tree_find(keys, candidates) < candidates


SCRIPT = """
import numpy as np
from keyhole.draws.argmin_tree import (
    argmin_tree_fill, argmin_tree_find, argmin_tree_size, argmin_tree_update
)
for candidates in (10, 300):
    keys, plain = np.empty(argmin_tree_size(candidates)), np.full(candidates, 9.0)
    argmin_tree_fill(keys, candidates, 9.0)
    for i in range(500):
        plain[i * 7 % candidates] = i * 31 % 8
        argmin_tree_update(keys, candidates, i * 7 % candidates, float(i * 31 % 8))
        assert argmin_tree_find(keys, candidates) == plain.argmin()
"""


@pytest.mark.slow
def test_the_argmin_works_on_a_processor_without_wide_vectors():
    generic = {"NUMBA_CPU_NAME": "generic"}
    subprocess.run([sys.executable, "-c", SCRIPT], env=os.environ | generic, check=True)


@kernel
def at_once(keys, key):
    return _smallest(keys, 3), _position(keys, 3, key)


KEYS = st.sampled_from([-math.inf, -1.0, -0.0, 0.0, 2.0, math.inf, math.nan])


@given(keys=st.lists(KEYS, min_size=20, max_size=20), key=KEYS)
def test_vectors_and_python_agree_to_the_bit(keys, key):
    keys = np.array(keys)
    smallest, place = at_once(keys, key)
    view = memoryview(keys)  # as interpreted kernels have them: entries are Python's floats
    other, other_place = smallest_of_sixteen(view, 3), find_among_sixteen(view, 3, key)
    assert np.float64(smallest).tobytes() == np.float64(other).tobytes()
    assert place == other_place
