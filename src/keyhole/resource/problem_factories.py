"""Problem factories: instances of Bengs and Hüllermeier (2022); solvers with heavy-tailed times."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.state_arrays import FloatArray
from keyhole.distributions.distribution import Distribution
from keyhole.draws.streams import stream, uniform
from keyhole.extras import require_extra
from keyhole.resource.cost_functions import COST_READERS, Power
from keyhole.resource.joint_distributions import BetaExponential, Replay, TruncatedNormal
from keyhole.resource.problem import Problem
from keyhole.spec_values import ProblemFactory, list_of, tagged_union_reader
from keyhole.validation import DEFAULT_SEED, Range, SequenceLike, check_choice, check_integer

_LIMITS: Final = (1 / 1000, 1 / 300, 1 / 100, 1 / 30, 1 / 10, 1 / 3, 1.0)
_RUNS: Final = 500  # number of equally likely times of each solver
_LARGEST_TIME: Final = 1e6  # caps the times; no gain changes, since no limit exceeds 1
# By kind: mean and standard deviation of ln(median time) among the solvers; then the smallest and
# the largest standard deviation of ln(time) that a solver may have.
_KINDS: Final = {
    "scattered": (0.0, 1.5, 2.5, 5.0),
    "alike": (-0.5, 0.5, 4.0, 4.0),
    "lone": (5.0, 0.7, 2.5, 2.5),
}
# The fast solver of "lone": ln(median time), standard deviation of ln(time).
_LONE: Final = (-1.0, 4.0)


def portfolio_problem(
    kind: str, size: int = 15, *, seed: int = DEFAULT_SEED, limits: SequenceLike = _LIMITS
) -> Problem:
    r"""Return a problem of solvers with log-normal run times, in which no limit exceeds 1.

    The gain of a completed run is 1 less its time (:math:`c(x) = x`), and the gain of a stopped run
    is minus its limit (:math:`\lambda(x) = x`). The expected gain is therefore the share of
    completed runs less the mean time spent.

    Parameters
    ----------
    kind : {"scattered", "alike", "lone"}
        "scattered" solvers differ widely, "alike" solvers differ little, and of "lone" solvers only
        the middle one completes many runs.
    size : int, default 15
        Number of solvers, at least 1.
    seed : int, default 0
        Seed of the solvers' parameters.
    limits : sequence of float, default (1/1000, 1/300, 1/100, 1/30, 1/10, 1/3, 1)
        The limits that may be chosen for a run: rising, above 0 and at most 1.

    Examples
    --------
    >>> problem = portfolio_problem("lone", 5)
    >>> problem.best_pair
    (2, 0.1)
    >>> (1 - problem.censoring[:, -1]).round(2)  # shares of runs completed by time 1
    array([0.04, 0.02, 0.6 , 0.02, 0.03])
    """
    require_extra("scipy", "portfolio()")
    from scipy.special import ndtri

    mean, spread, low, high = _KINDS[check_choice("kind", kind, _KINDS)]
    count = check_integer("size", size, Range(ge=1))
    rng = stream(check_integer("seed", seed, Range(ge=0)))
    distributions = list[Distribution]()
    for arm in range(count):
        log_median = mean + spread * float(ndtri(uniform(rng)))
        deviation = low + (high - low) * uniform(rng)
        if kind == "lone" and arm == count // 2:
            log_median, deviation = _LONE
        distributions.append(_discretize_log_normal(log_median, deviation))
    return Problem(distributions, limits, Power(slope=1.0), Power(slope=1.0))


def _discretize_log_normal(log_median: float, deviation: float) -> Replay:
    """Return an empirical distribution: quantiles of a log-normal time, with rewards of 1."""
    from scipy.special import ndtri

    shares = (np.arange(_RUNS) + 0.5) / _RUNS
    times: FloatArray = np.exp(log_median + deviation * ndtri(shares))
    return Replay(np.ones(_RUNS), np.minimum(times, _LARGEST_TIME))


# "Energy costs correspond to one tenth of the wall-clock time" (Example 2).
_COST: Final = Power(slope=0.1)
_PENALTY: Final = Power(slope=0.1, factor=0.2, power=4)
# Arms from the tenth on equal the tenth: otherwise the formulas' mean rewards would leave [0, 1].
_LAST_ARM: Final = 9


def _normal(reward: float, time: float, sd: float, time_sd: float, rho: float) -> TruncatedNormal:
    """Return equation (35)'s distribution; `reward` and `time` are means, `sd` is the reward's."""
    covariance = rho * sd * time_sd
    matrix = ((sd * sd, covariance), (covariance, time_sd * time_sd))
    return TruncatedNormal((reward, time), matrix)


_ARMS: Final[dict[str, tuple[Callable[[int], Distribution], int]]] = {
    "PosCorr": (lambda k: _normal(0.45 - 0.03 * k, 0.90 + 0.03 * k, 0.25, np.sqrt(0.5), 0.5), 10),
    "NegCorr": (lambda k: _normal(0.70 - 0.03 * k, 1.20 + 0.03 * k, 0.20, np.sqrt(0.5), -0.6), 10),
    "Indep": (lambda k: BetaExponential(5, 5 + k, 1.0 - 0.03 * k), 10),
    "LowCensoring": (lambda k: _normal(0.70 - 0.05 * k, 0.30 + 0.025 * k, 0.20, 0.15, 0.5), 5),
}
"""The distribution of arm k, and the usual number of arms, by instance."""
_GRIDS: Final = {
    "main": np.linspace(0.1, 1.0, 11),
    "small": np.array([0.3, 0.6, 0.9]),
    "large": np.linspace(0.001, 1.0, 30),
    "low": np.linspace(0.05, 0.55, 11),
}


def reconstructed_problem(
    instance: str,
    limits: str | int | ArrayLike = "main",
    *,
    size: int | None = None,
    continuous: bool = False,
) -> Problem:
    r"""Return a reconstruction of an instance of the paper's experiments.

    The paper's parameters were not available to us. Those of PosCorr, NegCorr and Indep were
    calibrated: on three grids for each instance, the optimal pair's share of censored runs is near
    the paper's. Those of LowCensoring are ours. The cost is :math:`c(x) = x/10`, the penalty
    :math:`\lambda(x) = x/10 + x^4/5`. By instance, the distribution of arm k = 0, 1, ... is:

    * PosCorr: normal with means (.45 - .03k, .9 + .03k), deviations (.25, .71), correlation .5;
    * NegCorr: normal with means (.7 - .03k, 1.2 + .03k), deviations (.2, .71), correlation -.6;
    * Indep: reward Beta(5, 5 + k), consumption exponential with rate 1 - .03k;
    * LowCensoring: normal with means (.7 - .05k, .3 + .025k), deviations (.2, .15), correlation .5.

    The first of two means or deviations is that of the reward, the second that of the consumption.
    The normal distributions are conditioned on rewards in [0, 1] and consumptions above 0.

    Parameters
    ----------
    instance : {"PosCorr", "NegCorr", "Indep", "LowCensoring"}
        Name of the instance.
    limits : {"main", "small", "large", "low"}, int or sequence of float, default "main"
        "main" has 11 limits from .1 to 1, "small" has .3, .6 and .9, "large" has 30 limits from
        .001 to 1, and "low" has 11 from .05 to .55. An integer is a number of equally spaced limits
        up to 1.
    size : int, optional
        Number of arms, at least 1; by default 10, but 5 for LowCensoring. Arms from the tenth on
        are equal.
    continuous : bool, default False
        Whether every limit up to the largest may be chosen.

    References
    ----------
    Bengs and Huellermeier (2022), sections 5.1, E.2 and F, equation (35).

    Examples
    --------
    The share of censored runs of the best pair; the paper has .6116, .7631 and .4404.

    >>> for name in ("PosCorr", "NegCorr", "Indep"):
    ...     problem = reconstructed_problem(name)
    ...     arm, limit = problem.best_pair
    ...     position = problem.limits.tolist().index(limit)
    ...     print(name, arm, round(limit, 2), problem.censoring[arm, position].round(4))
    PosCorr 0 0.82 0.6103
    NegCorr 0 0.82 0.7611
    Indep 0 0.82 0.4404
    """
    make_arm, usual_size = _ARMS[check_choice("instance", instance, _ARMS)]
    count = usual_size if size is None else check_integer("size", size, Range(ge=1))
    distributions = [make_arm(k) for k in range(min(count, _LAST_ARM + 1))]
    distributions += [distributions[-1]] * (count - len(distributions))
    return Problem(distributions, _parse_limits(limits), _COST, _PENALTY, continuous=continuous)


def _parse_limits(limits: Any) -> FloatArray:
    if isinstance(limits, str):
        return _GRIDS[check_choice("limits", limits, _GRIDS)]
    if isinstance(limits, int) and not isinstance(limits, bool):
        count = check_integer("limits", limits, Range(ge=1))
        return np.arange(1, count + 1) / count
    return np.asarray(limits)


_PROMISES: Final = {"strict": (0.6, 0.5), "soft": (1.2, 0.1)}  # largest limit, compensation


def three_models_problem(promise: str) -> Problem:
    r"""Return the paper's working example: three machine-learning models and a promised time.

    The complex model has high rewards and long run times, the simple model has low rewards and
    short run times, and the medium model lies between them. Reward and time are positively
    correlated. A customer who gets no model in time is paid a compensation :math:`\kappa`:
    :math:`c(x) = x / 10` and :math:`\lambda(x) = x / 10 + \kappa`. The arms are complex, medium and
    simple, in this order; every limit up to the promised time may be chosen.

    Parameters
    ----------
    promise : {"strict", "soft"}
        The strict promise is a model within the time .6, or a compensation of .5; the soft promise
        is a model within 1.2, or a compensation of .1.

    Notes
    -----
    The paper's numbers were not available to us: these are ours, chosen so that the paper's
    statements about Figures 1 and 2 hold. Its "specific amount of time" is read as the largest
    limit. The normal distributions are conditioned as in `reconstructed_problem`; they have
    deviations (.1, .15) and correlation .5.

    References
    ----------
    Bengs and Huellermeier (2022), Examples 1 and 2, Figures 1 and 2. See
    `keyhole.resource.plots` for the figures.

    Examples
    --------
    Under the strict promise the simple model is the best for most of the limits, and the medium
    model for limits near the largest; under the soft promise the complex model is the best.

    >>> problem = three_models_problem("strict")
    >>> problem.gains.argmax(axis=0)[[9, 29, 49, 59]]
    array([2, 2, 2, 1])
    >>> three_models_problem("soft").best_pair
    (0, 1.2)
    """
    largest, compensation = _PROMISES[check_choice("promise", promise, _PROMISES)]
    means = ((0.85, 0.80), (0.55, 0.45), (0.30, 0.15))
    distributions = [_normal(reward, time, 0.10, 0.15, 0.5) for reward, time in means]
    limits = largest * np.arange(1, 61) / 60
    penalty = Power(slope=0.1, constant=compensation)
    return Problem(distributions, limits, _COST, penalty, continuous=True)


PROBLEM_FACTORIES: Final = {
    "arms": ProblemFactory(
        "for each arm the name of a distribution of reward and consumption, and its parameters",
        Problem,
        read=list_of(tagged_union_reader(BetaExponential, TruncatedNormal, Replay)),
        further_readers=COST_READERS,
    ),
    "replica": ProblemFactory(
        "a replica of a paper's instance: PosCorr, NegCorr, Indep or LowCensoring",
        reconstructed_problem,
    ),
    "portfolio": ProblemFactory(
        "made-up solvers with heavy-tailed run times: scattered, alike or lone", portfolio_problem
    ),
    "three_models": ProblemFactory(
        "the paper's working example: a promise that is strict, or soft", three_models_problem
    ),
}
