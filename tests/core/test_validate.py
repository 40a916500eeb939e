import math

import numpy as np
import pytest

from keyhole.core.validate import Range, choice, integer, number, vector


@pytest.mark.parametrize(
    ("allowed", "words"),
    [
        (Range(ge=0, le=1), "lie in [0, 1]"),
        (Range(gt=0, lt=1), "lie in (0, 1)"),
        (Range(gt=0), "be above 0"),
        (Range(le=3), "be at most 3"),
        (Range(lt=3), "be below 3"),
        (Range(), "be a finite number"),
    ],
)
def test_a_range_says_what_it_allows(allowed, words):
    assert str(allowed) == words


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_numbers_are_finite(value):
    with pytest.raises(ValueError, match=r"x must be a finite number, got (nan|inf|-inf)"):
        number("x", value)


@pytest.mark.parametrize("value", ["1", None, True, [1.0]])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(TypeError, match="x must be a number, got"):
        number("x", value)


@pytest.mark.parametrize("value", [1.0, True, "1", np.float64(2)])
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(TypeError, match="x must be a whole number, got"):
        integer("x", value)


def test_numpy_numbers_are_numbers():
    assert integer("x", np.int32(3)) == 3
    assert number("x", np.float32(0.5)) == 0.5


def test_a_vector_names_the_entry_that_is_wrong():
    with pytest.raises(ValueError, match=r"x\[2\] must lie in \[0, 1\], got 7"):
        vector("x", [0, 1, 7], Range(ge=0, le=1))
    with pytest.raises(ValueError, match="x must have at least one entry, got none"):
        vector("x", [])
    with pytest.raises(TypeError, match="x must be a list of numbers, got '12'"):
        vector("x", "12")


def test_a_wrong_word_is_answered_with_the_nearest():
    with pytest.raises(
        ValueError, match=r"colour must be one of red, blue; got 'bleu' \(did you mean 'blue'\?\)"
    ):
        choice("colour", "bleu", ["red", "blue"])
    with pytest.raises(ValueError, match=r"got 'x'$"):
        choice("colour", "x", ["red", "blue"])
