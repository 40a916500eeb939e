"""Laws that you bring along: a sampler of your own, laws of SciPy, and measured runs."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from keyhole.laws import Law, Number, Tabulated
from keyhole.laws.arms import REWARDS, law_of
from keyhole.laws.gathered import pair_of, paired
from keyhole.laws.replay import draw_recorded_pair
from keyhole.laws.rewards import UNIT
from keyhole.laws.sampler import TRIAL_DRAWS, Own
from keyhole.policy import FloatArray, Kernel
from keyhole.resource.laws import SmoothLaw
from keyhole.validate import Range, number, vector


class Sampler(Own, SmoothLaw):
    """A law of your own: a compiled sampler, and what is needed to compute with it.

    Parameters
    ----------
    draw : callable
        ``draw(rng, numbers) -> (reward, consumption)``, a kernel: plain arithmetic and the
        samplers of `keyhole.draws.samplers`. Rewards in [0, 1], consumptions at least 0.
    numbers : sequence of float
        What `draw` is given: laws may share one `draw`, and then share its compiled code.
    density, mean_reward : callable
        ``f(x) -> array``: of the consumption at the points of an array, and the mean reward
        given the consumption.
    landmarks : sequence of float, optional
        Consumptions where the density jumps or moves fast.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed, or 1,000 trial draws leave the range or do not fit the density.

    Examples
    --------
    >>> from keyhole.draws.streams import uniform
    >>> def draw(rng, numbers):
    ...     consumption = numbers[0] * uniform(rng)
    ...     return uniform(rng), consumption
    >>> law = Sampler(
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
        self._density, self._mean_reward = density, mean_reward
        self._landmarks = np.asarray(landmarks, np.float64).ravel()
        self._try_out()

    def _try_out(self) -> None:
        draws = self.tried()
        for name, values, allowed in (
            ("reward", draws[:, 0], UNIT),
            ("consumption", draws[:, 1], Range(ge=0)),
        ):
            for value in (values.min(), values.max()):
                number(f"a {name} drawn by draw", float(value), allowed)
        self._compare(draws[:, 1])

    def _compare(self, drawn: FloatArray) -> None:
        """Refuse a density that gives the lower half of the draws another share than a half."""
        middle = float(np.median(drawn))
        marks = self._landmarks[(self._landmarks > 0.0) & (self._landmarks < middle)]
        edges = np.union1d(np.linspace(0.0, middle, 2001), marks)
        nodes, weights = np.polynomial.legendre.leggauss(8)
        half = np.diff(edges) / 2
        x = edges[:-1, None] + half[:, None] * (nodes + 1.0)
        share = float((half * (self.density(x) @ weights)).sum())
        # Six standard errors of the share of 1,000 draws.
        if not abs(share - 0.5) < 6.0 * 0.5 / np.sqrt(TRIAL_DRAWS):
            raise ValueError(
                f"density must be that of the consumptions drawn by draw: it gives those up to "
                f"{middle:g} the share {share:.3g}, drawn were 0.5"
            )

    def density(self, x: FloatArray) -> FloatArray:
        """Return the density of the consumption at `x`."""
        return np.asarray(self._density(x), np.float64)

    def mean_reward(self, x: FloatArray) -> FloatArray:
        """Return the mean reward given the consumption `x`."""
        return np.asarray(self._mean_reward(x), np.float64)

    def landmarks(self) -> FloatArray:
        """Return consumptions near which the density moves fastest."""
        return self._landmarks


class Independent(SmoothLaw):
    """A reward and, independent of it, a consumption.

    Parameters
    ----------
    reward : law
        Of values in [0, 1]: see `keyhole.laws`.
    consumption : frozen distribution of scipy.stats
        Continuous, of values at least 0; drawn from a table (`keyhole.laws.Tabulated`). What pairs
        are worth is exact for what is drawn.

    Raises
    ------
    TypeError, ValueError
        If a law is not allowed.

    Examples
    --------
    >>> from scipy import stats
    >>> law = Independent(stats.beta(2, 6), stats.gamma(3))
    >>> law.mean_reward(np.array([0.5])).round(3), law.density(np.array([2.0])).round(3)
    (array([0.25]), array([0.271]))
    """

    def __init__(self, reward: Any, consumption: Any) -> None:
        self.reward: Number = law_of("reward", reward, Number, REWARDS)
        self.reward.check("reward", UNIT)
        self.consumption: Tabulated = law_of("consumption", consumption, Tabulated, {})
        self.consumption.check("consumption", Range(ge=0))
        if self.consumption.whole:
            raise ValueError(f"consumption must be a continuous law, got {consumption!r}")
        self.error = max(self.reward.error, self.consumption.error)
        self.draw = pair_of(self.reward.draw, self.consumption.draw)
        self.numbers = paired(self.reward.numbers, self.consumption.numbers)

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
        """Return the call that makes this law."""
        return f"Independent({self.reward!r}, {self.consumption!r})"


class Replay(Law):
    """Measured pairs, drawn with replacement.

    Parameters
    ----------
    rewards : sequence of float, shape (runs,)
        In [0, 1].
    consumptions : sequence of float, shape (runs,)
        At least 0.

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
        self.rewards = vector("rewards", rewards, UNIT)
        self.consumptions = vector("consumptions", consumptions, Range(ge=0))
        if len(self.rewards) != len(self.consumptions):
            raise ValueError(
                f"consumptions must have {len(self.rewards)} entries, got {len(self.consumptions)}"
            )
        self.numbers = np.concatenate([self.rewards, self.consumptions])

    def __repr__(self) -> str:
        """Return the number of runs."""
        return f"Replay({len(self.rewards)} runs)"


def check_laws(arms: Any) -> list[Law]:
    """Return the laws of a problem's arms.

    Raises
    ------
    TypeError, ValueError
        If there is none, or one is no law.

    Examples
    --------
    >>> check_laws([0.5])
    Traceback (most recent call last):
    TypeError: arms[0] must be a law, such as BetaExponential(a=5, b=5, rate=1), got 0.5
    """
    if not isinstance(arms, Sequence) or isinstance(arms, str):
        raise TypeError(f"arms must be a list of laws, got {arms!r}")
    if not arms:
        raise ValueError("arms must have at least one entry, got none")
    for i, law in enumerate(arms):
        if not isinstance(law, Law):
            raise TypeError(
                f"arms[{i}] must be a law, such as BetaExponential(a=5, b=5, rate=1), got {law!r}"
            )
    return list(arms)
