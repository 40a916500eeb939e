"""Spec entries (in a file that describes an experiment) for a problem of the thresholding bandit.

Such a problem is options (arms) with random rewards, and a number (the threshold): which arms have
a mean reward of at least that?
"""

from typing import Final

from keyhole.spec_values import ProblemFactory
from keyhole.thresholding.confidence_coverage_problem import ConfidenceCoverageProblem
from keyhole.thresholding.problem import Problem

PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    "watched": ProblemFactory(
        "the mean reward of each arm; running means are compared with Lemma 19 of Tao et al.",
        ConfidenceCoverageProblem,
    ),
    "samples": ProblemFactory(
        "recorded rewards: a list for each arm", Problem.replay, excluded=("gold",)
    ),
}
