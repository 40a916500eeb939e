"""Problem of limited runs: what can be run, the limits, and what runs cost."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, Final

import numpy as np

from keyhole.distributions.distribution import Distribution
from keyhole.distributions.sampler_dispatch import combine_distributions, with_sampler
from keyhole.extras import require_extra
from keyhole.policy import Environment, FloatArray
from keyhole.policy import Problem as AnyProblem
from keyhole.resource.cost_functions import Function, KnownFunction, as_function
from keyhole.resource.environment import ContinuousLimitEnvironment, LimitedRunEnvironment
from keyhole.resource.expected_gain import GainTable, gain_at, make_gain_curve, tabulate_gain
from keyhole.resource.joint_distributions import KERNELS, parse_arms
from keyhole.resource.setting import SETTING, facts_of
from keyhole.text_formatting import count_text
from keyhole.validation import Range, SequenceLike, check_integer, check_number

# The best limit is a knot of the table of gains, unless the gain between two knots is larger by
# more than this.
_ROUNDING: Final = 1e-12


class Problem(AnyProblem):
    r"""Problem of arms with joint distributions of reward and consumption, limits and a cost.

    The *penalized expected gain* of arm i with the limit :math:`\tau` is

    .. math:: \nu_{i,\tau} = \mathrm E[(R_i - c(C_i)) 1\{C_i \le \tau\}]
        - \lambda(\tau) \Pr(C_i > \tau)

    (Bengs and Huellermeier 2022, equation 2), computed by quadrature. Here :math:`R_i` and
    :math:`C_i` are reward and consumption of a run, c is the cost and :math:`\lambda` the penalty.
    The metrics of `keyhole.simulate` are:

    - ``regret``, the sum over the rounds of the best pair's gain less the decision's gain (equation
      4);
    - ``censored_share``, the share of rounds whose limit was exceeded;
    - ``best_arm_share`` and ``best_pair_share``, the shares of rounds with the best arm and the
      best pair; if every limit may be chosen, there is no ``best_pair_share``;
    - ``simple_regret``, the best pair's gain less the recommended pair's gain.

    With ``details=True`` there are also:

    - ``cumulative_reward``, the sum of the rewards of the runs within their limits;
    - ``time_spent``, the sum of consumptions, in which a run that exceeds its limit counts with the
      limit;
    - ``observations``, the number of runs within their limits;
    - ``mean_limit``, and ``pulls`` of each arm.

    Parameters
    ----------
    arms : sequence of Distribution, or mapping
        See `keyhole.resource.joint_distributions`. In a mapping the keys are the names of the arms.
    limits : sequence of float, shape (limits,)
        Increasing, above 0.
    cost : Function or callable
        c, the cost of consumption: non-decreasing, in [0, 1] up to the largest limit. See
        `keyhole.resource.cost_functions`.
    penalty : Function or callable
        :math:`\lambda`, the penalty for exceeding a limit: non-decreasing, at least 0.
    continuous : bool, default False
        Whether every limit up to the largest may be chosen. If so, the best pair is the best among
        all limits, and policies that need a list of limits choose from `limits`.

    Attributes
    ----------
    distributions : list of Distribution
        The arms' distributions.
    limits : ndarray of float64, shape (limits,)
        The limits.
    cost, penalty : Function
        The known functions.
    continuous : bool
        Whether every limit up to the largest may be chosen.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> from keyhole.resource import BetaExponential, Power
    >>> problem = Problem(
    ...     arms=[BetaExponential(5, 5, rate=1), BetaExponential(5, 6, rate=1)],
    ...     limits=[0.3, 0.6, 0.9],
    ...     cost=Power(slope=0.1),
    ...     penalty=Power(slope=0.1, factor=0.2, power=4),
    ... )
    >>> problem.gains.round(3)
    array([[0.102, 0.166, 0.184],
           [0.091, 0.146, 0.157]])
    >>> problem.best_pair
    (0, 0.9)
    """

    setting = SETTING

    def __init__(
        self,
        arms: Sequence[Distribution] | Mapping[Any, Distribution],
        limits: SequenceLike,
        cost: KnownFunction,
        penalty: KnownFunction,
        *,
        continuous: bool = False,
    ) -> None:
        self.distributions, self.arm_names = parse_arms(arms)
        self._sampler = combine_distributions(self.distributions, included=KERNELS)
        self._facts = facts_of(len(self.distributions), limits, cost, penalty, continuous)
        self.limits: FloatArray = self._facts["limits"]
        self.continuous = bool(continuous)
        self.cost: Function = as_function("cost", cost, self.limits)
        self.penalty: Function = as_function("penalty", penalty, self.limits)
        # 0, the limits, and all points at which cost or penalty are not smooth.
        points = np.concatenate([[0.0], self.limits, self.cost.starts, self.penalty.starts])
        edges = np.unique(points[points <= self.limits[-1]])
        # Arms may share a distribution: quadrature runs once for each distribution, not each arm.
        make_curve = cache(lambda distribution: make_gain_curve(distribution, self.cost, edges))
        self._curves = [make_curve(distribution) for distribution in self.distributions]
        self.gains: FloatArray = np.array(
            [gain_at(curve, self.penalty, self.limits) for curve in self._curves]
        )
        # Users get this array, not a copy, and changing it would change the regrets.
        self.gains.flags.writeable = False
        make_table = cache(lambda curve: tabulate_gain(curve, self.penalty, edges))
        self._tables: list[GainTable] = list(map(make_table, self._curves)) if continuous else []
        self.best_gain, self.best_pair = self._find_best_pair()

    def _find_best_pair(self) -> tuple[float, tuple[int, float]]:
        """Return the largest gain of any pair, and the pair."""
        if self.continuous:
            # Arms with the same distribution share a curve, and its best limit is searched once.
            find_peak = cache(lambda curve: self._find_best_limit(self._curves.index(curve)))
            arm_peaks = list(map(find_peak, self._curves))
            arm = int(np.argmax([gain for gain, _ in arm_peaks]))
            gain, limit = arm_peaks[arm]
            return gain, (arm, limit)
        arm, position = divmod(int(np.argmax(self.gains)), len(self.limits))
        return float(self.gains[arm, position]), (arm, float(self.limits[position]))

    def _find_best_limit(self, arm: int) -> tuple[float, float]:
        """Return the largest gain of an arm over all limits, and the limit that has it."""
        require_extra("scipy", "the best limit of an arm")
        from scipy.optimize import minimize_scalar  # here, since it takes a third of a second

        table = self._tables[arm]
        k = int(np.argmax(table.gain_at_knot[1:])) + 1
        best_gain, best_limit = float(table.gain_at_knot[k]), float(table.knots[k])
        # The supremum of the gain may lie at the limit 0, which is itself not allowed.
        if table.gain_above_knot[0] > best_gain:
            return float(table.gain_above_knot[0]), 0.0
        # The intervals below and above the best knot.
        for low, high in zip(table.knots[k - 1 : k + 1], table.knots[k : k + 2], strict=False):
            peak = minimize_scalar(
                lambda x: -self.gain(arm, x), bounds=(low, high), method="bounded"
            )
            if -peak.fun > best_gain + _ROUNDING:
                best_gain, best_limit = float(-peak.fun), float(peak.x)
        return best_gain, best_limit

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.distributions)

    @property
    def gaps(self) -> FloatArray:
        """Gain of the best pair less the gain of each pair, shape (arms, limits)."""
        return np.asarray(self.best_gain - self.gains)

    @property
    def censoring(self) -> FloatArray:
        """Probability that a run of each arm exceeds each limit, shape (arms, limits)."""
        return np.array([1.0 - curve.integrate_up_to(self.limits)[1] for curve in self._curves])

    def gain(self, arm: int, limit: float) -> float:
        """Return the penalized expected gain of any pair.

        Parameters
        ----------
        arm : int
            From 0.
        limit : float
            Above 0, at most the largest limit.

        Returns
        -------
        float
            Equation (2), to about 1e-9.

        Raises
        ------
        TypeError, ValueError
            If there is no such arm or limit.
        """
        arm = check_integer("arm", arm, Range(ge=0, lt=self.arms))
        limit = check_number("limit", limit, Range(gt=0, le=float(self.limits[-1])))
        return float(gain_at(self._curves[arm], self.penalty, np.array([limit]))[0])

    @property
    def environment(self) -> type[Environment]:
        """Environment class, compiled with the arms' samplers."""
        base = ContinuousLimitEnvironment if self.continuous else LimitedRunEnvironment
        return with_sampler(base, "", self._sampler.draw)

    def resized(self, arms: int) -> "Problem":
        """Return a problem of `arms` arms, with the distributions repeated in order."""
        distributions = [self.distributions[i % self.arms] for i in range(arms)]
        return Problem(
            distributions, self.limits, self.cost, self.penalty, continuous=self.continuous
        )

    def truth(self) -> dict[str, object]:
        """Return the fields of the environment, which no policy reads."""
        values = {
            "arms": self.arms,
            "limit_count": len(self.limits),
            "limits": self.limits,
            "true_best_arm": self.best_pair[0],
            "gaps": self.gaps,
            **self._sampler.truth(),
        }
        return values | self._table_values() if self.continuous else values

    def _table_values(self) -> dict[str, Any]:
        sizes = np.array([len(table.knots) for table in self._tables])
        columns = ("knots", "gain_at_knot", "gain_above_knot", "slope")
        return {
            "best_gain": self.best_gain,
            "table_length": int(sizes.sum()),
            "table_starts": np.cumsum(sizes) - sizes,
            "table_ends": np.cumsum(sizes),
            **{name: np.concatenate([getattr(t, name) for t in self._tables]) for name in columns},
        }

    def fact(self, name: str) -> object:
        """Return the fact of this name."""
        return self._facts[name]

    def __repr__(self) -> str:
        """Return a summary of arms, limits and known functions."""
        limit_text = "any limit" if self.continuous else f"{len(self.limits)} limits"
        return (
            f"Problem({count_text(self.arms, 'arm')}, {limit_text} up to "
            f"{self.limits[-1]:g}, cost={self.cost!r}, penalty={self.penalty!r})"
        )
