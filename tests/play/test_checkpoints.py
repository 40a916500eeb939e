import numpy as np
import pytest

from keyhole import simulate
from keyhole.experiment import Spec
from keyhole.play.simulation_plan import check_checkpoints
from keyhole.thresholding import LSA, Problem

TEXT = """
name = "small"
replications = 1
horizon = 60
checkpoints = { count = 4, spacing = "log" }
[problem]
setting = "thresholding"
means = [0.2, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
"""


def test_python_takes_what_a_spec_has():
    problem = Problem(means=[0.2, 0.7], threshold=0.5)
    given = {"count": 4, "spacing": "log"}
    curves = simulate(problem, [LSA()], horizon=60, replications=1, checkpoints=given)
    assert list(curves.checkpoints) == list(Spec.from_text(TEXT).plan.checkpoints)
    assert curves.checkpoints[0] >= 2  # a budget below the number of arms is none
    assert check_checkpoints({"count": 3}, 60) == (20, 40, 60)
    assert check_checkpoints({"count": 3, "spacing": "log"}, 1000) == (10, 100, 1000)
    assert check_checkpoints({"count": 2, "spacing": "log"}, 800, first=8) == (80, 800)
    assert check_checkpoints(np.array([3, 60]), 60) == (3, 60)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (50, r"a list of rounds, or a number of them as \{'count': 50\}, got 50$"),
        ("50", "a list of rounds, or a number of them as .*, got '50'$"),
        ({"count": 0}, r"^checkpoints.count must lie in \[1, 100000\], got 0$"),
        ({"count": 2.0}, r"^checkpoints.count must be a whole number, got 2.0$"),
        ({"spacing": "log"}, r"^checkpoints.count must be given$"),
        ({"count": 2, "spacing": "ln"}, r"^checkpoints.spacing must be one of linear, log; got 'l"),
        ({"number": 2}, r"^each entry of checkpoints must be one of count, spacing; got 'number'$"),
        ({3, 60}, r"a list of rounds, .*, got \{"),
        ([], "^checkpoints must have at least one entry, got none$"),
        ([1.5], r"^checkpoints\[0\] must be a whole number, got 1.5$"),
    ],
)
def test_what_are_no_checkpoints_is_refused(given, words):
    with pytest.raises((TypeError, ValueError), match=words):
        check_checkpoints(given, 60)
