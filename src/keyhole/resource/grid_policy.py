"""What the policies that refine grids of limits have in common."""

import math
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Final

from keyhole.contract.policy import known_fact, parameter
from keyhole.contract.state_memory import (
    Field,
    FloatArray,
    IntArray,
    float_array,
    int_array,
    scratch_array,
)
from keyhole.resource.limit_grid import finest_width, log_ratio, start_grids
from keyhole.resource.setting import Policy

# Grid points of all arms together: at nine arrays of 8 bytes, 72 MB for each replication at work.
_MOST_POINTS: Final = 2**20


class GridPolicy(Policy, abstract=True):
    r"""Base of the policies that keep a grid of limits for each arm and refine it where it pays.

    Every grid starts as the largest limit alone. A grid point :math:`\tau` stands for the limits
    between the next smaller point and itself, an interval of width :math:`h`; its index is its
    estimated gain, a confidence length, and the bias L h. An interval whose bias reaches its
    length is cut into equal parts.

    The confidence length of a point that n rounds tell of is
    :math:`w \sqrt{\alpha \ln(T^2 / \delta) / (2 n)}`. A subclass writes the kernels
    ``width(p, s, arm, k)``, which is w of point k, and ``planned(p, s)``, which is T; and
    `least_width`, below which w never falls.
    """

    needs = ("horizon",)
    # Intervals are cut as runs are told; a level that was played must not have been cut since.
    pending = ("wait",)
    helpers: ClassVar[tuple[str, ...]] = ("width", "planned")

    alpha: float = parameter(default=1.0, gt=0, doc="exploration")
    delta: float = parameter(default=0.05, gt=0, lt=1, doc="confidence level")
    refine: int = parameter(default=2, ge=2, le=64, doc="parts into which an interval is cut")
    lipschitz: float = parameter(default=1.0, gt=0, doc="how fast gains fall off the best limit")
    grid_size: ClassVar[int] = known_fact()

    class State:
        """Grids, with sums for each point, and the best of each arm."""

        sizes = int_array("arms")
        points = float_array("arms", "grid_size")
        penalties = float_array("arms", "grid_size")
        levels = int_array("arms", "grid_size")  # how often the point's interval has been cut
        played = int_array("arms", "grid_size")  # 1 + the level at which it was last played, or 0
        told = float_array("arms", "grid_size")  # rounds that tell of the point
        net = float_array("arms", "grid_size")  # sum over these of (R - c(C)) 1{C <= point}
        over = float_array("arms", "grid_size")  # sum over these of 1{C > point}
        cut = int_array("grid_size")  # whether a point's interval is to be cut
        fresh = int_array("grid_size")  # places of new points
        # Of points whose arm is settled: nothing of it awaits a look but what a round tells.
        reach = scratch_array("arms", "grid_size")
        index = scratch_array("arms", "grid_size")
        settled = scratch_array("arms")
        best_index = float_array("arms")
        best_point = float_array("arms")
        plays = int_array("arms")

    @abstractmethod
    def least_width(self, facts: Mapping[str, Any]) -> float:
        """Return the least factor of a confidence length."""

    @classmethod
    def input_fields(cls) -> dict[str, Field]:
        """Return what kernels find in `p`; among it the most points that a grid can have."""
        return super().input_fields() | {"grid_size": Field("int64")}

    def check_facts(self, values: Mapping[str, Any]) -> dict[str, Any]:
        r"""Return what the policy is told, checked, and how large grids can become.

        No interval is cut that is shorter than :math:`c / L` with the smallest length c, so that
        none is shorter than that over n.
        """
        facts = super().check_facts(values)
        if facts["continuous"] != 1:
            raise ValueError(
                f"continuous must be True for {type(self).__name__}, which chooses among all limits"
            )
        largest = float(facts["limits"][-1])
        shortest = self.least_width(facts) * self._least_root(facts["horizon"]) / self.lipschitz
        grid_size = max(self.refine, math.ceil(largest / shortest * self.refine)) + 1
        if grid_size * facts["arms"] > _MOST_POINTS:
            raise ValueError(
                f"lipschitz must be smaller: with {self.lipschitz:g} the grids may need "
                f"{grid_size} points an arm, {_MOST_POINTS} in all are allowed"
            )
        return facts | {"grid_size": grid_size}

    def _least_root(self, horizon: int) -> float:
        """Return the smallest root in a confidence length, that after all rounds."""
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
        """Name the pair played on the finest level, of several the one of the largest estimate."""
        best_arm[0], best_limit[0] = finest_width(p, s)
