import re

import numpy as np
import pytest

from keyhole.pages.svg_paths import (
    band_path,
    dots_path,
    line_path,
    line_point_indices,
    spread_indices,
    thin_band,
    whiskers_path,
)

NAN = np.nan


def array(*values):
    return np.array(values, float)


def points(path):
    """Return the points of a path of relative lines."""
    found = []
    for part in re.findall(r"M[^M]*", path):
        numbers = [int(one) for one in re.findall(r"-?\d+", part)]
        found += np.cumsum(np.reshape(numbers, (-1, 2)), axis=0).tolist()
    return found


def test_a_line_goes_through_its_points():
    path = line_path(array(0, 0.5, 1), array(0, 1, 0.25), 400)
    assert path == "M0 400l900-400 900 300"
    assert points(path) == [[0, 400], [900, 0], [1800, 300]]


def test_a_step_holds_until_the_next_point():
    path = line_path(array(0, 0.5, 1), array(1, 0.5, 0), 400, steps=True)
    assert points(path) == [[0, 0], [900, 0], [900, 200], [1800, 200], [1800, 400]]


def test_gaps_break_a_line_and_leave_dots():
    x, y = array(0, 0.25, 0.5, 0.75, 1), array(0, NAN, 1, 1, NAN)
    assert line_path(x, y, 100) == "M900 0l450 0"
    assert dots_path(x, y, 100) == "M0 100h.01"
    assert line_path(x, array(*[NAN] * 5), 100) == dots_path(x, array(*[NAN] * 5), 100) == ""
    assert line_path(array(), array(), 100) == ""


def test_points_at_one_place_are_still_a_path():
    assert line_path(array(0, 0), array(1, 1), 100) == "M0 0l0 0"


def test_a_band_goes_there_and_back():
    path = band_path(array(0, 1), array(0, 0.25), array(0.5, 1), 100)
    assert points(path.removesuffix("z")) == [[0, 50], [1800, 0], [1800, 75], [0, 100]]
    assert band_path(array(0, 0.5, 1), array(0, NAN, 0), array(1, 1, 1), 100) == ""


def test_an_interval_without_neighbours_is_a_vertical_line():
    low, high = array(0, NAN, 0.25), array(1, 1, 0.75)
    assert whiskers_path(array(0, 0.5, 1), low, high, 100) == "M0 0V100M1800 25V75"


def test_rounding_errors_do_not_add_up():
    x = np.linspace(0, 1, 1000)
    assert points(line_path(x, x, 1000))[-1] == [1800, 0]


def test_what_lies_far_outside_stays_a_number():
    assert points(line_path(array(0, 1), array(1e300, -1e300), 100)) == [[0, -300], [1800, 500]]


@pytest.mark.parametrize("count", [0, 1, 5, 40, 41, 5000])
def test_thinning_keeps_ends_extremes_and_order(count):
    rng = np.random.default_rng(count)
    x, y = np.sort(rng.random(count)), rng.normal(size=count)
    kept = line_point_indices(x, y, 40)
    assert len(kept) <= 42
    assert (np.diff(kept) > 0).all()
    if count <= 40:
        assert len(kept) == count
    else:
        assert {0, count - 1, int(y.argmin()), int(y.argmax())} <= set(kept.tolist())


def test_thinning_keeps_gaps():
    x, y = np.linspace(0, 1, 1000), np.ones(1000)
    y[500:520] = NAN
    assert np.isnan(y[line_point_indices(x, y, 100)]).any()


def test_a_thinned_band_contains_the_whole_band():
    x = np.linspace(0, 1, 1000)
    low = np.sin(40 * x) - 1
    high = np.sin(40 * x) + 1
    low[501], high[502] = -9, 9
    across, below, above = thin_band(x, low, high, 50)
    assert len(across) == len(below) == len(above) == 50
    assert (across[0], across[-1]) == (0, 1)
    assert (below.min(), above.max()) == (-9, 9)


def test_shown_points_are_spread_evenly_over_the_axis():
    assert spread_indices(np.linspace(0, 1, 101), 11).tolist() == [*range(0, 100, 10), 100]
    early = np.concatenate([np.linspace(0, 0.01, 900), np.linspace(0.02, 1, 100)])
    kept = spread_indices(early, 20)
    assert len(kept) == 20
    assert (kept >= 900).sum() >= 17
    assert spread_indices(array(NAN, NAN, NAN), 2).tolist() == [0, 2]
