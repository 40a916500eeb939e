import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keyhole.pages.chart_scales import Scale, fit_scale, format_number, format_ticks

FINITE = st.floats(-1e150, 1e150, allow_subnormal=False)


def texts(scale, **how):
    return [tick.text for tick in scale.ticks(**how)]


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0, 1, ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]),
        (-4, 6, ["-4", "-2", "0", "2", "4", "6"]),
        (0, 10_000, ["0", "2,000", "4,000", "6,000", "8,000", "10,000"]),
        (0, 2e6, ["0", "500,000", "1,000,000", "1,500,000", "2,000,000"]),
        (0.02, 0.1, ["0.02", "0.04", "0.06", "0.08", "0.10"]),
        (0, 4e15, ["0", "1e15", "2e15", "3e15", "4e15"]),
        (0, 4e-9, ["0", "1e-9", "2e-9", "3e-9", "4e-9"]),
    ],
)
def test_ticks_are_written_as_people_write_numbers(low, high, expected):
    assert texts(Scale(low, high)) == expected


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.001, 10, ["0.001", "0.01", "0.1", "1", "10"]),
        (1, 1e6, ["1", "10", "100", "1,000", "10,000", "100,000", "1,000,000"]),
        (200, 10_000, ["200", "500", "1,000", "2,000", "5,000", "10,000"]),
        (3, 4, ["3", "3.2", "3.4", "3.6", "3.8", "4"]),
    ],
)
def test_ticks_of_a_logarithmic_axis(low, high, expected):
    assert texts(Scale(low, high, "log")) == expected


def test_ticks_lie_where_their_numbers_do():
    assert [tick.place for tick in Scale(0, 200).ticks()] == [0, 25, 50, 75, 100]
    assert [tick.place for tick in Scale(1, 100, "log").ticks()] == [0, 50, 100]
    assert texts(Scale(1, 3), whole=True) == ["1", "2", "3"]


@given(FINITE, FINITE, st.sampled_from(["linear", "log"]))
def test_every_axis_has_ticks_within(first, second, name):
    scale = fit_scale(name, [np.array([first, second])])
    assert scale.low < scale.high
    found = scale.ticks()
    assert 1 <= len(found) <= 12
    assert all(-0.01 <= tick.place <= 100.01 for tick in found)
    assert len({tick.text for tick in found}) == len(found) or scale.high - scale.low < 1e-6 * abs(
        scale.high
    )
    assert not any("^" in tick.text for tick in found)


@given(FINITE)
def test_numbers_keep_seven_digits(value):
    assert math.isclose(float(format_number(value).replace(",", "")), value, rel_tol=5e-4)
    if value == 0 or 1e-5 <= abs(value) < 1e12:
        assert math.isclose(float(format_number(value).replace(",", "")), value, rel_tol=1e-6)


def test_labels_of_one_axis_have_the_same_decimals():
    assert format_ticks([0.5, 0.75, 1.0]) == ["0.50", "0.75", "1.00"]
    assert format_ticks([-0.0, 1.0]) == ["0", "1"]
    assert [format_number(v) for v in (math.nan, math.inf, -math.inf)] == [
        "unknown", "infinite", "-infinite",
    ]  # fmt: skip


def test_a_scale_shows_all_values_with_a_margin():
    scale = fit_scale("linear", [np.array([-10.0, np.nan]), np.array([90.0, np.inf])])
    assert (scale.low, scale.high) == (-14, 94)
    assert fit_scale("linear", [np.array([1.0, 100.0])]).low == 0  # counts are not negative
    assert fit_scale("linear", [np.array([0.0, 0.0])]).low == 0
    assert fit_scale("linear", [np.array([5.0])], low=0, high=10) == Scale(0, 10)
    log = fit_scale("log", [np.array([1.0, 100.0, 0.0, -1.0])], margin=False)
    assert (log.low, log.high) == pytest.approx((1, 100))


def test_an_end_beyond_the_data_is_kept():
    assert fit_scale("linear", [np.array([1.0, 2.0])], low=5) == Scale(5, 10)
    assert fit_scale("linear", [np.array([1.0, 2.0])], high=-5) == Scale(-10, -5)
    assert fit_scale("log", [np.array([1.0, 2.0])], high=0.5, margin=False).high == 0.5


def test_without_values_a_scale_is_still_a_scale():
    assert fit_scale("linear", []) == Scale(0, 1.04)
    assert fit_scale("log", [np.array([0.0, -1.0])], margin=False).low == pytest.approx(1)


def test_wide_first_intervals_do_not_squeeze_the_curves():
    means = np.linspace(10, 20, 100)
    half = np.where(np.arange(100) < 3, 1e6, 1.0)
    scale = fit_scale("linear", [means], intervals=[(means - half, means + half)])
    assert (scale.low, scale.high) == pytest.approx((9, 21), abs=1.5)
    alone = fit_scale("linear", [np.array([0.5])], intervals=[(np.array([-1.5]), np.array([2.5]))])
    assert alone.low < -1.5
    assert alone.high > 2.5


def test_an_interval_that_reaches_0_does_not_stretch_a_logarithmic_axis():
    scale = fit_scale(
        "log", [np.array([2.0, 8.0])], intervals=[(np.array([1e-9, 0.0]), np.array([4.0, 16.0]))],
        margin=False,
    )  # fmt: skip
    assert (scale.low, scale.high) == pytest.approx((1, 16))


def test_what_cannot_be_drawn_has_no_place():
    found = Scale(1, 100, "log").to_fractions([0, -1, np.nan, np.inf, 10])
    assert np.isnan(found[:4]).all()
    assert found[4] == pytest.approx(0.5)
    assert np.isnan(Scale(0, 1).to_fractions([np.inf, np.nan])).all()
    assert np.isnan(Scale(0, 1e150).to_fractions([1e151])).all()
