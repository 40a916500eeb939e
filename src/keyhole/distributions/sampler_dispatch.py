"""Kernels that draw from the distribution of any arm, and environments that use them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

import numpy as np

from keyhole.distributions.distribution import Distribution
from keyhole.policy import (
    Environment,
    FloatArray,
    Kernel,
    Stream,
    float_array,
    int_array,
    int_input,
)
from keyhole.validation import short_repr

AnyEnvironment = TypeVar("AnyEnvironment", bound=Environment)


class SampledEnvironment:
    """Mixin that gives an environment the parameters of each arm's distribution.

    `with_sampler` adds the kernel ``draw(e, rng, arm)``.
    """

    length = int_input()
    """The length of `numbers`."""
    numbers = float_array("length")
    """Parameters of all distributions, arm after arm."""
    starts = int_array("arms")
    """For each arm the position of its first parameter in `numbers`."""
    ends = int_array("arms")
    """For each arm the position after its last parameter in `numbers`."""


@dataclass(frozen=True)
class CombinedSampler:
    """Sampler of several distributions through one kernel.

    Attributes
    ----------
    name : str
        The name of the distributions' class, or "Mixed" if there are several classes.
    draw : kernel
        ``draw(rng, numbers)``.
    rows : list of ndarray
        The `numbers` that make `draw` draw from each distribution.
    """

    name: str
    draw: Kernel
    rows: list[FloatArray]

    @property
    def hyphenated_name(self) -> str:
        """The name in small letters and with hyphens, such as ``truncated-normal``."""
        return re.sub("(?<!^)(?=[A-Z])", "-", self.name).lower()

    def truth(self) -> dict[str, Any]:
        """Return the values of the fields of `SampledEnvironment`."""
        # Distributions differ in their number of parameters, and compiled code has no ragged
        # arrays. So there is one flat array, with the start and the end of each distribution.
        sizes = np.array([len(row) for row in self.rows])
        ends = np.cumsum(sizes)
        numbers = np.concatenate(self.rows)
        return {"length": len(numbers), "numbers": numbers, "starts": ends - sizes, "ends": ends}


def combine_distributions(
    distributions: Sequence[Distribution], included: tuple[Kernel, ...] = ()
) -> CombinedSampler:
    """Return the combined sampler of several distributions.

    Parameters
    ----------
    distributions : sequence of Distribution
        At least one.
    included : tuple of callable
        Kernels that the sampler has even if no distribution uses them. With the kernels of all
        built-in distributions of a setting, one compiled environment serves all problems with these
        distributions. With none, and with one kernel for all distributions, that kernel is the
        sampler.

    Returns
    -------
    CombinedSampler
        The kernel, and the numbers that it needs for each distribution.
    """
    # A dict keeps the order of the kernels. A set would order them differently in each process,
    # which would change `rows` and the fingerprint.
    kernels = tuple(
        dict.fromkeys((*included, *(distribution.draw for distribution in distributions)))
    )
    names = {type(distribution).__name__ for distribution in distributions}
    name = names.pop() if len(names) == 1 else "Mixed"
    if len(kernels) == 1:
        rows = [distribution.numbers for distribution in distributions]
        return CombinedSampler(name, kernels[0], rows)
    rows = [
        np.concatenate([[kernels.index(distribution.draw)], distribution.numbers])
        for distribution in distributions
    ]
    return CombinedSampler(name, dispatch_kernel(kernels), rows)


@lru_cache(maxsize=64)
def dispatch_kernel(kernels: tuple[Kernel, ...], position: int = 0) -> Kernel:
    """Return a kernel that calls one of `kernels`, whose position is the first of its numbers.

    The kernel that is called gets the other numbers. Kernels before `position` cannot be called.
    """
    # Compiled code has no table of functions. So each function compares the first number with one
    # position, and calls the next function if they differ.
    kernel = kernels[position]

    def draw_last(rng: Stream, numbers: FloatArray) -> object:
        return kernel(rng, numbers[1:])

    if position == len(kernels) - 1:
        return draw_last
    next_kernel = dispatch_kernel(kernels, position + 1)

    def draw(rng: Stream, numbers: FloatArray) -> object:
        if numbers[0] == position:
            return kernel(rng, numbers[1:])
        return next_kernel(rng, numbers)

    return draw


@lru_cache(maxsize=64)
def independent_pair_sampler(first: Kernel, second: Kernel) -> Kernel:
    """Return a kernel that draws from two independent distributions; see `pair_numbers`."""

    def draw(rng: Stream, numbers: FloatArray) -> tuple[float, float]:
        split = 1 + int(numbers[0])
        return float(first(rng, numbers[1:split])), float(second(rng, numbers[split:]))

    return draw


def pair_numbers(first: FloatArray, second: FloatArray) -> FloatArray:
    """Return numbers for `independent_pair_sampler`: the length of `first`, `first`, `second`."""
    return np.concatenate([[len(first)], first, second])


def with_sampler(base: type[AnyEnvironment], name: str, draw: Kernel) -> type[AnyEnvironment]:
    """Return a subclass of an environment that draws rewards or samples with a kernel.

    Parameters
    ----------
    base : Environment class
        A class with the fields of `SampledEnvironment`, whose kernels call a helper ``draw``.
    name : str
        Name of the distributions.
    draw : kernel
        ``draw(rng, numbers)``.

    Returns
    -------
    Environment class
        The subclass, which is the same for equal arguments.
    """
    # The cached function is separate, since a cache hides the types of a function.
    return cast(type[AnyEnvironment], _cached_environment(cast(Any, base), name, draw))


@lru_cache(maxsize=256)
def _cached_environment(base: Any, name: str, draw: Kernel) -> Any:
    def draw_arm(e: SampledEnvironment, rng: Stream, arm: int) -> object:
        return draw(rng, e.numbers[e.starts[arm] : e.ends[arm]])

    return environment_with_draw(base, name, draw_arm)


def environment_with_draw(
    base: type[AnyEnvironment], name: str, draw: Kernel
) -> type[AnyEnvironment]:
    """Return a subclass of an environment with the helper ``draw``, in the module of its base."""
    values = {"draw": draw, "__doc__": base.__doc__, "__module__": base.__module__}
    return type(f"{name}{base.__name__}", (base,), values)


def format_first_values(values: Any, names: Sequence[Any] | None = None) -> str:
    """Return up to six numbers of a list as text for a `repr`; with names, as a mapping."""
    texts = [f"{v:g}" for v in values[:6]] + ["..."] * (len(values) > 6)
    if names is None:
        return f"[{', '.join(texts)}]"
    pairs = [f"{short_repr(name)}: {v}" for name, v in zip(names, texts[:6], strict=False)]
    return f"{{{', '.join(pairs + texts[6:])}}}"
