"""Joint laws of an arm's reward and consumption.

What pairs are worth is computed from the density of the consumption (`keyhole.resource.gains`).
"""

from abc import ABC, abstractmethod
from typing import Final

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from keyhole.laws import Law as Law
from keyhole.laws.replay import draw_recorded_pair
from keyhole.policy import FloatArray, Kernel, Stream, beta, exponential, normal
from keyhole.validate import Range, number, vector

_POSITIVE: Final = Range(gt=0)
# Rejection draws 1 / acceptance times a round; below this share something else is meant.
_LEAST_ACCEPTANCE: Final = 1e-3
# Standard deviations beyond which a normal density is below 1e-17 of its peak.
_REACH: Final = 9.0


def draw_truncated_normal(rng: Stream, numbers: FloatArray) -> tuple[float, float]:
    """Draw from a bivariate normal law until the reward lies in [0, 1], the consumption above 0.

    Parameters
    ----------
    rng : Stream
        The stream; its position changes.
    numbers : ndarray of float64, shape (5,)
        The means of reward and consumption; the standard deviation of the consumption; by what one
        of these moves the reward; the standard deviation of the reward given the consumption.

    Returns
    -------
    tuple of float
        The reward and the consumption.
    """
    while True:
        z = normal(rng)
        used = numbers[1] + numbers[2] * z
        if used <= 0.0:
            continue
        earned = numbers[0] + numbers[3] * z + numbers[4] * normal(rng)
        if 0.0 <= earned <= 1.0:
            return earned, used


def draw_beta_exponential(rng: Stream, numbers: FloatArray) -> tuple[float, float]:
    """Return a beta variate with two shapes, and an exponential one with the mean that follows."""
    reward = beta(rng, numbers[0], numbers[1])
    return reward, numbers[2] * exponential(rng)


KERNELS: Final[tuple[Kernel, ...]] = (
    draw_truncated_normal,
    draw_beta_exponential,
    draw_recorded_pair,
)
"""Those of the laws that ship: one world has them all."""


class SmoothLaw(Law, ABC):
    """A law whose consumption has a density."""

    @abstractmethod
    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""

    @abstractmethod
    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""

    def landmarks(self) -> FloatArray:
        """Return consumptions near which the density moves fastest."""
        return np.empty(0)


