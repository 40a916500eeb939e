"""Problem: means and probabilities to be awake of all arms."""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.policy import Problem as AnyProblem
from keyhole.spec_values import ProblemFactory
from keyhole.validation import Range, check_vector
from keyhole_sleeping.environment import Sleepers
from keyhole_sleeping.setting import SETTING


class Problem(AnyProblem):
    """Bernoulli arms that are awake at random, independently of each other and of the past.

    Parameters
    ----------
    means : sequence of float, shape (arms,)
        The mean reward of each arm, in [0, 1].
    awake : sequence of float, shape (arms,)
        The probability of each to be awake, in [0, 1]; if none would be awake, all are.
    """

    setting = SETTING
    environment = Sleepers

    def __init__(self, means: ArrayLike, awake: ArrayLike) -> None:
        self.means = check_vector("means", means, Range(ge=0, le=1))
        self.awake = check_vector("awake", awake, Range(ge=0, le=1))
        if len(self.awake) != len(self.means):
            raise ValueError(f"awake must have {len(self.means)} entries, got {len(self.awake)}")

    def truth(self) -> dict[str, Any]:
        """Return the fields of the environment, which no policy reads."""
        return {"arms": len(self.means), "means": self.means, "chances": self.awake}

    def resized(self, arms: int) -> "Problem":
        """Return a problem of `arms` arms, with these repeated in order."""
        return Problem(np.resize(self.means, arms), np.resize(self.awake, arms))


PROBLEM_FACTORIES: Final = {"means": ProblemFactory("means of all arms, in [0, 1]", Problem)}
"""The spec entries that describe problems."""
