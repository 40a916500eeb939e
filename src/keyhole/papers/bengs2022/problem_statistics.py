"""Exact statistics of a problem of limited runs, which check what a paper says of its problems.

An arm is a thing that can be run, such as a solver. The means are of runs without a limit; what is
best to run is given for each limit of time, say, at which a run is stopped.
"""

from typing import Final

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.distributions.distribution import Distribution
from keyhole.resource.cost_functions import Power
from keyhole.resource.problem import Problem

_STEPS: Final = 600  # equally spaced limits at which gains are compared
_FAR: Final = 100.0  # multiple of the largest limit beyond which expectations are truncated


def mean_rewards(problem: Problem) -> FloatArray:
    """Return the mean reward of each arm's runs without a limit.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> mean_rewards(three_models("soft")).round(2)
    array([0.84, 0.55, 0.31])
    """
    far = _FAR * problem.limits[-1]
    return np.array([_yields(distribution, far, far)[0] for distribution in problem.distributions])


def mean_consumptions(problem: Problem) -> FloatArray:
    """Return the mean consumption of each arm's runs without a limit.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> mean_consumptions(three_models("soft")).round(2)
    array([0.79, 0.45, 0.19])
    """
    far = _FAR * problem.limits[-1]
    return np.array(
        [_mean_consumption(distribution, far) for distribution in problem.distributions]
    )


def reward_rises(problem: Problem) -> FloatArray:
    r"""Return the difference of each arm's mean rewards above and below its mean consumption.

    .. math:: \mathrm E[R \mid C > m] - \mathrm E[R \mid C \le m], \qquad m = \mathrm E[C]

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> bool((reward_rises(three_models("soft")) > 0).all())
    True
    """
    far = _FAR * problem.limits[-1]
    rises = []
    for distribution in problem.distributions:
        low, share = _yields(distribution, _mean_consumption(distribution, far), far)
        whole, _ = _yields(distribution, far, far)
        rises.append((whole - low) / (1.0 - share) - low / share)
    return np.array(rises)


def best_arm_shares(problem: Problem) -> FloatArray:
    """Return the share of the limits at which each arm has the largest gain.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> best_arm_shares(three_models("strict")).round(2)
    array([0.  , 0.03, 0.97])
    """
    return np.bincount(_leaders(problem), minlength=problem.arms) / _STEPS


def first_leading_limits(problem: Problem) -> FloatArray:
    """Return the smallest limit at which each arm has the largest gain, over the largest limit.

    It is infinite for an arm that has it nowhere.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> first_leading_limits(three_models("soft")).round(2)
    array([0.74, 0.44, 0.  ])
    """
    leaders = _leaders(problem)
    firsts = [np.flatnonzero(leaders == arm) for arm in range(problem.arms)]
    return np.array([(1 + at[0]) / _STEPS if len(at) else np.inf for at in firsts])


def largest_gains(problem: Problem) -> FloatArray:
    """Return the gain of each arm at its best limit.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> largest_gains(three_models("soft")).round(2)
    array([0.76, 0.51, 0.3 ])
    """
    return np.asarray(_gains(problem).max(axis=1))


def half_limit_exceedance(problem: Problem) -> FloatArray:
    """Return the probability that a run of each arm exceeds half of the largest limit.

    Examples
    --------
    >>> from keyhole.resource import three_models
    >>> half_limit_exceedance(three_models("soft")).round(2)
    array([0.9 , 0.16, 0.  ])
    """
    limits = problem.limits[-1] * np.array([0.5, 1.0])
    return Problem(problem.distributions, limits, problem.cost, problem.penalty).censoring[:, 0]


def _gains(problem: Problem) -> FloatArray:
    """Return the gain of every arm at equal steps up to the largest limit."""
    limits = problem.limits[-1] * np.arange(1, _STEPS + 1) / _STEPS
    return Problem(problem.distributions, limits, problem.cost, problem.penalty).gains


def _leaders(problem: Problem) -> NDArray[np.intp]:
    """Return the arm with the largest gain at each step."""
    return np.asarray(_gains(problem).argmax(axis=0))


def _yields(distribution: Distribution, limit: float, far: float) -> tuple[float, float]:
    """Return E[R 1{C <= limit}] and P(C <= limit)."""
    # Without cost and penalty, the gain at a limit is the mean reward within it. Limits must
    # differ, and `limit` may be `far` itself.
    limits = np.unique([limit, far])
    problem = Problem([distribution], limits, Power(), Power())
    return float(problem.gains[0, 0]), 1.0 - float(problem.censoring[0, 0])


def _mean_consumption(distribution: Distribution, far: float) -> float:
    """Return E[C 1{C <= far}], the loss of gain under a cost of C / far, times far."""
    costly = Problem([distribution], [far], Power(slope=1.0 / far), Power())
    return far * (_yields(distribution, far, far)[0] - float(costly.gains[0, 0]))
