"""Parsers that turn numbers, distributions of SciPy and tables of specs into distributions."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar, cast

import numpy as np

from keyhole import validation
from keyhole.contract.arm_names import entry_names_for_errors, split_named_arms
from keyhole.contract.problem import Problem
from keyhole.contract.reward_units import errors_with_conversion_hint
from keyhole.distributions.distribution import Distribution, NumberDistribution
from keyhole.distributions.empirical_distribution import Replay
from keyhole.distributions.reward_distributions import (
    OPEN_UNIT,
    SCALE,
    UNIT,
    Bernoulli,
    Beta,
    TruncatedNormal,
)
from keyhole.distributions.sampler_dispatch import combine_distributions
from keyhole.distributions.scipy_distribution import (
    TabulatedSciPyDistribution,
    is_scipy_distribution,
)
from keyhole.policy import FloatArray
from keyhole.spec_values import tagged_union_reader

AnyDistribution = TypeVar("AnyDistribution", bound=Distribution)

REWARDS: Final[dict[str, type[NumberDistribution]]] = {
    distribution.__name__: distribution
    for distribution in (Bernoulli, Beta, TruncatedNormal, Replay)
}
"""Reward distributions that a spec can name."""


def parse_reward_distributions(
    means: Any, distribution: str, *, concentration: float | None, scale: float | None
) -> tuple[FloatArray, list[NumberDistribution], tuple[Any, ...] | None]:
    """Return the mean and the distribution of each arm's rewards, and the names of the arms.

    Parameters
    ----------
    means : sequence of float or distribution, shape (arms,), or mapping
        The mean reward of each arm, in [0, 1], or the distribution of its rewards: see
        `parse_distribution`. In a mapping the keys are the names of the arms.
    distribution : {"bernoulli", "beta", "truncated-normal"}
        The distribution of the arms whose means are given.
    concentration : float or None
        Parameter of beta distributions, at least 10**-6. An arm of mean m has the shapes ``m *
        concentration`` and ``(1 - m) * concentration``.
    scale : float or None
        Parameter of truncated normal distributions, in [0.001, 10]. It is the standard deviation
        before truncation to [0, 1]; `means` are the means after truncation.

    Returns
    -------
    tuple of ndarray, list of NumberDistribution, and tuple or None
        The means, as given or as computed from the distributions; the distributions; and the names
        of the arms, or None if they have none.

    Raises
    ------
    TypeError, ValueError
        If a value is missing or not allowed.

    Examples
    --------
    >>> arms = [0.5, {"distribution": "Beta", "a": 2, "b": 6}]
    >>> parse_reward_distributions(arms, "bernoulli", concentration=None, scale=None)
    (array([0.5 , 0.25]), [Bernoulli(mean=0.5), Beta(a=2.0, b=6.0)], None)
    """
    make_distribution = _choose_distribution(distribution, concentration, scale)
    entries, names = split_named_arms("means", validation.column_to_array(means))
    is_sequence = isinstance(entries, Sequence | np.ndarray) and not isinstance(entries, str)
    if not is_sequence or not len(entries):
        validation.check_vector("means", entries)  # raises an error
    mean_values: list[float] = []
    distributions: list[NumberDistribution] = []
    for name, entry in zip(entry_names_for_errors("means", means), entries, strict=True):
        if isinstance(entry, Distribution | Mapping) or is_scipy_distribution(entry):
            parsed_distribution = parse_distribution(name, entry, NumberDistribution, REWARDS)
            with errors_with_conversion_hint(parsed_distribution.least, parsed_distribution.bound):
                parsed_distribution.check(name, UNIT)
            mean_values.append(parsed_distribution.mean)
        else:
            allowed = UNIT if distribution == "bernoulli" else OPEN_UNIT
            mean_values.append(validation.check_number(name, entry, allowed))
            try:
                parsed_distribution = make_distribution(mean_values[-1])
            except ValueError as error:
                # The message begins with `mean`, the parameter of the distribution. The user gave
                # an entry of `means`, so the message begins with the entry's name instead.
                raise ValueError(f"{name}{str(error).removeprefix('mean')}") from None
        distributions.append(parsed_distribution)
    return np.array(mean_values), distributions, names


def _choose_distribution(
    distribution: str, concentration: float | None, scale: float | None
) -> Callable[[float], NumberDistribution]:
    """Return a function that makes the chosen distribution from its mean."""
    validation.check_choice("distribution", distribution, ("bernoulli", "beta", "truncated-normal"))
    for name, required_distribution, value in (
        ("concentration", "beta", concentration),
        ("scale", "truncated-normal", scale),
    ):
        if distribution == required_distribution and value is None:
            raise TypeError(f"{name} must be given for the distribution {distribution!r}")
        if distribution != required_distribution and value is not None:
            raise ValueError(f"{name} must be left out for the distribution {distribution!r}")
    if distribution == "bernoulli":
        return Bernoulli
    if distribution == "beta":
        total = validation.check_number("concentration", concentration, validation.Range(ge=1e-6))
        return lambda mean: Beta(mean * total, (1 - mean) * total)
    checked_scale = validation.check_number("scale", scale, SCALE)
    return lambda mean: TruncatedNormal(mean, checked_scale)


def parse_distribution(
    name: str,
    value: Any,
    base_class: type[AnyDistribution],
    classes: Mapping[str, type[AnyDistribution]],
) -> AnyDistribution:
    """Return the distribution that a value or a spec's table describes.

    Parameters
    ----------
    name : str
        Name of the field, for errors.
    value : distribution, distribution of SciPy, or mapping
        A distribution; a frozen distribution of SciPy; or a mapping with the name of a distribution
        as ``distribution``, and its parameters.
    base_class : type
        The class that the distribution must be an instance of.
    classes : mapping of str to type
        The distributions that a mapping can name.

    Returns
    -------
    Distribution
        The distribution.

    Raises
    ------
    TypeError, ValueError
        If `value` is not such a distribution; the message names the field.

    Examples
    --------
    >>> value = {"distribution": "Bernoulli", "mean": 0.5}
    >>> parse_distribution("means[0]", value, NumberDistribution, {"Bernoulli": Bernoulli})
    Bernoulli(mean=0.5)
    """
    if isinstance(value, base_class):
        return value
    if is_scipy_distribution(value) and issubclass(TabulatedSciPyDistribution, base_class):
        try:
            return cast(AnyDistribution, TabulatedSciPyDistribution(value))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{name} must be a distribution, such as one of {', '.join(classes)}, or a frozen "
            f"distribution of SciPy; got {validation.short_repr(value)}"
        )
    return cast(AnyDistribution, tagged_union_reader(*classes.values())(name, value, Path()))


class RewardProblem(Problem):
    """Base class of problems whose arms have means, or distributions of rewards.

    For the parameters see `parse_reward_distributions`.
    """

    def __init__(
        self,
        means: validation.SequenceLike | Mapping[Any, Any],
        *,
        distribution: str = "bernoulli",
        concentration: float | None = None,
        scale: float | None = None,
    ) -> None:
        arms = parse_reward_distributions(
            means, distribution, concentration=concentration, scale=scale
        )
        self._set_arms(*arms)

    def _set_arms(
        self,
        means: FloatArray,
        distributions: Sequence[Distribution],
        names: tuple[Any, ...] | None,
    ) -> None:
        self.means = means
        self.distributions = list(distributions)
        self.arm_names = names
        self._sampler = combine_distributions(self.distributions)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.distributions)

    def truth(self) -> dict[str, Any]:
        """Return the fields of the environment, which no policy reads."""
        return {"arms": self.arms, **self._sampler.truth()}
