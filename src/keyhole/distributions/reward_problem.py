"""Problems whose arms have distributions of rewards in [0, 1]: what three settings share."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np

from keyhole.contract.environment import Problem
from keyhole.distributions.combined_sampler import combine_distributions
from keyhole.distributions.distribution import Distribution, Number
from keyhole.distributions.replay import Replay
from keyhole.distributions.rewards import INSIDE, SCALE, UNIT, Bernoulli, Beta, TruncatedNormal
from keyhole.distributions.tabulated import TabulatedDistribution, is_scipy
from keyhole.policy import FloatArray
from keyhole.spec_values import tagged_union
from keyhole.validate import Range, check_choice, check_number, check_vector, column, short_repr

AnyDistribution = TypeVar("AnyDistribution", bound=Distribution)

REWARDS: Final[dict[str, type[Number]]] = {
    distribution.__name__: distribution
    for distribution in (Bernoulli, Beta, TruncatedNormal, Replay)
}
"""Those that a spec can name."""


class RewardProblem(Problem):
    """Base of the problems whose arms have means, or distributions of rewards."""

    def __init__(self, means: FloatArray, distributions: Sequence[Distribution]) -> None:
        self.means, self.distributions = means, list(distributions)
        self._drawn = combine_distributions(self.distributions)

    @property
    def arms(self) -> int:
        """How many arms."""
        return len(self.distributions)

    def truth(self) -> dict[str, Any]:
        """Return what the environment reads; no policy sees it."""
        return {"arms": self.arms, **self._drawn.truth()}


def reward_distributions(
    means: Any, distribution: str, *, concentration: float | None, scale: float | None
) -> tuple[FloatArray, list[Number]]:
    """Return mean and distribution of each arm's rewards.

    Parameters
    ----------
    means : sequence of float or distribution, shape (arms,)
        The mean reward of each arm, in [0, 1], or the distribution of its rewards: see
        `parse_distribution`.
    distribution : {"bernoulli", "beta", "truncated-normal"}
        The distribution of the arms whose means are given.
    concentration : float or None
        For beta distributions, at least 10**-6: an arm of mean m has the shapes ``m *
        concentration`` and ``(1 - m) * concentration``.
    scale : float or None
        For truncated normal distributions, in [0.001, 10]: the standard deviation before truncation
        to [0, 1]. The mean is that after it.

    Returns
    -------
    tuple of ndarray and list of Number
        The means as they were given, or those of the distributions; the distributions.

    Raises
    ------
    TypeError, ValueError
        If a value is missing or not allowed.

    Examples
    --------
    >>> arms = [0.5, {"distribution": "Beta", "a": 2, "b": 6}]
    >>> reward_distributions(arms, "bernoulli", concentration=None, scale=None)
    (array([0.5 , 0.25]), [Bernoulli(mean=0.5), Beta(a=2.0, b=6.0)])
    """
    make, means = _by_mean(distribution, concentration, scale), column(means)
    if not isinstance(means, Sequence | np.ndarray) or isinstance(means, str) or not len(means):
        check_vector("means", means)  # which refuses it
    known: list[float] = []
    distributions: list[Number] = []
    for i, given in enumerate(means):
        name = f"means[{i}]"
        if _is_distribution(given):
            found = parse_distribution(name, given, Number, REWARDS)
            found.check(name, UNIT)
            known.append(found.mean)
        else:
            known.append(check_number(name, given, UNIT if distribution == "bernoulli" else INSIDE))
            try:
                found = make(known[-1])
            except ValueError as error:
                raise ValueError(f"{name}{str(error).removeprefix('mean')}") from None
        distributions.append(found)
    return np.array(known), distributions


def _by_mean(
    distribution: str, concentration: float | None, scale: float | None
) -> Callable[[float], Number]:
    """Return what makes a distribution of a mean."""
    check_choice("distribution", distribution, ("bernoulli", "beta", "truncated-normal"))
    for name, wanted, value in (
        ("concentration", "beta", concentration),
        ("scale", "truncated-normal", scale),
    ):
        if distribution == wanted and value is None:
            raise TypeError(f"{name} must be given for the distribution {distribution!r}")
        if distribution != wanted and value is not None:
            raise ValueError(f"{name} must be left out for the distribution {distribution!r}")
    if distribution == "bernoulli":
        return Bernoulli
    if distribution == "beta":
        weight = check_number("concentration", concentration, Range(ge=1e-6))
        return lambda mean: Beta(mean * weight, (1 - mean) * weight)
    spread = check_number("scale", scale, SCALE)
    return lambda mean: TruncatedNormal(mean, spread)


def _is_distribution(value: Any) -> bool:
    return isinstance(value, Distribution | Mapping) or is_scipy(value)


def parse_distribution(
    name: str, value: Any, kind: type[AnyDistribution], known: Mapping[str, type[AnyDistribution]]
) -> AnyDistribution:
    """Return a distribution, also from how SciPy or a spec writes it.

    Parameters
    ----------
    name : str
        What it is to be a distribution of, for errors.
    value : distribution, distribution of SciPy, or mapping
        A distribution; a frozen distribution; or the name of a distribution as ``distribution``
        with its parameters.
    kind : type
        What kind of distribution.
    known : mapping of str to type
        Those that have a name.

    Returns
    -------
    Distribution
        The distribution.

    Raises
    ------
    TypeError, ValueError
        If it is none; the message names the field.

    Examples
    --------
    >>> value = {"distribution": "Bernoulli", "mean": 0.5}
    >>> parse_distribution("means[0]", value, Number, {"Bernoulli": Bernoulli})
    Bernoulli(mean=0.5)
    """
    if isinstance(value, kind):
        return value
    if is_scipy(value) and issubclass(TabulatedDistribution, kind):
        try:
            return cast(AnyDistribution, TabulatedDistribution(value))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{name} must be a distribution, such as one of {', '.join(known)}, or a frozen "
            f"distribution of SciPy; got {short_repr(value)}"
        )
    return cast(AnyDistribution, tagged_union(*known.values())(name, value, Path()))


def list_values(values: Any) -> str:
    """Return the first numbers of a list, for a `repr`."""
    return ", ".join(f"{v:g}" for v in values[:6]) + (", ..." if len(values) > 6 else "")
