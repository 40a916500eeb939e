"""Spec entries (in a file that describes an experiment) for a problem with late rewards.

Such a problem is options (arms) with random rewards, and how many rounds later these arrive.
"""

from typing import Final

from keyhole.delayed.problem import Problem
from keyhole.spec_values import ProblemFactory

PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    "rewards": ProblemFactory(
        "recorded rewards, a list for each arm; delays are those recorded with them",
        Problem.replay,
    ),
}
