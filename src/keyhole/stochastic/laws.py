"""The laws that rewards follow: how worlds draw them, and what users say of them.

Each law is a part of a world: the numbers that it needs, and the kernel ``draw(e, rng, arm)``. A
room makes a world of it by deriving from the law and from its own arms.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import ndtr

from keyhole.policy import FloatArray, Stream, beta, counts, normal, per, real, uniform, whole
from keyhole.validate import Range, choice, number, vector

_UNIT: Final = Range(ge=0, le=1)
_INSIDE: Final = Range(gt=0, lt=1)
# How many scales the centre of a truncated normal law may lie outside [0, 1]: beyond, hardly any
# draw would be accepted.
_OUTSIDE: Final = 3.0


class Bernoulli:
    """Rewards 0 or 1."""

    means = per("arms")

    def draw(e, rng: Stream, arm: int) -> float:
        """Return 1 with the arm's probability."""
        return 1.0 if uniform(rng) < e.means[arm] else 0.0


class Beta:
    """Rewards between 0 and 1 that follow beta laws."""

    first = per("arms")
    second = per("arms")

    def draw(e, rng: Stream, arm: int) -> float:
        """Return a draw of the arm's beta law."""
        return beta(rng, e.first[arm], e.second[arm])


class TruncatedNormal:
    """Rewards that follow normal laws, drawn until they lie in [0, 1]."""

    centres = per("arms")
    scale = real()
    flat = counts("arms")
    """Whether uniform proposals are accepted more often than normal ones."""

    def draw(e, rng: Stream, arm: int) -> float:
        """Return the first proposal that is accepted."""
        centre = e.centres[arm]
        nearest = min(max(centre, 0.0), 1.0)
        while True:
            if e.flat[arm] == 0:
                x = centre + e.scale * normal(rng)
                if 0.0 <= x <= 1.0:
                    return float(x)
            else:
                x = uniform(rng)
                above = (x - centre) * (x - centre) - (nearest - centre) * (nearest - centre)
                if uniform(rng) < math.exp(-0.5 * above / (e.scale * e.scale)):
                    return x


class Replay:
    """Rewards drawn with replacement from given samples."""

    length = whole()
    samples = per("length")
    """All samples, arm after arm."""
    starts = counts("arms")
    sizes = per("arms")

    def draw(e, rng: Stream, arm: int) -> float:
        """Return one of the arm's samples, each equally likely."""
        return float(e.samples[e.starts[arm] + int(uniform(rng) * e.sizes[arm])])


@dataclass(frozen=True, eq=False)
class Rewards:
    """Checked rewards: their means, their law, and the numbers that it needs.

    Attributes
    ----------
    means : ndarray of float64, shape (arms,)
        Exact.
    law : type
        One of the laws of this module.
    values : dict of str to value
        What it reads.
    """

    means: FloatArray
    law: type
    values: dict[str, Any]


