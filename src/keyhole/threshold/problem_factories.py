"""Spec entries (in a file that describes an experiment) for a problem of the threshold bandit.

A problem is options (arms) that give random numbers (samples), and for each round a bar (the
threshold) that the sample should reach.
"""

from typing import Final

from keyhole.spec_values import ProblemFactory
from keyhole.threshold.problem import Problem

PROBLEM_FACTORIES: Final = {
    "survival": ProblemFactory("for each arm the chances to reach level 1, 2, ..., m", Problem),
    "mass": ProblemFactory(
        "for each arm the chances of the levels 0, 1, ..., m", Problem.from_mass
    ),
    "samples": ProblemFactory(
        "recorded samples, from 0 to the number of levels: a list for each arm", Problem.replay
    ),
}
