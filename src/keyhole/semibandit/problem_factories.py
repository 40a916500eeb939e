"""Spec entries (in a file that describes an experiment) for a problem of dividing a resource.

Such a problem is places where losses may occur (arms), the amount of a resource that each needs to
have none (its threshold), and how much of it there is.
"""

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
