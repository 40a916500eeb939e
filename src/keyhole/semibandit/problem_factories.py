"""Spec entries that describe a problem of censored semi-bandits."""

from typing import Final

from keyhole.semibandit.problem import Problem
from keyhole.spec_values import ProblemFactory

PROBLEM_FACTORIES: Final = {
    "mean_losses": ProblemFactory("the mean loss of each arm, in [0, 1]", Problem),
    "losses": ProblemFactory(
        "recorded days: for each a list of 0 or 1, whether each arm would have had a loss",
        Problem.replay,
    ),
}
