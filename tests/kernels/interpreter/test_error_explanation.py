"""Errors in interpreted kernels name the line."""

import math

import numpy as np
import pytest

from keyhole import simulate
from keyhole.kernels.interpreter.kernel_copies import InterpretedFunction
from keyhole.policy import FloatArray, float_array
from keyhole.stochastic import Policy, Problem

NUMBERS = np.zeros(3, np.int64)


def shift_to_the_left(n, count):
    return count << n[0] + 64


def shift_to_the_right(n, count):
    n[0] = -1
    return count >> n[0]


def round_down(n, large):
    return math.floor(large)


def round_up(n, large):
    return math.ceil(large)


def convert(n, large):
    return np.int64(large)


def convert_to_a_word(n, large):
    return np.uint64(-large)


def store(n, large):
    n[0] = large


def fill(n, large):
    n[:] = large


def spread(n, large):
    return n.max()


@pytest.mark.parametrize(
    ("function", "given", "message"),
    [
        (shift_to_the_left, 1, "shifts by 64 bits, where 0 to 63 are possible: count << n"),
        (shift_to_the_right, 1, "shifts by -1 bits, where 0 to 63 are possible: count >> n"),
        (round_down, 1e300, r"makes an integer of more than 64 bits of 1e\+300: math.floor"),
        (round_up, -1e300, r"makes an integer of more than 64 bits of -1e\+300: math.ceil"),
        (round_down, math.nan, "makes an index or another integer of nan: math.floor"),
        (convert, 2.0**63, r"makes an integer of more than 64 bits of 9.2.*e\+18: np.int64"),
        (convert_to_a_word, 1.0, r"makes an integer from 0 to 2\*\*64 - 1 of -1.0: np.uint64"),
        (store, 1e300, r"makes an integer of more than 64 bits of 1e\+300: n\[0\] = large"),
        (fill, 1e300, r"makes an integer of more than 64 bits of 1e\+300: n\[:\] = large"),
    ],
)
def test_meaningless_operations_of_compiled_code_are_errors(function, given, message):
    line = function.__code__.co_firstlineno
    where = rf"\({__file__}, line ({line + 1}|{line + 2}), in {function.__name__}\)$"
    with pytest.raises(ValueError, match=rf"^a kernel of Mine {message}.*{where}"):
        InterpretedFunction("Mine", function)(NUMBERS.copy(), given)


def test_a_missing_attribute_of_an_array_is_named():
    with pytest.raises(
        TypeError, match=r"uses max of an array, which interpreted kernels lack: n\.max"
    ):
        InterpretedFunction("Mine", spread)(NUMBERS, 0)


class Asserting(Policy):
    class State:
        pulls: FloatArray = float_array("arms")
        totals: FloatArray = float_array("arms")

    def select(p, t: int) -> int:
        return 0

    def update(p, s: State, t: int, arm: int) -> None:
        if t == 3:
            raise AssertionError
        s.pulls[arm] += 1


def test_a_failed_assertion_is_reported_with_line_round_and_arm():
    where = rf"in a kernel of Asserting.* \({__file__}, line \d+, in update, round 3, arm 0\)"
    problem = Problem(means=[0.2, 0.7])
    with pytest.raises(ValueError, match=rf"raised AssertionError, {where}$"):
        simulate(problem, [Asserting()], horizon=5, replications=1, interpreted=True)
    learner = Asserting().learner(arms=2, interpreted=True)
    for _ in range(2):
        learner.ask()
        learner.tell(1.0)
    learner.ask()
    with pytest.raises(AssertionError) as found:
        learner.tell(1.0)
    assert len(found.value.__notes__) == 1