class TruncatedNormal(SmoothLaw):
    r"""A bivariate normal law, conditioned on a reward in [0, 1] and a consumption of at least 0.

    Parameters
    ----------
    mean : sequence of float, shape (2,)
        Of reward and consumption, before the conditioning.
    covariance : array_like of float, shape (2, 2)
        Before the conditioning; symmetric, positive definite.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, or less than a thousandth of the mass would be left.

    Notes
    -----
    Drawn by rejection. Given the consumption x, the reward is normal with mean
    :math:`\mu_r + \rho \sigma_r (x - \mu_c) / \sigma_c` and variance
    :math:`\sigma_r^2 (1 - \rho^2)`, conditioned on [0, 1].

    References
    ----------
    Bengs and Huellermeier (2022), appendix E.2, equation (35).

    Examples
    --------
    >>> law = TruncatedNormal(mean=(0.45, 0.9), covariance=((0.0625, 0.05), (0.05, 0.5)))
    >>> round(float(law.mean_reward(np.array([0.9]))[0]), 2)
    0.46
    """

    draw = staticmethod(draw_truncated_normal)

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        self.mean = vector("mean", mean)
        if len(self.mean) != 2:
            raise ValueError(f"mean must have 2 entries, got {len(self.mean)}")
        self.covariance = _positive_definite(covariance)
        (self._r, self._c), (rr, rc, cc) = self.mean, self.covariance[[0, 0, 1], [0, 1, 1]]
        self._sd = float(np.sqrt(cc))
        self._slope = rc / cc
        self._rest = float(np.sqrt(rr - rc * rc / cc))
        self.numbers = np.array([self._r, self._c, self._sd, self._slope * self._sd, self._rest])
        self._mass = 1.0
        self._mass = self._left()

    def _left(self) -> float:
        """Return the share of the mass that the conditioning leaves."""
        edges = np.unique(np.clip(self.landmarks(), 0.0, None))
        if len(edges) < 2:
            return _refuse_mass(0.0)
        nodes, weights = np.polynomial.legendre.leggauss(20)
        half = np.diff(edges) / 2
        x = edges[:-1, None] + half[:, None] * (nodes + 1.0)
        mass = float((half * (self.density(x) @ weights)).sum())
        return mass if mass >= _LEAST_ACCEPTANCE else _refuse_mass(mass)

    def _ends(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the conditional mean, and where 0 and 1 stand in conditional deviations."""
        middle = self._r + self._slope * (x - self._c)
        return middle, -middle / self._rest, (1.0 - middle) / self._rest

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""
        _, low, high = self._ends(x)
        z = (x - self._c) / self._sd
        inside = _between(low, high) * _phi(z) / (self._sd * self._mass)
        return np.asarray(np.where(x >= 0.0, inside, 0.0))

    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""
        middle, low, high = self._ends(x)
        share = _between(low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            mean = middle - self._rest * (_phi(high) - _phi(low)) / share
        # Where hardly any mass is left, rounding rules; the density is 0 there all the same.
        return np.asarray(np.clip(np.where(share > 1e-200, mean, middle), 0.0, 1.0))

    def landmarks(self) -> FloatArray:
        """Return consumptions near which the density moves fastest."""
        steps = np.linspace(-_REACH, _REACH, 73)
        marks = [np.zeros(1), self._c + self._sd * steps]
        if self._slope != 0.0:
            for edge in (0.0, 1.0):  # where the conditional mean leaves [0, 1]
                crossing = self._c + (edge - self._r) / self._slope
                near = crossing + self._rest / abs(self._slope) * steps
                marks.append(near[np.abs(near - self._c) < _REACH * self._sd])
        return np.concatenate(marks)

    def __repr__(self) -> str:
        """Return the call that makes this law."""
        return f"TruncatedNormal(mean={self.mean.tolist()}, covariance={self.covariance.tolist()})"


class BetaExponential(SmoothLaw):
    """A beta-distributed reward and, independent of it, an exponential consumption.

    Parameters
    ----------
    a, b : float
        Shapes of the reward's law, from 10**-6.
    rate : float
        Of the consumption's law, above 0: its mean is 1 / rate.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Bengs and Huellermeier (2022), appendix E.2, the instance Indep.

    Examples
    --------
    >>> law = BetaExponential(a=5, b=5, rate=1)
    >>> law.mean_reward(np.array([0.2, 3.0]))
    array([0.5, 0.5])
    """

    draw = staticmethod(draw_beta_exponential)

    def __init__(self, a: float, b: float, rate: float) -> None:
        self.a = number("a", a, Range(ge=1e-6))
        self.b = number("b", b, Range(ge=1e-6))
        self.rate = number("rate", rate, _POSITIVE)
        self.numbers = np.array([self.a, self.b, 1.0 / self.rate])

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""
        return np.asarray(self.rate * np.exp(-self.rate * x))

    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""
        return np.full(np.shape(x), self.a / (self.a + self.b))

    def landmarks(self) -> FloatArray:
        """Return consumptions near which the density moves fastest."""
        return np.linspace(0.0, 40.0, 81) / self.rate

    def __repr__(self) -> str:
        """Return the call that makes this law."""
        return f"BetaExponential(a={self.a:g}, b={self.b:g}, rate={self.rate:g})"


def _positive_definite(covariance: ArrayLike) -> FloatArray:
    matrix = np.asarray(covariance, np.float64)
    if matrix.shape != (2, 2):
        raise ValueError(f"covariance must have shape (2, 2), got {matrix.shape}")
    (rr, rc), (cr, cc) = matrix.tolist()
    # NaN fails every comparison.
    if not (rc == cr and rr > 0.0 and cc > 0.0 and rc * rc < rr * cc < np.inf):
        raise ValueError(
            f"covariance must be symmetric and positive definite, got {matrix.tolist()}"
        )
    return matrix


def _refuse_mass(mass: float) -> float:
    raise ValueError(
        "mean and covariance must leave at least a thousandth of the mass where the reward lies in "
        f"[0, 1] and the consumption is at least 0, got {mass:.2g}"
    )


def _phi(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))


def _between(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the standard normal probability of (low, high), without cancellation in the tails."""
    flip = low > 0.0
    return np.asarray(ndtr(np.where(flip, -low, high)) - ndtr(np.where(flip, -high, low)))
