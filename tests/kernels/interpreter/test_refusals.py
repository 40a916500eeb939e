"""Objects that cannot be interpreted are refused by name."""

import math
import operator

import numpy as np
import pytest
from numba.extending import intrinsic

from keyhole.kernels.interpreter.error_explanation import NotInterpretedError
from keyhole.kernels.interpreter.kernel_copies import InterpretedFunction

NARROW = np.zeros(3, np.float32)


@intrinsic
def vector_sum(typing, x):
    """Be compiled to nothing that Python has."""


class Tables:
    """Not a module, nor a function."""

    first = 1.0


TABLES = Tables()


def with_a_function_of_numpy(x):
    return np.linalg.norm(x)


def with_a_function_of_math(x):
    return math.perm(3, x)


def with_an_intrinsic(x):
    return vector_sum(x)


def with_narrow_numbers(x):
    return NARROW[0]


def with_an_object(x):
    return TABLES.first


def below(x):
    return with_a_function_of_numpy(x)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            with_a_function_of_numpy,
            r"uses np.linalg.norm, .* norm, which has no equivalent in Python",
        ),
        (with_a_function_of_math, "uses math.perm, .* perm, which has no equivalent in Python"),
        (with_an_intrinsic, "uses vector_sum, .* vector_sum, which has no equivalent in Python"),
        (with_narrow_numbers, "uses NARROW, an array of float32, where a kernel has float64"),
        (with_an_object, "uses TABLES, .*Tables.*, which has no equivalent in Python"),
        (below, "with_a_function_of_numpy cannot be interpreted: it uses np.linalg"),
        (operator.add, "builtin_function_or_method add is not written in Python"),
    ],
)
def test_objects_without_an_equivalent_are_named_with_their_line(function, message):
    with pytest.raises(NotInterpretedError, match=f"^Mine: .*{message}") as found:
        InterpretedFunction("Mine", function)
    assert "\n" not in str(found.value)
    if function is not operator.add:
        assert f"({__file__}, line " in str(found.value)


def test_a_copy_of_an_array_is_refused_as_by_the_compiler():
    def copying(x):
        x[:2] = x[1:]

    with pytest.raises(TypeError, match="a kernel cannot allocate memory"):
        InterpretedFunction("Mine", copying)(np.zeros(3))


halves = [lambda x: x[0] / 2, lambda x: x[0] / x[1]]


def test_a_lambda_is_interpreted():
    assert InterpretedFunction("Mine", halves[0])(np.ones(2)) == 0.5
    assert InterpretedFunction("Mine", halves[1])(np.array([1.0, 0.0])) == math.inf
