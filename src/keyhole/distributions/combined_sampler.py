"""One kernel that draws from the distributions of all arms of a problem."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeVar, cast

import numpy as np

from keyhole.distributions.distribution import Distribution
from keyhole.policy import (
    Environment,
    FloatArray,
    IntArray,
    Kernel,
    Stream,
    float_array,
    int_array,
    integer,
)

AnyEnvironment = TypeVar("AnyEnvironment", bound=Environment)


class SampledEnvironment:
    """A part of environments: where the numbers of each arm's distribution stand.

    The kernel ``draw(e, rng, arm)`` comes with `environment_of`.
    """

    length = integer()
    numbers = float_array("length")
    """Those of all distributions, arm after arm."""
    starts = int_array("arms")
    ends = int_array("arms")


class HasNumbers(Protocol):
    """What a kernel reads of an environment with `SampledEnvironment`."""

    numbers: FloatArray
    starts: IntArray
    ends: IntArray


@dataclass(frozen=True)
class CombinedSampler:
    """Several distributions with one kernel.

    Attributes
    ----------
    name : str
        Of the distributions: "Mixed" where they differ.
    draw : kernel
        ``draw(rng, numbers)``.
    rows : list of ndarray
        The numbers that it takes for each distribution.
    """

    name: str
    draw: Kernel
    rows: list[FloatArray]

    @property
    def words(self) -> str:
        """The name in words: ``truncated-normal``."""
        return re.sub("(?<!^)(?=[A-Z])", "-", self.name).lower()

    def truth(self) -> dict[str, Any]:
        """Return what `SampledEnvironment` declares."""
        sizes = np.array([len(row) for row in self.rows])
        ends = np.cumsum(sizes)
        numbers = np.concatenate(self.rows)
        return {"length": len(numbers), "numbers": numbers, "starts": ends - sizes, "ends": ends}


def combine_distributions(
    distributions: Sequence[Distribution], always: tuple[Kernel, ...] = ()
) -> CombinedSampler:
    """Return one kernel for several distributions.

    Parameters
    ----------
    distributions : sequence of Distribution
        At least one.
    always : tuple of callable
        Kernels that it can draw with in any case, so that one environment serves all distributions
        that ship with a setting. Without any, and with distributions of one kind, it is the kernel
        of that kind.

    Returns
    -------
    Gathered
        The kernel, with numbers for each distribution.
    """
    kernels = tuple(
        dict.fromkeys((*always, *(distribution.draw for distribution in distributions)))
    )
    names = {type(distribution).__name__ for distribution in distributions}
    name = names.pop() if len(names) == 1 else "Mixed"
    if len(kernels) == 1:
        return CombinedSampler(
            name, kernels[0], [distribution.numbers for distribution in distributions]
        )
    rows = [
        np.concatenate([[kernels.index(distribution.draw)], distribution.numbers])
        for distribution in distributions
    ]
    return CombinedSampler(name, one_of(kernels), rows)


@lru_cache(maxsize=64)
def one_of(kernels: tuple[Kernel, ...], place: int = 0) -> Kernel:
    """Return the kernel whose first number says which of several draws, with the others."""
    here = kernels[place]

    def last(rng: Stream, numbers: FloatArray) -> Any:
        return here(rng, numbers[1:])

    if place == len(kernels) - 1:
        return last
    later = one_of(kernels, place + 1)

    def draw(rng: Stream, numbers: FloatArray) -> Any:
        if numbers[0] == place:
            return here(rng, numbers[1:])
        return later(rng, numbers)

    return draw


@lru_cache(maxsize=64)
def pair_of(first: Kernel, second: Kernel) -> Kernel:
    """Return the kernel that draws from two independent distributions; see `pair_distributions`."""

    def draw(rng: Stream, numbers: FloatArray) -> tuple[float, float]:
        split = 1 + int(numbers[0])
        one = float(first(rng, numbers[1:split]))
        return one, float(second(rng, numbers[split:]))

    return draw


def pair_distributions(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the numbers that `pair_of` takes."""
    return np.concatenate([[len(first)], first, second])


def environment_of(base: type[AnyEnvironment], name: str, draw: Kernel) -> type[AnyEnvironment]:
    """Return the environment of arms that are drawn with a kernel.

    Parameters
    ----------
    base : Environment class
        With the fields of `SampledEnvironment`, and a helper ``draw``.
    name : str
        Of the distributions.
    draw : kernel
        ``draw(rng, numbers)``.

    Returns
    -------
    Environment class
        The same one for the same arguments.
    """
    made: type[AnyEnvironment] = _environment_of(cast(Any, base), name, draw)
    return made


@lru_cache(maxsize=256)
def _environment_of(base: Any, name: str, draw: Kernel) -> Any:
    def draw_arm(e: HasNumbers, rng: Stream, arm: int) -> Any:
        return draw(rng, e.numbers[e.starts[arm] : e.ends[arm]])

    return complete_environment(base, name, draw_arm)


def complete_environment(
    base: type[AnyEnvironment], name: str, draw: Callable[..., Any]
) -> type[AnyEnvironment]:
    """Return an environment with its helper ``draw``, of the module of its base."""
    values = {"draw": draw, "__doc__": base.__doc__, "__module__": base.__module__}
    return type(f"{name}{base.__name__}", (base,), values)
