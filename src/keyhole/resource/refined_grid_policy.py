"""Base class of policies that choose any limit for a run, from grids of limits that they refine.

An arm is a thing that can be run, such as a solver, and has a grid; its run is stopped at the
limit.
"""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from keyhole.contract.policy import known_fact, parameter
from keyhole.contract.state_arrays import (
    Field,
    FloatArray,
    IntArray,
    float_array,
    int_array,
    scratch_array,
)
from keyhole.resource.policy_base import Policy
from keyhole.resource.refined_limit_grid import finest_pair, log_ratio, start_grids

# Grid points of all arms together: nine arrays of 8 bytes make 72 MB per concurrent replication.
_MOST_POINTS: Final = 2**20


class RefinedGridPolicy(Policy, abstract=True):
    r"""Base class of policies that keep a grid of limits for each arm and refine it near the best.

    Every grid starts as the largest limit alone. A grid point :math:`\tau` stands for the limits
    between the next smaller point and itself, an interval of width :math:`h`; its index is its
    estimated gain, a confidence length, and the bias L h. An interval whose bias reaches its
    length is split into equal parts.

    The confidence length of a point with n informative rounds is
    :math:`w \sqrt{\alpha \ln(T^2 / \delta) / (2 n)}`. A subclass defines the kernels
    ``width(p, s, arm, k)``, which returns w of point k, and ``planned(p, s)``, which returns T; and
    `least_width`, a lower bound of w.
    """

    needs = ("horizon",)
    # Decisions wait for all feedback: while one is pending, the feedback of another could split its
    # interval, and `played` would not have the level at which it was played.
    pending = ("wait",)
    helpers: ClassVar[tuple[str, ...]] = ("width", "planned")

    alpha: float = parameter(default=1.0, gt=0, doc="exploration")
    delta: float = parameter(default=0.05, gt=0, lt=1, doc="confidence level")
    refine: int = parameter(default=2, ge=2, le=64, doc="parts into which an interval is cut")
    lipschitz: float = parameter(default=1.0, gt=0, doc="how fast gains fall off the best limit")
    grid_size: ClassVar[int] = known_fact()

    class State:
        """Grids, with sums for each point, and the best point of each arm."""

        sizes = int_array("arms")
        points = float_array("arms", "grid_size")
        penalties = float_array("arms", "grid_size")
        levels = int_array("arms", "grid_size")  # how often the point's interval has been split
        played = int_array("arms", "grid_size")  # 1 + the level at which it was last played, or 0
        told = float_array("arms", "grid_size")  # informative rounds of the point
        net = float_array("arms", "grid_size")  # sum over these of (R - c(C)) 1{C <= point}
        over = float_array("arms", "grid_size")  # sum over these of 1{C > point}
        cut = int_array("grid_size")  # whether a point's interval is to be split
        fresh = int_array("grid_size")  # positions of new points
        # Bias and index of each point, cached: valid for the arms with `settled` = 1.
        reach = scratch_array("arms", "grid_size")
        index = scratch_array("arms", "grid_size")
        settled = scratch_array("arms")
        best_index = float_array("arms")
        best_point = float_array("arms")
        plays = int_array("arms")

    @abstractmethod
    def least_width(self, facts: Mapping[str, Any]) -> float:
        """Return a lower bound of w, the factor of a confidence length."""

    @classmethod
    def input_fields(cls) -> dict[str, Field]:
        """Return the fields of `p`, with the largest possible number of points of a grid."""
        return super().input_fields() | {"grid_size": Field("int64")}

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        r"""Return the checked facts, and the largest possible size of a grid.

        No interval shorter than :math:`c / L` is split, with c the smallest confidence length, so
        that none is shorter than that over n.
        """
        facts = super().check_facts(values)
        if facts["continuous"] != 1:
            raise ValueError(
                f"continuous must be True for {type(self).__name__}, which chooses among all "
                "limits up to the largest, got False"
            )
        largest = float(facts["limits"][-1])
        # Arrays of a state have fixed lengths: the finest possible grid is allocated at the start.
        shortest = self.least_width(facts) * self._least_root(facts["horizon"]) / self.lipschitz
        grid_size = max(self.refine, math.ceil(largest / shortest * self.refine)) + 1
        if grid_size * facts["arms"] > _MOST_POINTS:
            raise ValueError(
                f"lipschitz must be smaller, got {self.lipschitz:g}: the grids may need "
                f"{grid_size} points per arm, and {_MOST_POINTS} for all arms are allowed"
            )
        return facts | {"grid_size": grid_size}

    def _least_root(self, horizon: int) -> float:
        """Return the smallest square root in a confidence length: the one after all rounds."""
        return math.sqrt(0.5 * self.alpha * log_ratio(horizon, self.delta) / horizon)

    def init(p, s: State) -> None:
        """Start every grid with the largest limit alone."""
        start_grids(p, s)

    def select(p, s: State) -> tuple[int, float]:
        """Return the pair with the largest index."""
        best = 0
        for arm in range(1, p.arms):
            if s.best_index[arm] > s.best_index[best]:
                best = arm
        return best, s.best_point[best]

    def recommend(p, s: State, best_arm: IntArray, best_limit: FloatArray) -> None:  # type: ignore[override]
        """Recommend the pair played on the finest level; among several, the best estimate."""
        best_arm[0], best_limit[0] = finest_pair(p, s)
