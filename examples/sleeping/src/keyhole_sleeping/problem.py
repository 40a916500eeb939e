"""The instance: what is true, checked."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.policy import Problem as AnyProblem
from keyhole.validate import Range, check_vector
from keyhole_sleeping.environment import Sleepers
from keyhole_sleeping.setting import SETTING


class Problem(AnyProblem):
    """Bernoulli arms that sleep by chance, independently of each other and of the past.

    Parameters
    ----------
    means : sequence of float, shape (arms,)
        The mean reward of each arm, in [0, 1].
    awake : sequence of float, shape (arms,)
        The chance of each to be awake, in [0, 1]; where all would sleep, all are awake.
    """

    setting = SETTING
    environment = Sleepers

    def __init__(self, means: ArrayLike, awake: ArrayLike) -> None:
        self.means = check_vector("means", means, Range(ge=0, le=1))
        self.awake = check_vector("awake", awake, Range(ge=0, le=1))
        if len(self.awake) != len(self.means):
            raise ValueError(f"awake must have {len(self.means)} entries, got {len(self.awake)}")

    def truth(self) -> dict[str, Any]:
        """Return what the world reads; no policy sees it."""
        return {"arms": len(self.means), "means": self.means, "chances": self.awake}

    def resized(self, arms: int) -> "Problem":
        """Return a problem of `arms` arms like these, over and over."""
        return Problem(np.resize(self.means, arms), np.resize(self.awake, arms))
