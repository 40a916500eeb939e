"""Known functions: kernel and NumPy agree, whatever the pieces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from keyhole.resource import PiecewiseLinear, Power, Steps
from keyhole.resource.cost_functions import as_function, value_at
from keyhole.resource.setting import is_limit_allowed, limit_index

size = st.floats(0, 3)
points = st.lists(st.integers(1, 400), min_size=1, max_size=12, unique=True).map(
    lambda xs: [x / 64 for x in sorted(xs)]
)


@st.composite
def functions(draw):
    at = draw(points)
    rises = draw(st.lists(size, min_size=len(at) + 1, max_size=len(at) + 1))
    values = np.cumsum(rises).tolist()
    return draw(
        st.one_of(
            st.builds(Power, slope=size, factor=size, power=st.floats(0.1, 5), constant=size),
            st.just(Steps(at, values)),
            st.just(PiecewiseLinear([0, *at], values)),
        )
    )


@settings(max_examples=40, deadline=None, derandomize=True)
@given(function=functions(), x=st.integers(0, 500).map(lambda k: k / 64))
def test_the_kernel_computes_what_numpy_does(function, x):
    assert value_at(function.pieces, x) == pytest.approx(float(function(x)), rel=1e-14, abs=1e-14)


@settings(max_examples=40, deadline=None, derandomize=True)
@given(function=functions())
def test_functions_do_not_fall(function):
    x = np.linspace(0, 8, 1025)
    assert (np.diff(function(x)) >= -1e-12).all()
    assert (function.after(x) >= function(x) - 1e-12).all()


def test_a_power_is_its_formula():
    x = np.array([0.0, 0.3, 2.0])
    found = Power(slope=0.1, factor=0.2, power=4, constant=0.5)(x)
    assert found == pytest.approx(0.5 + 0.1 * x + 0.2 * x**4)


def test_steps_jump_after_their_points():
    steps = Steps([0.5, 0.75], [0.1, 0.4, 0.9])
    assert steps([0.0, 0.5, 0.51, 0.75, 9.0]).tolist() == [0.1, 0.1, 0.4, 0.4, 0.9]
    assert steps.after([0.0, 0.5, 0.75]).tolist() == [0.1, 0.4, 0.9]
    assert [value_at(steps.pieces, x) for x in (0.5, 0.51)] == [0.1, 0.4]


def test_a_table_joins_its_points_and_stays_at_the_last():
    table = PiecewiseLinear([0, 1, 2], [0.0, 0.5, 0.6])
    assert table([0.5, 1.0, 1.5, 2.0, 7.0]) == pytest.approx([0.25, 0.5, 0.55, 0.6, 0.6])


def test_a_python_function_is_exact_at_the_limits_and_close_between():
    limits = np.array([0.1234, 1 / 3, 1.7])
    taken = as_function("penalty", lambda x: x**3, limits)
    assert taken(limits) == pytest.approx(limits**3, abs=1e-14)
    x = np.linspace(0, 1.7, 999)
    assert np.abs(taken(x) - x**3).max() < 6 * 1.7 * (1.7 / 4096) ** 2 / 8 * 1.01


def test_places_are_those_of_the_limits_themselves():
    for count in range(1, 9):
        limits = np.linspace(0.1, 1.0, count)
        assert [limit_index(limits, x) for x in limits] == list(range(count))
        assert limit_index(limits, 0.01) == 0
        assert limit_index(limits, 5.0) == count - 1
        between = limits[:-1] + 0.01
        assert [limit_index(limits, x) for x in between] == list(range(1, count))


def test_what_may_be_chosen():
    limits = np.array([0.25, 0.5, 1.0])
    tried = [0.0, -1.0, 0.25, 0.3, 1.0, 1.01, np.nan]
    assert [is_limit_allowed(limits, 0, x) for x in tried] == [0, 0, 1, 0, 1, 0, 0]
    assert [is_limit_allowed(limits, 1, x) for x in tried] == [0, 0, 1, 1, 1, 0, 0]
