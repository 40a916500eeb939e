"""The instance: mean losses, thresholds, and how much there is to allocate."""

from collections.abc import Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.environment import Environment
from keyhole.contract.environment import Problem as AnyProblem
from keyhole.contract.state_memory import FloatArray
from keyhole.distributions.reward_problem import list_values
from keyhole.semibandit.environment import Losses, ReplayEnvironment, make_replay_environment
from keyhole.semibandit.joint_losses import DayDistribution, Days
from keyhole.semibandit.knapsack import solve_knapsack
from keyhole.semibandit.learner import zeros_and_ones
from keyhole.semibandit.setting import ENOUGH, SETTING, sum_up
from keyhole.validate import (
    Range,
    SequenceLike,
    check_choice,
    check_number,
    check_vector,
    column_names,
    short_repr,
)

_UNIT: Final = Range(ge=0, le=1)
_THRESHOLD: Final = Range(gt=0, le=1)
_RESOURCE: Final = Range(gt=0, le=2**24)
_ORDERS: Final = ("drawn", "recorded")


class Problem(AnyProblem):
    r"""Arms that show no loss once they are given enough.

    In every round arm i has a loss :math:`X_i` of 0 or 1, with mean :math:`\mu_i`; seen is

    .. math:: Y_i = X_i \, 1\{ a_i < \theta_i \}

    The metrics of `keyhole.simulate` are ``regret``, the cumulative pseudo-regret
    :math:`\sum_t \sum_i \mu_i ( 1\{a_{t,i} < \theta_i\} - 1\{a^*_i < \theta_i\} )`;
    ``threshold_rounds``, for how many rounds thresholds were searched for; ``threshold_error``, by
    how much the worst estimate of a threshold is off; and ``too_low``, how many estimates are below
    the threshold, so that what is given by them is wasted. With ``details=True`` also ``refuted``,
    how many losses were seen at arms that had been given their estimates; ``cumulative_loss``, all
    losses; ``observations``, how often an arm was given too little, so that its loss, 0 or 1, was
    seen; ``resource_spent``; and for each arm ``pulls``, in how many rounds it was given anything,
    and ``estimates``, of its threshold.

    Parameters
    ----------
    mean_losses : sequence of float, shape (arms,)
        In [0, 1]: losses are independent. Or a `CustomDistribution`, the distribution of all losses
        of a day.
    thresholds : float or sequence of float, shape (arms,)
        From which allocation on each arm shows no loss, in (0, 1]; a number for one that all have
        in common. An allocation is sufficient from 1e-9 below the threshold on.
    resource : float
        Q: how much there is to allocate in a round, above 0.

    Attributes
    ----------
    optimal : ndarray of bool, shape (arms,)
        Which arms the best allocation gives enough.
    least_loss : float
        The expected loss of a round under the best allocation.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> problem = Problem([0.9, 0.89, 0.87, 0.58, 0.3], [0.7, 0.7, 0.7, 0.6, 0.35], resource=2)
    >>> problem.optimal_allocation
    array([0.7, 0.7, 0. , 0.6, 0. ])
    >>> problem.regret([0.7, 0.7, 0, 0, 0.35])
    0.28
    >>> round(problem.residual, 9)  # nothing is left over: estimates would have to be exact
    0.0
    """

    setting = SETTING

    def __init__(
        self, mean_losses: SequenceLike | DayDistribution, thresholds: ArrayLike, resource: float
    ) -> None:
        self.distribution = mean_losses if isinstance(mean_losses, DayDistribution) else None
        self.mean_losses: FloatArray = (
            check_vector("mean_losses", mean_losses, _UNIT)
            if self.distribution is None
            else self.distribution.mean_losses
        )
        self.thresholds: FloatArray = _thresholds(thresholds, len(self.mean_losses))
        self.resource = check_number("resource", resource, _RESOURCE)
        self.rounds = None if self.distribution is None else self.distribution.rounds
        self.optimal = solve_knapsack(self.mean_losses, self.thresholds, self.resource)
        left = np.where(self.optimal, 0.0, self.mean_losses)
        self.least_loss = float(sum_up(left, self.arms))

    @classmethod
    def replay(
        cls, losses: ArrayLike, thresholds: ArrayLike, resource: float, *, order: str = "drawn"
    ) -> Self:
        """Make a problem of recorded days, of which it is known where something happened.

        Parameters
        ----------
        losses : sequence of sequences of 0 or 1, shape (days, arms), or data frame
            Whether each arm would have had a loss on each day, had it been given nothing.
        thresholds : float or sequence of float, shape (arms,)
            As for `Problem`: in no data, yours to state.
        resource : float
            As for `Problem`.
        order : {"drawn", "recorded"}, default "drawn"
            Whether each round draws one of the days, each equally likely, so that the mean losses
            are known exactly; or the days come as they were recorded, and the regret is that of
            what happened, against the allocation that is the best for all days together.

        Returns
        -------
        Problem
            The problem. All arms live through the same day: their losses are not independent. In
            recorded order it ends with the days.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.

        Examples
        --------
        >>> days = [[0, 1, 1], [0, 0, 1], [0, 1, 1], [1, 0, 0]]
        >>> problem = Problem.replay(days, thresholds=0.5, resource=1)
        >>> problem.mean_losses
        array([0.25, 0.5 , 0.75])
        """
        if column_names(losses) is not None:
            losses = np.asarray(losses)
        if not isinstance(losses, Sequence | np.ndarray) or len(losses) == 0:
            raise ValueError(f"losses must have at least one day, got {short_repr(losses)}")
        first = check_vector("losses[0]", losses[0], _UNIT)
        days = np.array(
            [zeros_and_ones(f"losses[{i}]", day, len(first)) for i, day in enumerate(losses)]
        )
        in_order = check_choice("order", order, _ORDERS) == "recorded"
        return cls(Days(days, in_order=in_order), thresholds, resource)

    def __repr__(self) -> str:
        """Return mean losses, thresholds and resource, shortened."""
        several = f"[{list_values(self.thresholds)}]"
        thresholds = f"{self.thresholds[0]:g}" if self.common else several
        days = f", {self.distribution.days} days" if isinstance(self.distribution, Days) else ""
        return (
            f"Problem({self.arms} arms, mean_losses=[{list_values(self.mean_losses)}], "
            f"thresholds={thresholds}, resource={self.resource:g}{days})"
        )

    @property
    def environment(self) -> type[Environment]:
        """The compiled side of the arms."""
        if self.distribution is None:
            return Losses
        if self.distribution.rounds is not None:
            return ReplayEnvironment
        return make_replay_environment(type(self.distribution).__name__, self.distribution.draw)

    @property
    def arms(self) -> int:
        """How many arms."""
        return len(self.mean_losses)

    @property
    def common(self) -> bool:
        """Whether all arms have the same threshold."""
        return bool((self.thresholds == self.thresholds[0]).all())

    @property
    def optimal_allocation(self) -> FloatArray:
        """The best allocation, exactly: its thresholds to the arms of the best knapsack."""
        return np.where(self.optimal, self.thresholds, 0.0)

    @property
    def residual(self) -> float:
        """What the best allocation leaves over, r; 0 where it is no more than rounding."""
        left = self.resource - float(self.thresholds[self.optimal].sum())
        return left if left > ENOUGH else 0.0

    @property
    def gamma(self) -> float:
        """How much each threshold may be overestimated at no cost (Lemma 3): r / K."""
        return self.residual / self.arms

    @property
    def worst_regret(self) -> float:
        """The largest regret of an allocation: that of giving nothing to anyone."""
        return float(sum_up(self.mean_losses, self.arms) - self.least_loss)

    def regret(self, allocation: ArrayLike) -> float:
        """Return the pseudo-regret of an allocation: what a round of it costs, in expectation.

        Parameters
        ----------
        allocation : sequence of float, shape (arms,)
            What each arm is given, in [0, 1], in all at most the resource.

        Returns
        -------
        float
            Expected losses beyond those of the best allocation, at least 0.

        Raises
        ------
        TypeError, ValueError
            If it is no allocation.
        """
        given = check_vector("allocation", allocation, _UNIT)
        if len(given) != self.arms:
            raise ValueError(f"allocation must have {self.arms} entries, got {len(given)}")
        if sum_up(given, self.arms) > self.resource + ENOUGH:
            raise ValueError(
                f"allocation must add up to at most {self.resource:g}, got {given.sum():g}"
            )
        left = np.where(given >= self.thresholds - ENOUGH, 0.0, self.mean_losses)
        return float(max(0.0, sum_up(left, self.arms) - self.least_loss))

    def resized(self, arms: int) -> "Problem":
        """Return a problem of `arms` arms with the same means and thresholds, over and over.

        The resource stays what it is.
        """
        return Problem(
            np.resize(self.mean_losses, arms), np.resize(self.thresholds, arms), self.resource
        )

    def truth(self) -> dict[str, Any]:
        """Return what the environment reads; no policy sees it."""
        truth: dict[str, Any] = {
            "arms": self.arms,
            "means": self.mean_losses,
            "thresholds": self.thresholds,
            "least": self.least_loss,
        }
        if self.distribution is not None:
            truth |= {
                "length": len(self.distribution.numbers),
                "numbers": self.distribution.numbers,
            }
        return truth | {"best": self.optimal}


def _thresholds(thresholds: Any, arms: int) -> FloatArray:
    """Return a threshold for each arm."""
    if isinstance(thresholds, int | float | np.number):
        return np.full(arms, check_number("thresholds", thresholds, _THRESHOLD))
    found = check_vector("thresholds", thresholds, _THRESHOLD)
    if len(found) != arms:
        raise ValueError(f"thresholds must have {arms} entries, one for each arm; got {len(found)}")
    return found
