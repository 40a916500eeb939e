"""Exact subset search, which ESCB uses to choose the unfunded arms."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest

from keyhole.semibandit.subset_search import find_best_subset

pytestmark = pytest.mark.interpreted


def searched(values, spreads, size, width):
    items = len(values)
    whole = {name: np.zeros(items, np.int64) for name in ("best", "trial", "ranked", "chosen")}
    real = {name: np.zeros(items) for name in ("keys", "sums", "bounds")}
    s = SimpleNamespace(**whole, **real)
    find_best_subset(s, np.array(values), np.array(spreads), items, size, width)
    return tuple(np.flatnonzero(s.best).tolist())


def test_no_other_set_has_less():
    rng = np.random.default_rng(3)
    for _ in range(40):
        values, spreads = rng.random(6), 0.05 + rng.random(6)
        worth = {
            chosen: values[list(chosen)].sum() - np.sqrt(0.7 * spreads[list(chosen)].sum())
            for chosen in combinations(range(6), 3)
        }
        assert searched(values, spreads, 3, 0.7) == min(worth, key=worth.__getitem__)


def test_of_equal_sets_the_one_with_the_lowest_arms_is_chosen():
    assert searched([0.2, 0.2, 0.5], [1.0, 0.5, 0.25], 1, 0.0) == (0,)
    assert searched([0.5, 0.2, 0.2], [1.0, 0.5, 0.25], 1, 0.0) == (1,)
    assert searched([0.25, 0.5, 0.25, 0.0], [1.0, 0.5, 0.25, 0.5], 2, 0.0) == (0, 3)
