"""Problem of dividing a resource: each arm's mean loss and threshold, and the total amount."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from keyhole import validation
from keyhole.contract.arm_names import check_distinct_arm_texts, order_by_name, split_named_arms
from keyhole.distributions.sampler_dispatch import format_first_values
from keyhole.policy import Environment, FloatArray
from keyhole.policy import Problem as AnyProblem
from keyhole.semibandit.environment import (
    DayDistribution,
    Days,
    LossEnvironment,
    ReplayEnvironment,
    make_joint_environment,
)
from keyhole.semibandit.knapsack import solve_knapsack
from keyhole.semibandit.learner import check_binary_vector
from keyhole.semibandit.setting import SETTING, TOLERANCE, sum_up
from keyhole.spec_values import ProblemFactory

_UNIT: Final = validation.Range(ge=0, le=1)
_THRESHOLD: Final = validation.Range(gt=0, le=1)


class Problem(AnyProblem):
    r"""Problem of arms whose losses are prevented by an allocation of at least a threshold.

    In every round arm i has a loss :math:`X_i` of 0 or 1, with mean :math:`\mu_i`. If it is given
    :math:`a_i`, the observed loss is

    .. math:: Y_i = X_i \, 1\{ a_i < \theta_i \}

    The metrics of `keyhole.simulate` are ``regret``, the cumulative pseudo-regret
    :math:`\sum_t \sum_i \mu_i ( 1\{a_{t,i} < \theta_i\} - 1\{a^*_i < \theta_i\} )` against the best
    allocation :math:`a^*`; ``threshold_rounds``, the number of rounds of the search for thresholds;
    ``threshold_error``, the largest error of an estimated threshold; and ``too_low``, the number of
    arms whose estimate is below the threshold, so that allocations by it are wasted.

    With ``details=True`` there are also ``refuted``, the number of losses at arms that had been
    given their estimates; ``cumulative_loss``, the number of observed losses; ``observations``, the
    number of pairs of round and arm with an insufficient allocation; ``resource_spent``; and for
    each arm ``pulls``, the number of rounds with a positive allocation, and ``estimates``, the
    estimate of its threshold.

    Parameters
    ----------
    mean_losses : sequence of float, shape (arms,), or mapping
        Mean losses in [0, 1], for independent losses. In a mapping the keys are the names of the
        arms. For dependent losses, a `CustomDistribution` of all losses of a round.
    thresholds : float or sequence of float, shape (arms,), or mapping
        Smallest allocation that prevents an arm's losses, in (0, 1]; a number for a threshold
        common to all arms. In a mapping the keys are the names of the arms. An allocation that is
        at most 1e-9 below the threshold is sufficient, too.
    resource : float
        Q, the amount to allocate in a round, above 0.

    Attributes
    ----------
    optimal : ndarray of bool, shape (arms,)
        Which arms the best allocation funds.
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
    >>> round(problem.residual, 9)  # nothing is left over, so only exact estimates fit
    0.0
    """

    setting = SETTING

    def __init__(
        self,
        mean_losses: validation.SequenceLike | Mapping[Any, float] | DayDistribution,
        thresholds: ArrayLike | Mapping[Any, float],
        resource: float,
    ) -> None:
        self.distribution = mean_losses if isinstance(mean_losses, DayDistribution) else None
        mean_losses, self.arm_names = split_named_arms("mean_losses", mean_losses)
        if self.arm_names is None:
            thresholds, self.arm_names = split_named_arms("thresholds", thresholds)
        thresholds = order_by_name("thresholds", thresholds, self.arm_names)
        self.mean_losses: FloatArray = (
            validation.check_vector("mean_losses", mean_losses, _UNIT)
            if self.distribution is None
            else self.distribution.mean_losses
        )
        self.thresholds: FloatArray = _check_thresholds(thresholds, len(self.mean_losses))
        self.resource = validation.check_number(
            "resource", resource, validation.Range(gt=0, le=2**24)
        )
        self.rounds = getattr(self.distribution, "rounds", None)
        self.optimal = solve_knapsack(self.mean_losses, self.thresholds, self.resource)
        # The losses are added as kernels add them, arm by arm: the regret of the best allocation is
        # then exactly 0.
        self.least_loss = float(sum_up(np.where(self.optimal, 0.0, self.mean_losses), self.arms))

    @classmethod
    def replay(
        cls,
        losses: ArrayLike,
        thresholds: ArrayLike | Mapping[Any, float],
        resource: float,
        *,
        order: str = "drawn",
    ) -> Self:
        """Make a problem of recorded days, with a loss of 0 or 1 for each arm and day.

        Parameters
        ----------
        losses : sequence of sequences of 0 or 1, shape (days, arms), or data frame
            Loss of each arm on each day without any allocation. The columns of a data frame name
            the arms.
        thresholds : float or sequence of float, shape (arms,), or mapping
            As for `Problem`; an assumption, since data do not contain them.
        resource : float
            As for `Problem`.
        order : {"drawn", "recorded"}, default "drawn"
            "drawn": each round draws one of the days uniformly; the mean losses are those of the
            recorded days. "recorded": the days are replayed in order; the regret is computed from
            the recorded losses, against the best fixed allocation for all days.

        Returns
        -------
        Problem
            The problem. Losses of the arms on one day are not independent. In recorded order a
            simulation has at most as many rounds as there are days.

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
        names = None
        if (columns := validation.data_frame_column_names(losses)) is not None:
            names = check_distinct_arm_texts("losses", columns)
            losses = np.asarray(losses)
        if not isinstance(losses, Sequence | np.ndarray) or len(losses) == 0:
            raise ValueError(
                f"losses must have at least one day, got {validation.short_repr(losses)}"
            )
        arms = len(validation.check_vector("losses[0]", losses[0], _UNIT))
        days = np.array(
            [check_binary_vector(f"losses[{i}]", day, arms) for i, day in enumerate(losses)]
        )
        in_order = validation.check_choice("order", order, ("drawn", "recorded")) == "recorded"
        # `Days` has no names of arms: they reach `__init__` as keys of the thresholds.
        if names is not None:
            values = _check_thresholds(order_by_name("thresholds", thresholds, names), len(names))
            thresholds = dict(zip(names, values.tolist(), strict=True))
        return cls(Days(days, in_order=in_order), thresholds, resource)

    def __repr__(self) -> str:
        """Return a summary of mean losses, thresholds and resource."""
        names = self.arm_names
        thresholds = format_first_values(self.thresholds, names)
        if self.common:
            thresholds = f"{self.thresholds[0]:g}"
        days = f", {self.distribution.days} days" if isinstance(self.distribution, Days) else ""
        return (
            f"Problem({self.arms} arms, mean_losses={format_first_values(self.mean_losses, names)}"
            f", thresholds={thresholds}, resource={self.resource:g}{days})"
        )

    @property
    def environment(self) -> type[Environment]:
        """Environment class, compiled with the sampler of the losses."""
        if self.distribution is None:
            return LossEnvironment
        if self.distribution.rounds is not None:
            return ReplayEnvironment
        return make_joint_environment(type(self.distribution).__name__, self.distribution.draw)

    @property
    def arms(self) -> int:
        """Number of arms."""
        return len(self.mean_losses)

    @property
    def common(self) -> bool:
        """Whether all arms have the same threshold."""
        return bool((self.thresholds == self.thresholds[0]).all())

    @property
    def optimal_allocation(self) -> FloatArray:
        """Best allocation: the thresholds of the arms in the best knapsack, 0 for the others."""
        return np.where(self.optimal, self.thresholds, 0.0)

    @property
    def residual(self) -> float:
        """Resource r that the best allocation does not use; 0 if r is within rounding errors."""
        unused = self.resource - float(self.thresholds[self.optimal].sum())
        return unused if unused > TOLERANCE else 0.0

    @property
    def gamma(self) -> float:
        """Largest harmless overestimation of every threshold, r / K (Lemma 3)."""
        return self.residual / self.arms

    @property
    def worst_regret(self) -> float:
        """Largest regret of an allocation in a round: the regret if nothing is allocated."""
        return float(sum_up(self.mean_losses, self.arms) - self.least_loss)

    def resized(self, arms: int) -> "Problem":
        """Return a problem of `arms` arms: means and thresholds repeat, the resource stays.

        Its losses are independent, even if the losses of this problem are not.
        """
        return Problem(
            np.resize(self.mean_losses, arms), np.resize(self.thresholds, arms), self.resource
        )

    def truth(self) -> dict[str, object]:
        """Return the fields of the environment, which no policy reads."""
        truth: dict[str, Any] = {
            "arms": self.arms,
            "means": self.mean_losses,
            "thresholds": self.thresholds,
            "least_loss": self.least_loss,
        }
        if self.distribution is not None:
            truth |= {
                "length": len(self.distribution.numbers),
                "numbers": self.distribution.numbers,
            }
        return truth | {"best": self.optimal}


def _check_thresholds(thresholds: Any, arms: int) -> FloatArray:
    if isinstance(thresholds, int | float | np.number):
        return np.full(arms, validation.check_number("thresholds", thresholds, _THRESHOLD))
    return validation.check_vector("thresholds", thresholds, _THRESHOLD, arms)


PROBLEM_FACTORIES: Final = {
    "mean_losses": ProblemFactory("the mean loss of each arm, in [0, 1]", Problem),
    "losses": ProblemFactory(
        "recorded days: for each a list of 0 or 1, the losses of the arms without any allocation",
        Problem.replay,
    ),
}
