"""Properties that are computed once."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from keyhole.cached_property import cached_property
from tests.forks import ENOUGH, in_child


class Squared:
    """A number whose square is asked for."""

    def __init__(self, number, find=lambda: None):
        self.number, self.find, self.times = number, find, 0

    @cached_property
    def square(self):
        """What it is."""
        self.times += 1
        self.find()
        return self.number**2


def test_a_value_is_computed_once_for_each_object():
    first, second = Squared(2), Squared(3)
    assert [first.square, second.square, first.square] == [4, 9, 4]
    assert first.times == second.times == 1


def test_the_class_shows_what_the_property_is():
    assert Squared.square.__doc__ == "What it is."


def test_a_value_that_could_not_be_computed_is_computed_again():
    squared = Squared(2, lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        _ = squared.square
    squared.find = lambda: None
    assert squared.square == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_computes_what_a_thread_of_its_parent_was_computing():
    begun, go = threading.Event(), threading.Event()

    def find():
        begun.set()
        go.wait(ENOUGH)

    slow = Squared(2, find)
    with ThreadPoolExecutor(1) as pool:
        at_work = pool.submit(lambda: slow.square)
        assert begun.wait(ENOUGH)
        try:
            assert in_child(lambda: Squared(3).square) == "9"
        finally:
            go.set()
        assert at_work.result(ENOUGH) == 4
