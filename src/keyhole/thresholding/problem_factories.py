"""How a spec describes a problem of this room."""

from typing import Final

from keyhole.spec_values import ProblemFactory
from keyhole.thresholding.confidence_sequences import ConfidenceProblem
from keyhole.thresholding.problem import Problem

PROBLEM_FACTORIES: Final = {
    "means": ProblemFactory("the mean reward of each arm, in [0, 1]", Problem),
    "watched": ProblemFactory(
        "the mean reward of each arm; means are held against Lemma 19 of Tao et al. (2019)",
        ConfidenceProblem,
    ),
    "samples": ProblemFactory(
        "recorded rewards: a list for each arm", Problem.replay, excluded=("gold",)
    ),
}
