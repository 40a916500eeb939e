"""Joint distributions of the reward of a run and of what it consumes, such as time."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.arm_names import entry_names_for_errors, split_named_arms
from keyhole.distributions import Distribution as Distribution
from keyhole.distributions import NumberDistribution, TabulatedSciPyDistribution
from keyhole.distributions.distribution import TRIAL_DRAWS, CustomSampler
from keyhole.distributions.distribution_parser import REWARDS, parse_distribution
from keyhole.distributions.empirical_distribution import draw_recorded_pair
from keyhole.distributions.reward_distributions import UNIT
from keyhole.distributions.sampler_dispatch import independent_pair_sampler, pair_numbers
from keyhole.extras import require_extra
from keyhole.policy import FloatArray, Kernel, Stream, beta, exponential, normal
from keyhole.validation import Range, check_number, check_sequence, check_vector

# Least share of draws that rejection sampling may keep. With a smaller one it takes too long, and
# the parameters are most likely a mistake.
_LEAST_ACCEPTANCE: Final = 1e-3
# Beyond this many standard deviations a normal density is below 1e-17 of its peak.
_REACH: Final = 9.0


def draw_truncated_bivariate(rng: Stream, numbers: FloatArray) -> tuple[float, float]:
    """Draw from a bivariate normal distribution conditioned on reward in [0, 1], consumption > 0.

    `numbers` are the means of reward and consumption, the standard deviation of the consumption,
    the change of the mean reward if the consumption grows by one standard deviation, and the
    standard deviation of the reward given the consumption. The result is reward and consumption.
    """
    while True:
        z = normal(rng)
        consumption = numbers[1] + numbers[2] * z
        if consumption <= 0.0:
            continue
        reward = numbers[0] + numbers[3] * z + numbers[4] * normal(rng)
        if 0.0 <= reward <= 1.0:
            return reward, consumption


def draw_beta_exponential(rng: Stream, numbers: FloatArray) -> tuple[float, float]:
    """Draw a beta reward and an exponential consumption.

    `numbers` are the two shapes of the reward's distribution, and the mean consumption.
    """
    reward = beta(rng, numbers[0], numbers[1])
    return reward, numbers[2] * exponential(rng)


KERNELS: Final[tuple[Kernel, ...]] = (
    draw_truncated_bivariate,
    draw_beta_exponential,
    draw_recorded_pair,
)
"""Samplers of the built-in distributions, all compiled into one environment."""


class SmoothDistribution(Distribution, ABC):
    """A distribution whose consumption has a density."""

    @abstractmethod
    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""

    @abstractmethod
    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""

    def landmarks(self) -> FloatArray:
        """Return consumptions near which the density changes fast; quadrature cells end at them."""
        return np.empty(0)


class TruncatedNormal(SmoothDistribution):
    r"""Bivariate normal distribution, conditioned on reward in [0, 1] and consumption at least 0.

    Parameters
    ----------
    mean : sequence of float, shape (2,)
        Means of reward and consumption before the conditioning.
    covariance : array_like of float, shape (2, 2)
        Covariance matrix of reward and consumption before the conditioning: symmetric and positive
        definite.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, or the conditioning would leave less than a thousandth of the
        mass.

    Notes
    -----
    Values are drawn by rejection. Before the conditioning, reward and consumption have the means
    :math:`\mu_r` and :math:`\mu_c`, the deviations :math:`\sigma_r` and :math:`\sigma_c`, and the
    correlation :math:`\rho`. Given the consumption x, the reward is normal with mean
    :math:`\mu_r + \rho \sigma_r (x - \mu_c) / \sigma_c` and variance
    :math:`\sigma_r^2 (1 - \rho^2)`, conditioned on [0, 1].

    References
    ----------
    Bengs and Huellermeier (2022), appendix E.2, equation (35).

    Examples
    --------
    >>> distribution = TruncatedNormal(mean=(0.45, 0.9), covariance=((0.0625, 0.05), (0.05, 0.5)))
    >>> round(float(distribution.mean_reward(np.array([0.9]))[0]), 2)
    0.46
    """

    draw = staticmethod(draw_truncated_bivariate)

    def __init__(self, mean: ArrayLike, covariance: ArrayLike) -> None:
        self.mean = check_vector("mean", mean, count=2)
        self.covariance = _check_covariance(covariance)
        # Variance of the reward (rr) and of the consumption (cc), and their covariance (rc).
        rr, rc, cc = self.covariance[[0, 0, 1], [0, 1, 1]]
        self._deviation = float(np.sqrt(cc))  # of the consumption
        self._slope = rc / cc  # change of the mean reward per unit of consumption
        self._reward_deviation = float(np.sqrt(rr - rc * rc / cc))  # given the consumption
        self.numbers = np.array(
            [*self.mean, self._deviation, self._slope * self._deviation, self._reward_deviation]
        )
        # The mass, the probability of a reward in [0, 1] and a consumption of at least 0, is the
        # integral of `density`, which divides by it: until it is known, the divisor is 1.
        self._mass = 1.0
        edges = np.unique(np.clip(self.landmarks(), 0.0, None))
        self._mass = _integrate(self.density, edges, 20)
        if self._mass < _LEAST_ACCEPTANCE:
            raise ValueError(
                "mean and covariance must leave at least a thousandth of the mass where the reward "
                f"lies in [0, 1] and the consumption is at least 0, got {self._mass:.2g}"
            )

    def _standardise_range(self, x: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the mean of the normal reward given `x`, and the z-scores of rewards 0 and 1."""
        middle = self.mean[0] + self._slope * (x - self.mean[1])
        return middle, -middle / self._reward_deviation, (1.0 - middle) / self._reward_deviation

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""
        _, low, high = self._standardise_range(x)
        z = (x - self.mean[1]) / self._deviation
        density = _normal_mass(low, high) * _normal_density(z) / (self._deviation * self._mass)
        return np.asarray(np.where(x >= 0.0, density, 0.0))

    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""
        middle, low, high = self._standardise_range(x)
        share = _normal_mass(low, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            density_step = _normal_density(high) - _normal_density(low)
            mean = middle - self._reward_deviation * density_step / share
        # If hardly any mass is left at x, rounding errors dominate; the density is 0 there anyway.
        return np.asarray(np.clip(np.where(share > 1e-200, mean, middle), 0.0, 1.0))

    def landmarks(self) -> FloatArray:
        """Return consumptions near which the density changes fast."""
        steps = np.linspace(-_REACH, _REACH, 73)
        reward_mean, consumption_mean = self.mean
        marks = [np.zeros(1), consumption_mean + self._deviation * steps]
        if self._slope != 0.0:
            for edge in (0.0, 1.0):
                # The consumption at which the mean reward before the truncation leaves [0, 1].
                crossing = consumption_mean + (edge - reward_mean) / self._slope
                near = crossing + self._reward_deviation / abs(self._slope) * steps
                marks.append(near[np.abs(near - consumption_mean) < _REACH * self._deviation])
        return np.concatenate(marks)

    def __repr__(self) -> str:
        """Return the call that makes this distribution."""
        return f"TruncatedNormal(mean={self.mean.tolist()}, covariance={self.covariance.tolist()})"


class BetaExponential(SmoothDistribution):
    """A beta-distributed reward and, independent of it, an exponential consumption.

    Parameters
    ----------
    a, b : float
        Shapes of the reward's distribution, at least 10**-6.
    rate : float
        Rate of the consumption's distribution, above 0; the mean consumption is 1 / rate.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    References
    ----------
    Bengs and Huellermeier (2022), appendix E.2, the instance Indep.

    Examples
    --------
    >>> distribution = BetaExponential(a=5, b=5, rate=1)
    >>> distribution.mean_reward(np.array([0.2, 3.0]))
    array([0.5, 0.5])
    """

    draw = staticmethod(draw_beta_exponential)

    def __init__(self, a: float, b: float, rate: float) -> None:
        self.a = check_number("a", a, Range(ge=1e-6))
        self.b = check_number("b", b, Range(ge=1e-6))
        self.rate = check_number("rate", rate, Range(gt=0))
        self.numbers = np.array([self.a, self.b, 1.0 / self.rate])

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""
        return np.asarray(self.rate * np.exp(-self.rate * x))

    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""
        return np.full(np.shape(x), self.a / (self.a + self.b))

    def landmarks(self) -> FloatArray:
        """Return consumptions near which the density changes fast."""
        return np.linspace(0.0, 40.0, 81) / self.rate

    def __repr__(self) -> str:
        """Return the call that makes this distribution."""
        return f"BetaExponential(a={self.a:g}, b={self.b:g}, rate={self.rate:g})"


class CustomDistribution(CustomSampler, SmoothDistribution):
    """User-defined distribution: a compiled sampler, its density and its mean reward.

    Parameters
    ----------
    draw : callable
        ``draw(rng, numbers) -> (reward, consumption)``, a kernel of plain arithmetic and the
        samplers of `keyhole.draws.samplers`. Rewards lie in [0, 1], consumptions are at least 0.
    numbers : sequence of float
        Parameters passed to `draw`, so that distributions may share one `draw` and its compiled
        code.
    density, mean_reward : callable
        ``f(x) -> array``: the density of the consumption, and the mean reward given the
        consumption, at the points `x` of an array.
    landmarks : sequence of float, optional
        Consumptions where the density jumps or changes fast.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, a value among 1,000 trial draws is out of range, or these draws
        do not fit the density.

    Examples
    --------
    >>> from keyhole.draws.streams import uniform
    >>> def draw(rng, numbers):
    ...     consumption = numbers[0] * uniform(rng)
    ...     return uniform(rng), consumption
    >>> distribution = CustomDistribution(
    ...     draw,
    ...     numbers=[2.0],
    ...     density=lambda x: np.where(x <= 2.0, 0.5, 0.0),
    ...     mean_reward=lambda x: np.full(x.shape, 0.5),
    ...     landmarks=[2.0],
    ... )
    """

    def __init__(
        self,
        draw: Kernel,
        *,
        numbers: ArrayLike,
        density: Callable[[FloatArray], FloatArray],
        mean_reward: Callable[[FloatArray], FloatArray],
        landmarks: ArrayLike = (),
    ) -> None:
        super().__init__(draw, numbers)
        self._density = density
        self._mean_reward = mean_reward
        self._landmarks = np.asarray(landmarks, np.float64).ravel()
        draws = self.trial_draws()
        for name, values, allowed in (
            ("reward", draws[:, 0], UNIT),
            ("consumption", draws[:, 1], Range(ge=0)),
        ):
            for value in (values.min(), values.max()):
                check_number(f"a {name} returned by draw", float(value), allowed)
        # The integral of the density up to the median of the draws must be near 1/2.
        median = float(np.median(draws[:, 1]))
        marks = self._landmarks[(self._landmarks > 0.0) & (self._landmarks < median)]
        edges = np.union1d(np.linspace(0.0, median, 2001), marks)
        share = _integrate(self.density, edges, 8)
        # The tolerance is six standard errors of a share of the trial draws.
        if not abs(share - 0.5) < 6.0 * 0.5 / np.sqrt(TRIAL_DRAWS):
            raise ValueError(
                f"density must be that of the consumptions returned by draw: up to their median, "
                f"{median:g}, its integral must be about 0.5, got {share:.3g}"
            )

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""
        return np.asarray(self._density(x), np.float64)

    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""
        return np.asarray(self._mean_reward(x), np.float64)

    def landmarks(self) -> FloatArray:
        """Return consumptions near which the density changes fast."""
        return self._landmarks


class IndependentPair(SmoothDistribution):
    """Distribution of a reward and a consumption that are independent.

    Parameters
    ----------
    reward : distribution
        Distribution of values in [0, 1]: see `keyhole.distributions`.
    consumption : frozen distribution of scipy.stats
        Continuous distribution of values of at least 0. Consumptions are drawn from a table of its
        quantiles (`keyhole.distributions.TabulatedSciPyDistribution`), from which gains are
        computed, too.

    Raises
    ------
    TypeError, ValueError
        If a distribution is not allowed.

    Examples
    --------
    >>> from scipy import stats
    >>> distribution = IndependentPair(stats.beta(2, 6), stats.gamma(3))
    >>> distribution.mean_reward(np.array([0.5])).round(3)
    array([0.25])
    >>> distribution.density(np.array([2.0])).round(3)
    array([0.271])
    """

    def __init__(self, reward: Any, consumption: Any) -> None:
        self.reward: NumberDistribution = parse_distribution(
            "reward", reward, NumberDistribution, REWARDS
        )
        self.reward.check("reward", UNIT)
        self.consumption: TabulatedSciPyDistribution = parse_distribution(
            "consumption", consumption, TabulatedSciPyDistribution, {}
        )
        self.consumption.check("consumption", Range(ge=0))
        if self.consumption.whole:
            raise ValueError(f"consumption must be a continuous distribution, got {consumption!r}")
        self.error = max(self.reward.error, self.consumption.error)
        self.draw = independent_pair_sampler(self.reward.draw, self.consumption.draw)
        self.numbers = pair_numbers(self.reward.numbers, self.consumption.numbers)

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""
        return self.consumption.density(x)

    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""
        return np.full(np.shape(x), self.reward.mean)

    def landmarks(self) -> FloatArray:
        """Return consumptions at which the density jumps."""
        return self.consumption.numbers

    def __repr__(self) -> str:
        """Return the call that makes this distribution."""
        return f"Independent({self.reward!r}, {self.consumption!r})"


class Replay(Distribution):
    """Empirical distribution of measured runs, which are drawn with replacement.

    Parameters
    ----------
    rewards : sequence of float, shape (runs,)
        Reward of each run, in [0, 1].
    consumptions : sequence of float, shape (runs,)
        Consumption of each run, at least 0.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> Replay(rewards=[1, 1, 0], consumptions=[0.2, 0.7, 1.5])
    Replay(3 runs)
    """

    draw = staticmethod(draw_recorded_pair)

    def __init__(self, rewards: ArrayLike, consumptions: ArrayLike) -> None:
        self.rewards = check_vector("rewards", rewards, UNIT)
        count = len(self.rewards)
        self.consumptions = check_vector("consumptions", consumptions, Range(ge=0), count)
        self.numbers = np.concatenate([self.rewards, self.consumptions])

    def __repr__(self) -> str:
        """Return the number of runs."""
        return f"Replay({len(self.rewards)} runs)"


def parse_arms(arms: Any) -> tuple[list[Distribution], tuple[Any, ...] | None]:
    """Return the distributions of a problem's arms, and the names of the arms if they have any.

    Raises
    ------
    TypeError, ValueError
        If there is no arm, or an arm is not a distribution.

    Examples
    --------
    >>> parse_arms([0.5])
    Traceback (most recent call last):
    TypeError: arms[0] must be a distribution, such as BetaExponential(a=5, b=5, rate=1), got 0.5
    """
    entries, names = split_named_arms("arms", arms)
    distributions = check_sequence("arms", entries, "a list of distributions")
    if not distributions:
        raise ValueError("arms must have at least one entry, got none")
    fields = entry_names_for_errors("arms", distributions if names is None else arms)
    for field, distribution in zip(fields, distributions, strict=True):
        if not isinstance(distribution, Distribution):
            raise TypeError(
                f"{field} must be a distribution, such as BetaExponential(a=5, b=5, rate=1), "
                f"got {distribution!r}"
            )
    return distributions, names


def _check_covariance(covariance: ArrayLike) -> FloatArray:
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


def _integrate(density: Callable[[FloatArray], FloatArray], edges: FloatArray, count: int) -> float:
    """Return the integral by Gauss-Legendre quadrature with `count` nodes in each cell."""
    nodes, weights = np.polynomial.legendre.leggauss(count)
    half = np.diff(edges) / 2
    x = edges[:-1, None] + half[:, None] * (nodes + 1.0)
    return float((half * (density(x) @ weights)).sum())


def _normal_density(z: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-0.5 * z * z) / np.sqrt(2.0 * np.pi))


def _normal_mass(low: FloatArray, high: FloatArray) -> FloatArray:
    """Return the standard normal probability of (low, high), without cancellation in the tails."""
    require_extra("scipy", "a normal distribution")
    from scipy.special import ndtr

    is_upper = low > 0.0
    return np.asarray(ndtr(np.where(is_upper, -low, high)) - ndtr(np.where(is_upper, -high, low)))
