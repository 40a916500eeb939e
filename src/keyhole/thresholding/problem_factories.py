"""Spec entries that describe a problem of the thresholding bandit."""

from typing import Final

from keyhole.spec_values import ProblemFactory
from keyhole.thresholding.confidence_problem import ConfidenceSequenceProblem
from keyhole.thresholding.problem import Problem

PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    "watched": ProblemFactory(
        "the mean reward of each arm; running means are compared with Lemma 19 of Tao et al.",
        ConfidenceSequenceProblem,
    ),
    "samples": ProblemFactory(
        "recorded rewards: a list for each arm", Problem.replay, excluded=("gold",)
    ),
}
