"""Distributions of an arm's sample, a level from 0 to m, which is compared with a threshold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.arm_names import entry_names_for_errors, split_named_arms
from keyhole.distributions import Distribution, Replay, TabulatedSciPyDistribution
from keyhole.distributions.distribution import CustomSampler, check_moments
from keyhole.distributions.scipy_distribution import is_scipy_distribution
from keyhole.policy import FloatArray, Kernel, Stream, uniform
from keyhole.validation import Range, check_integer, check_sequence, check_vector, short_repr

_UNIT = Range(ge=0, le=1)


def draw_level(rng: Stream, numbers: FloatArray) -> int:
    """Draw a sample; `numbers` are the chances to reach level 1, 2, ..., m."""
    u = uniform(rng)
    # The sample is the number of chances above `u`. Counting over all levels is faster than
    # stopping at the last such chance, since there is no branch to predict.
    level = 0
    for j in range(len(numbers)):
        level += u < numbers[j]
    return level


class SurvivalTable(Distribution):
    """Distribution given by its survival function: the chances to reach level 1, 2, ..., m."""

    draw = staticmethod(draw_level)

    def __init__(self, survival: FloatArray) -> None:
        self.survival = self.numbers = survival


class CustomDistribution(CustomSampler):
    """User-defined distribution: a compiled sampler, and its survival function.

    Parameters
    ----------
    draw : kernel
        ``draw(rng, numbers)`` returns a level, from 0 to m. It may use plain arithmetic and the
        samplers of `keyhole.draws.samplers`.
    survival : sequence of float, shape (levels,)
        The chances of reaching level 1, 2, ..., m.
    numbers : sequence of float, default [0]
        The second argument of `draw`.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, or 1,000 trial draws deviate from `survival` by more than 6
        standard errors.

    Examples
    --------
    >>> from keyhole.draws.streams import uniform
    >>> def dice(rng, numbers):
    ...     return int(3 * uniform(rng)) + int(2 * uniform(rng))
    >>> from keyhole.threshold import Problem
    >>> Problem([CustomDistribution(dice, [5 / 6, 1 / 2, 1 / 6])], feedback="censored")
    Problem(1 arms, 3 levels, censored feedback, order=iid())
    """

    def __init__(self, draw: Kernel, survival: ArrayLike, *, numbers: ArrayLike = (0.0,)) -> None:
        super().__init__(draw, numbers)
        self.survival = check_vector("survival", survival, _UNIT)
        samples = check_vector(
            "what draw draws", self.trial_draws(), Range(ge=0, le=len(self.survival))
        )
        if (samples != np.floor(samples)).any():
            raise ValueError(f"draw must return whole numbers, got {samples[samples % 1 > 0][0]:g}")
        for j, chance in enumerate(self.survival):
            check_moments(f"survival[{j}]", float(chance), (samples > j).astype(float))


SampleDistribution = SurvivalTable | Replay | CustomDistribution
"""The distributions of the threshold bandit."""


def list_arms(field: str, arms: Any) -> tuple[list[str], list[Any], tuple[object, ...] | None]:
    """Return how errors name each arm's entry, the entries, and the arms' names or None.

    `field` is the name of the parameter that holds the arms.
    """
    entries, names = split_named_arms(field, arms)
    is_matrix = isinstance(entries, np.ndarray) and entries.ndim > 1
    expectation = "a list with an entry for each arm"
    arm_entries = list(entries) if is_matrix else check_sequence(field, entries, expectation)
    if not arm_entries:
        raise ValueError(f"{field} must have at least one arm, got {short_repr(arms)}")
    return entry_names_for_errors(field, arm_entries if names is None else arms), arm_entries, names


def parse_arms(
    arms: Any, levels: int | None
) -> tuple[list[SampleDistribution], int, tuple[object, ...] | None]:
    """Return the distribution of each arm's samples, the number of levels, and the arms' names.

    Parameters
    ----------
    arms : sequence or mapping
        Survival functions, frozen distributions of SciPy, or distributions of this module. In a
        mapping the keys are the names of the arms.
    levels : int, optional
        The number of levels m. By default it follows from the arms: see `_find_defining_arm`.

    Raises
    ------
    TypeError, ValueError
        If there is no arm, an arm is not allowed, or arms have different numbers of levels.
    """
    fields, arm_entries, names = list_arms("survival", arms)
    parsed_arms = [_parse_arm(field, arm) for field, arm in zip(fields, arm_entries, strict=True)]
    source = "levels"  # the parameter or the arm that determines m, for errors
    if levels is None:
        defining_arm, m = _find_defining_arm(parsed_arms)
        source = fields[defining_arm]
    else:
        m = check_integer("levels", levels, Range(ge=1))
    distributions: list[SampleDistribution] = []
    for field, distribution in zip(fields, parsed_arms, strict=True):
        if isinstance(distribution, TabulatedSciPyDistribution):
            # SciPy's sf(j - 1) is the chance to reach level j. At level m it is the chance of a
            # value of m or more, since values above m count as m.
            distribution = SurvivalTable(
                np.minimum(np.asarray(distribution.distribution.sf(np.arange(m)), np.float64), 1.0)
            )
        elif isinstance(distribution, Replay):
            distribution.check(field, Range(ge=0, le=m), whole=True)
        elif len(distribution.survival) != m:
            raise ValueError(
                f"{field} must have as many levels as {source}, {m}; "
                f"got {len(distribution.survival)}"
            )
        distributions.append(distribution)
    return distributions, m, names


def _parse_arm(name: str, arm: Any) -> SampleDistribution | TabulatedSciPyDistribution:
    """Return the distribution of an arm's samples.

    A distribution of SciPy becomes a `TabulatedSciPyDistribution`: the number of levels is not
    known yet, and a `SurvivalTable` needs it.
    """
    if isinstance(arm, CustomDistribution | Replay):
        return arm
    if is_scipy_distribution(arm):
        table = TabulatedSciPyDistribution(arm)
        table.check(name, Range(ge=0), whole=True)
        return table
    survival = check_vector(name, arm, _UNIT)
    rises = np.flatnonzero(np.diff(survival) > 0)
    if len(rises):
        j = rises[0]
        raise ValueError(
            f"{name} must not rise, got {survival[j + 1]:g} at level {j + 2} after {survival[j]:g}"
        )
    return SurvivalTable(survival)


def _find_defining_arm(
    distributions: Sequence[SampleDistribution | TabulatedSciPyDistribution],
) -> tuple[int, int]:
    """Return an arm that determines the number of levels, and this number.

    The first arm that has a survival function determines it. If no arm has one, all arms must have
    distributions of SciPy with a largest value, and the largest of these is the number of levels.
    """
    for arm, distribution in enumerate(distributions):
        if isinstance(distribution, SurvivalTable | CustomDistribution):
            return arm, len(distribution.survival)
    largest_values = [
        distribution.distribution.support()[1]
        for distribution in distributions
        if isinstance(distribution, TabulatedSciPyDistribution)
    ]
    if len(largest_values) < len(distributions) or not np.isfinite(largest_values).all():
        raise TypeError("levels must be given, since the distributions do not define their number")
    return int(np.argmax(largest_values)), int(max(largest_values))


def survival_function(distribution: SampleDistribution, levels: int) -> FloatArray:
    """Return the chances to reach level 1, 2, ..., m; for recorded samples these are shares."""
    if isinstance(distribution, Replay):
        return np.asarray((distribution.samples[:, None] >= np.arange(1, levels + 1)).mean(axis=0))
    return distribution.survival
