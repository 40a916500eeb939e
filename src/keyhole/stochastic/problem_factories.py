"""Spec entries (in a file that describes an experiment) for a problem of the stochastic bandit.

Such a problem is options (arms), each with a distribution of its random rewards.
"""

from typing import Final

from keyhole.spec_values import ProblemFactory
from keyhole.stochastic.problem import Problem

PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    "samples": ProblemFactory("recorded rewards: a list for each arm", Problem.replay),
}