def rewards_of(
    means: ArrayLike, law: str, *, concentration: float | None, scale: float | None
) -> Rewards:
    """Return rewards of one of the named laws.

    Parameters
    ----------
    means : sequence of float, shape (arms,)
        The mean reward of each arm, in [0, 1].
    law : {"bernoulli", "beta", "truncated-normal"}
        The law of the rewards.
    concentration : float or None
        For beta laws, at least 10**-6: an arm of mean m has the shapes ``m * concentration`` and
        ``(1 - m) * concentration``.
    scale : float or None
        For truncated normal laws, in [0.001, 10]: the standard deviation before truncation to
        [0, 1]. The centre is found from the mean, which is that after truncation.

    Returns
    -------
    Rewards
        The rewards.

    Raises
    ------
    TypeError, ValueError
        If a value is missing or not allowed.

    Examples
    --------
    >>> found = rewards_of([0.5, 0.9], "truncated-normal", concentration=None, scale=0.2)
    >>> found.values["centres"].round(3)
    array([0.5  , 1.226])
    """
    choice("law", law, ("bernoulli", "beta", "truncated-normal"))
    extras = {
        "concentration": ("beta", concentration),
        "scale": ("truncated-normal", scale),
    }
    for name, (wanted, value) in extras.items():
        if law == wanted and value is None:
            raise TypeError(f"{name} must be given for the law {law!r}")
        if law != wanted and value is not None:
            raise ValueError(f"{name} must be left out for the law {law!r}")
    if law == "bernoulli":
        checked = vector("means", means, _UNIT)
        return Rewards(checked, Bernoulli, {"means": checked})
    checked = vector("means", means, _INSIDE)
    if law == "beta":
        weight = number("concentration", concentration, Range(ge=1e-6))
        shapes = {"first": checked * weight, "second": (1 - checked) * weight}
        return Rewards(checked, Beta, shapes)
    spread = number("scale", scale, Range(ge=1e-3, le=10))
    centres = np.array([_centre(f"means[{i}]", m, spread) for i, m in enumerate(checked)])
    flat = np.array([_flat_is_better(centre, spread) for centre in centres])
    return Rewards(checked, TruncatedNormal, {"centres": centres, "scale": spread, "flat": flat})


def replayed(samples: Sequence[ArrayLike]) -> Rewards:
    """Return rewards that are drawn from recorded ones.

    Parameters
    ----------
    samples : sequence of sequences of float
        The recorded rewards of each arm, in [0, 1]; at least one each.

    Returns
    -------
    Rewards
        The rewards; the means are those of the samples.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> replayed([[0, 1, 1, 0], [0.25]]).means
    array([0.5 , 0.25])
    """
    if isinstance(samples, str) or len(samples) == 0:
        raise ValueError("samples must have at least one arm, got none")
    arms = [vector(f"samples[{i}]", s, _UNIT) for i, s in enumerate(samples)]
    sizes = np.array([len(s) for s in arms])
    values = {
        "length": int(sizes.sum()),
        "samples": np.concatenate(arms),
        "starts": np.cumsum(sizes) - sizes,
        "sizes": sizes,
    }
    return Rewards(np.array([math.fsum(s) / len(s) for s in arms]), Replay, values)


def truncated_mean(centre: float, scale: float) -> float:
    """Return the mean of a normal law truncated to [0, 1].

    Parameters
    ----------
    centre, scale : float
        Mean and standard deviation before truncation.

    Returns
    -------
    float
        In (0, 1).

    Examples
    --------
    >>> truncated_mean(0.5, 2.0)
    0.5
    """
    if centre > 0.5:  # the mirror image, whose mass is in the tail that is computed well
        return 1.0 - truncated_mean(1.0 - centre, scale)
    low, high = -centre / scale, (1.0 - centre) / scale
    peak = math.exp(-0.5 * low * low) / math.sqrt(2.0 * math.pi)
    drop = -peak * math.expm1(-0.5 * (high - low) * (high + low))
    return centre + scale * drop / float(ndtr(-low) - ndtr(-high))


def _centre(name: str, mean: float, scale: float) -> float:
    """Return the centre for which the mean after truncation is as wanted."""
    low, high = -_OUTSIDE * scale, 1.0 + _OUTSIDE * scale
    least = truncated_mean(low, scale)
    number(name, mean, Range(ge=least, le=1.0 - least))
    found = brentq(lambda centre: truncated_mean(centre, scale) - mean, low, high, xtol=1e-14)
    return float(found)


def _flat_is_better(centre: float, scale: float) -> bool:
    """Return whether uniform proposals are accepted more often than normal ones."""
    mass = float(ndtr((1.0 - centre) / scale) - ndtr(-centre / scale))
    nearest = min(max(centre, 0.0), 1.0)
    peak = math.exp(-0.5 * ((nearest - centre) / scale) ** 2) / (scale * math.sqrt(2.0 * math.pi))
    return mass / peak > mass
