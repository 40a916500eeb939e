"""Schedule by which the policy z-RCUCB tries ever finer limits for the runs that it starts."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.play.interactive_environment import InteractiveEnvironment
from keyhole.resource import ZoomingRCUCB
from keyhole.resource.problem import Problem

_POLICY: Final = ZoomingRCUCB(alpha=0.02, delta=0.05, refine=2, lipschitz=2, gain_range=1)
_ROUNDS: Final = 1000


@dataclass(frozen=True)
class Stage:
    """Grids after a round."""

    round: int  # 0 before the first
    extended: int  # number of points at which a grid was extended in that round
    grids: tuple[FloatArray, ...]  # the points of each arm, increasing


@lru_cache(maxsize=4)  # several claims and a figure use those of one problem
def stages(problem: Problem, *, rounds: int = _ROUNDS) -> tuple[Stage, ...]:
    """Play z-RCUCB, with alpha = 0.02 and L = 2, and return the grids whenever they change.

    References
    ----------
    Bengs and Huellermeier (2022), section 4.1, Algorithm 1, Figure 3.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> found = stages(three_models("soft"), rounds=50)
    >>> [grid.tolist() for grid in found[0].grids]
    [[1.2], [1.2], [1.2]]
    """
    learner = _POLICY.learner(
        arms=problem.arms,
        limits=problem.limits,
        cost=problem.cost,
        penalty=problem.penalty,
        continuous=problem.continuous,
        horizon=rounds,
    )
    environment = InteractiveEnvironment(problem, seed=0, horizon=rounds)

    def grids() -> tuple[FloatArray, ...]:
        sizes, points = learner.state["sizes"], learner.state["points"]
        return tuple(points[arm, :size].copy() for arm, size in enumerate(sizes))

    found = [Stage(0, 0, tuple(problem.limits[-1:] for _ in range(problem.arms)))]
    for t in range(1, rounds + 1):
        environment.play_round(learner)
        # Where a grid is extended, each point in question makes `refine` - 1 new ones.
        new = sum(learner.state["sizes"].tolist()) - sum(map(len, found[-1].grids))
        if new:
            found.append(Stage(t, new // (_POLICY.refine - 1), grids()))
    return tuple(found)


def joint_extensions(problem: Problem) -> int:
    """Return the number of rounds, of 1,000, that extend a grid at more than one point."""
    return sum(stage.extended > 1 for stage in stages(problem))


def grid_sizes(problem: Problem) -> FloatArray:
    """Return the number of points of each arm's grid after 1,000 rounds."""
    return np.array([len(grid) for grid in stages(problem)[-1].grids], dtype=np.float64)
