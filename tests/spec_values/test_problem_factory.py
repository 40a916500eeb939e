from pathlib import Path

import pytest

from keyhole.spec_values import ProblemFactory
from keyhole.spec_values.problem_factory import parameter_docs
from keyhole.thresholding import Problem


def made_up(first, second, *, third=1, fourth=2):
    """Make a problem.

    Parameters
    ----------
    first : list of float
        The first, on
        two lines.
    second, third : float
        The others.

    Returns
    -------
    Problem
        It.
    """
    if second < 0:
        raise ValueError(f"second must be at least 0, got {second}")
    if third < 0:
        raise ValueError(f"first[{third}] must be something else")
    return Problem(first, second)


MADE_UP = ProblemFactory(
    "a list",
    made_up,
    further_readers={"third": lambda field, v, folder: int(v)},
    excluded=("fourth",),
)


def test_a_sources_entries_are_the_arguments_of_its_function():
    entries = MADE_UP.entries
    assert {name: entry.required for name, entry in entries.items()} == {
        "second": True,
        "third": False,
    }
    assert parameter_docs(made_up)["first"] == ("list of float", "The first, on two lines.")
    assert entries["third"].kind == "float"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({}, "problem.second must be given"),
        ({"second": -1}, "problem.second must be at least 0, got -1"),
        ({"second": 0.5, "third": "-1"}, r"problem.numbers\[-1\] must be something else"),
        ({"second": 0.5, "third": "x"}, "problem.third: invalid literal"),
        ({"second": 0.5, "fourth": 1}, "problem.fourth is not known; known are setting, numbers,"),
    ],
)
def test_errors_name_the_entry_that_the_user_wrote(given, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        MADE_UP.problem("numbers", {"numbers": [0.5], **given}, Path())
