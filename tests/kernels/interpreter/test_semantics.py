"""Interpreted kernels do what compiled ones do, to the bit: operators, functions, arrays."""

import itertools
import math

import numpy as np
import pytest
from numba import types

from keyhole.kernels.compile_cache import compile_cached
from keyhole.kernels.fingerprint import compiled_copy, fingerprint
from keyhole.kernels.interpreted_mode import interpreted
from tests.kernels.interpreter import kernels
from tests.kernels.interpreter.kernels import FLOATS, INTEGERS, WORDS

WHOLE = [0, 1, -1, 2, -2, 3, 7, -7, 63, 64, 1000, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]
REAL = [
    0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 1.5, 2.0, 2.5, -2.5, 3.0, 0.1, -0.3, 7.25, 1e-300, 1e300,
    -1e300, 1e16, 123456.789, 0.285, 2.675, 5e-324, math.inf, -math.inf, math.nan,
]  # fmt: skip


def both(function, kinds, *arrays):
    """Return the arrays as the compiled function leaves them, and as the interpreted one does."""
    signature = types.void(*kinds)

    def build():
        linked = compiled_copy(function)

        def entry(x, y, out):
            linked(x, y, out)

        return entry

    found = []
    for python in (False, True):
        given = [array.copy() for array in arrays]
        with interpreted(python):
            entry = compile_cached(function.__name__, fingerprint(function), build, signature)
        entry(*given)
        found.append(given)
    return found


def pairs(values, dtype):
    x, y = zip(*itertools.product(values, values), strict=True)
    return [np.array(side, dtype).reshape(-1, 1) for side in (x, y)]


def assert_equal_bits(one, other):
    same = (one.view(np.uint64) == other.view(np.uint64)) | ((one != one) & (other != other))
    assert same.all(), np.argwhere(~same)[:5].tolist()


@pytest.mark.parametrize(
    ("function", "kind", "values", "columns"),
    [
        (kernels.of_integers, INTEGERS, WHOLE, 24),
        (kernels.of_types, INTEGERS, WHOLE, 24),
        (kernels.of_words, WORDS, [value % 2**64 for value in WHOLE], 24),
        (kernels.of_floats, FLOATS, REAL, 24),
        (kernels.of_math, FLOATS, REAL, 32),
        (kernels.of_numpy, FLOATS, REAL, 24),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_every_operator_has_the_bits_of_compiled_code(function, kind, values, columns):
    dtype = np.dtype(str(kind.dtype))
    x, y = pairs(values, dtype)
    assert_equal_columns(function, kind, x, y, np.zeros((len(x), columns), dtype))


def test_powers_have_the_bits_of_compiled_code_whatever_the_compiler_knows_of_them():
    """Of about one in a thousand the last bit is another in another function of the library."""
    rng = np.random.default_rng(7)
    x = np.concatenate([pairs(REAL, float)[0].ravel(), rng.lognormal(0.0, 3.0, 4000)])
    y = np.concatenate([pairs(REAL, float)[1].ravel(), rng.normal(0.0, 2.0, 4000)])
    x, y = x.reshape(-1, 1), y.reshape(-1, 1)
    assert_equal_columns(kernels.of_powers, FLOATS, x, y, np.zeros((len(x), 26)))


def assert_equal_columns(function, kind, x, y, out):
    """Compare what a function writes compiled with what it writes interpreted, by columns."""
    (_, _, machine), (_, _, python) = both(function, [kind, kind, kind], x, y, out)
    for column in range(out.shape[1]):
        one, other = machine[:, column].copy(), python[:, column].copy()
        same = (one.view(np.uint64) == other.view(np.uint64)) | ((one != one) & (other != other))
        wrong = [(x[i, 0], y[i, 0], one[i], other[i]) for i in np.flatnonzero(~same)[:3]]
        assert not wrong, f"column {column}: {wrong}"


def test_arrays_are_those_of_compiled_code():
    x = np.linspace(-1.0, 2.0, 12).reshape(3, 4)
    whole = np.arange(12).reshape(3, 4)
    machine, python = both(
        kernels.of_arrays, [FLOATS, INTEGERS, FLOATS], x, whole, np.zeros((3, 4))
    )
    for one, other in zip(machine, python, strict=True):
        assert_equal_bits(one, other)
    assert machine[2].any()
