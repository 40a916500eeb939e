"""Synthetic solvers, for experiments on which solver to run and when to stop it.

Their run times have heavy tails: a few runs last very much longer than most.
"""

from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.draws.streams import stream, uniform
from keyhole.extras import require_extra
from keyhole.resource.cost_functions import Power
from keyhole.resource.joint_distributions import Distribution, Replay
from keyhole.resource.problem import Problem
from keyhole.validate import Range, SequenceLike, check_choice, check_integer

_LIMITS: Final = (1 / 1000, 1 / 300, 1 / 100, 1 / 30, 1 / 10, 1 / 3, 1.0)
_RUNS: Final = 500  # equally likely times of each solver
_LARGEST: Final = 1e6  # largest time, in cut-offs: beyond it only the censoring matters
# Mean and standard deviation, over the solvers, of ln(median time); least and largest standard
# deviation of ln(time) within one.
_KINDS: Final = {
    "scattered": (0.0, 1.5, 2.5, 5.0),
    "alike": (-0.5, 0.5, 4.0, 4.0),
    "lone": (5.0, 0.7, 2.5, 2.5),
}
_LONE: Final = (-1.0, 4.0)  # ln(median time) and standard deviation of the one fast solver


def portfolio(
    kind: str, size: int = 15, *, seed: int = 0, limits: SequenceLike = _LIMITS
) -> Problem:
    r"""Return a problem whose arms are solvers with log-normal run times and a time limit of 1.

    The gain of a completed run is 1 less its time, :math:`c(x) = x`; that of another is minus its
    limit, :math:`\lambda(x) = x`: the expected gain is the share of completed runs less the mean
    time spent.

    Parameters
    ----------
    kind : {"scattered", "alike", "lone"}
        Solvers that differ widely; that differ little; or of which only the middle one solves much.
    size : int, default 15
        Number of solvers, at least 1.
    seed : int, default 0
        Seed of the solvers' parameters.
    limits : sequence of float, default (1/1000, 1/300, 1/100, 1/30, 1/10, 1/3, 1)
        Fractions of the time limit.

    Examples
    --------
    >>> problem = portfolio("lone", 5)
    >>> problem.best_pair
    (2, 0.1)
    >>> (1 - problem.censoring[:, -1]).round(2)  # shares of runs completed before the time limit
    array([0.04, 0.02, 0.6 , 0.02, 0.03])
    """
    require_extra("scipy", "portfolio()")
    from scipy.special import ndtri

    middle, apart, low, high = _KINDS[check_choice("kind", kind, _KINDS)]
    count = check_integer("size", size, Range(ge=1))
    rng = stream(check_integer("seed", seed, Range(ge=0)))
    distributions = list[Distribution]()
    for arm in range(count):
        median = middle + apart * float(ndtri(uniform(rng)))
        deviation = low + (high - low) * uniform(rng)
        if kind == "lone" and arm == count // 2:
            median, deviation = _LONE
        distributions.append(_log_normal(median, deviation))
    return Problem(distributions, limits, Power(slope=1.0), Power(slope=1.0))


def _log_normal(median: float, deviation: float) -> Replay:
    """Return an empirical distribution of quantiles of exp(median + deviation * normal)."""
    from scipy.special import ndtri

    shares = (np.arange(_RUNS) + 0.5) / _RUNS
    times: FloatArray = np.exp(median + deviation * ndtri(shares))
    return Replay(np.ones(_RUNS), np.minimum(times, _LARGEST))
