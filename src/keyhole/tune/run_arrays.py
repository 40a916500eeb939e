"""Runs of a tune: their array, from which models learn run times, and their gains."""

import math
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.arms import Scalar
from keyhole.tune.run_time_model import RunRows, normal_cdf

RunOutcome = Literal["ok", "failed", "out of time", "out of memory"]
_COLUMNS: Final = np.dtype(
    [
        ("configuration", np.int64),
        ("instance", np.int64),
        ("seconds", np.float64),
        ("log_time", np.float64),
        ("is_censored", np.bool_),
        ("is_failed", np.bool_),
        ("weight", np.float64),
    ]
)
SHORTEST: Final = 0.001
"""The shortest run time in seconds: a shorter run counts as this long. No limit is shorter."""


@dataclass(frozen=True)
class Trial:
    """A run to be made, with numbers for its configuration and its instance.

    Attributes
    ----------
    round : int
        Number of the decision, from 1 on.
    configuration : int
        Number of the configuration; 0 is the default.
    parameters : dict
        Active parameters of the configuration.
    instance : int
        Number of the instance.
    limit : float
        Time limit in seconds.
    """

    round: int
    configuration: int
    parameters: dict[str, Scalar]
    instance: int
    limit: float


@dataclass(frozen=True)
class RunGains:
    """Gains of runs: a success earns 1, and seconds cost.

    Attributes
    ----------
    cutoff : float
        The full cut-off (the largest limit) in seconds.
    cost_per_second, cost_of_giving_up : float
        Costs of a second, and of reaching the limit.
    """

    cutoff: float
    cost_per_second: float
    cost_of_giving_up: float

    def of_times(self, times: FloatArray, is_failed: NDArray[np.bool_], limit: float) -> FloatArray:
        """Return the gains of runs under a limit, given their times until success or failure."""
        rewards = np.where(is_failed, 0.0, 1.0)
        costs = self.cost_per_second * np.minimum(times, limit)
        return np.where(times <= limit, rewards, -self.cost_of_giving_up) - costs

    def expected(
        self,
        log_means: FloatArray,
        deviation: float,
        limits: FloatArray,
        success_chance: FloatArray | float = 1.0,
    ) -> FloatArray:
        r"""Return the expected gains of log-normal run times, with a row for each limit.

        A run that ends within its limit succeeds with `success_chance`. If this is an array of
        shape (k, 1, 1), the result is a table for each of the k chances. For a log mean m and
        deviation s, and a limit L with :math:`u = (\log L - m) / s`, the expected seconds are
        :math:`e^{m + s^2 / 2} \Phi(u - s) + L (1 - \Phi(u))`.
        """
        scores = (np.log(limits)[:, None] - log_means) / deviation
        chances = normal_cdf(scores)
        # The exponent is bounded: beyond the bound, the other factor of `seconds` is 0.
        means = np.exp(np.minimum(log_means + deviation**2 / 2, 700.0))
        seconds = means * normal_cdf(scores - deviation)
        seconds += limits[:, None] * (1.0 - chances)
        gains = success_chance * chances - self.cost_of_giving_up * (1.0 - chances)
        return np.asarray(gains - self.cost_per_second * seconds)

    def loss(self, outcome: RunOutcome, seconds: float) -> float:
        """Return the gain of a success in no time, 1, less that of a run under the full cut-off."""
        if outcome == "out of time":
            return 1.0 + self.cost_of_giving_up + self.cost_per_second * self.cutoff
        return (outcome != "ok") + self.cost_per_second * seconds


class RunArray:
    """A growing array with a row for each run.

    If a run was out of time, its log time is censored at its limit: it is known only to be larger.
    If a run failed, its log time is censored at the full cut-off, for models that take a failure
    for a long run.
    """

    def __init__(self, cutoff: float) -> None:
        self._cutoff = cutoff
        self._array = np.empty(256, _COLUMNS)
        self.count = 0

    @property
    def runs(self) -> RunRows:
        """The runs: a structured array."""
        return self._array[: self.count]

    def add(self, trial: Trial, outcome: RunOutcome, seconds: float, weight: float = 1.0) -> None:
        """Add a run; a run of another tune may have a weight below 1."""
        if self.count == len(self._array):
            self._array = np.resize(self._array, 2 * self.count)
        is_failed = outcome in ("failed", "out of memory")
        duration = {"ok": seconds, "out of time": trial.limit}.get(outcome, self._cutoff)
        self._array[self.count] = (
            trial.configuration,
            trial.instance,
            max(seconds, SHORTEST),
            math.log(max(duration, SHORTEST)),
            outcome != "ok",
            is_failed,
            weight,
        )
        self.count += 1
