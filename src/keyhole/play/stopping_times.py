"""The function `stopping_times`: simulates how long a policy that can stop takes until it does."""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from keyhole.contract.policy import Policy
from keyhole.contract.problem import Problem
from keyhole.contract.state_arrays import FloatArray
from keyhole.play.simulation import simulate

_NORMAL_QUANTILE: Final = 1.96  # of the 95 % interval of a rank
_ADVICE: Final = (
    "\nTo end sooner: fewer arms, a larger delta (or tolerance, if the rule has one), or no"
    " verdict: a policy that earns meanwhile, such as OptimisticThompson, needs no end."
)


@dataclass(frozen=True)
class StoppingTimes:
    """Rounds until a policy was done, in simulated tests; made by `stopping_times`.

    Attributes
    ----------
    policy : str
        The policy.
    rounds : int
        The most rounds of a test.
    tests, not_done : int
        The number of tests, and of those in which the policy was not done.
    median, quantile_90 : tuple of float
        The rounds after which half of the tests, and 90 % of them, are done, and the ends of a 95 %
        interval; infinite beyond the most rounds.
    guarantee : str
        What the policy promises, such as a bound on the chance that it names a wrong arm.
    error : tuple of float
        The mean of what the guarantee bounds, and the ends of its 95 % interval.
    """

    policy: str
    rounds: int
    tests: int
    not_done: int
    median: tuple[float, ...]
    quantile_90: tuple[float, ...]
    guarantee: str
    error: tuple[float, ...]

    def __str__(self) -> str:
        """Return all of it as lines of text, with what helps if it takes too long."""
        median, most = (
            f"{value:,.0f} [{low:,.0f}, {high:,.0f}]".replace("inf]", "...]").replace(
                "inf", f"over {self.rounds:,}"
            )
            for value, low, high in (self.median, self.quantile_90)
        )
        error, low, high = self.error
        return (
            f"{self.policy} in {self.tests:,} simulated tests:\n"
            f"  done after a median of {median} decisions, 90 % quantile {most}\n"
            f"  {self.not_done:,} of {self.tests:,} were not done after {self.rounds:,} decisions\n"
            f"  {self.guarantee}; here {error:.3f} [{low:.3f}, {high:.3f}]"
            f"{_ADVICE if math.isinf(self.quantile_90[0]) else ''}"
        )


def stopping_times(
    problem: Problem,
    policy: Policy,
    *,
    horizon: int = 200_000,
    replications: int = 200,
    seed: int = 0,
    **options: Any,
) -> StoppingTimes:
    """Simulate how many rounds a policy that can stop takes until it has settled all arms.

    It tells before a test how large its sample will be: how many visitors until `BestArmStopping`
    names a winner, or how many labels until `PerArmStopping` has settled each item. That depends on
    the means, which nobody knows then: try what you think possible, also small differences. The
    result depends on the arguments alone; at most `horizon` times `replications` rounds are
    simulated, which takes a minute or so with the defaults.

    Parameters
    ----------
    problem : Problem
        What you think possible, such as ``keyhole.stochastic.Problem([0.04, 0.06])``.
    policy : Policy
        One that can stop (`keyhole.policy.Policy.verdicts`).
    horizon : int, default 200,000
        The most rounds: a test that is not done by then counts as not done.
    replications : int, default 200
        The number of simulated tests.
    seed : int, default 0
        From 0, below 2**63.
    **options
        Other arguments of `keyhole.simulate`, such as `threads` and `progress`.

    Raises
    ------
    ValueError
        If the policy cannot stop.

    Examples
    --------
    >>> from keyhole import stopping_times
    >>> from keyhole.stochastic import BestArmStopping, Problem
    >>> print(stopping_times(Problem([0.2, 0.5]), BestArmStopping(), replications=50))
    BestArmStopping(base=TopTwoThompson(a=1, b=1, share=0.5), delta=0.05) in 50 simulated tests:
      done after a median of 101 [85, 146] decisions, 90 % quantile 241 [197, ...]
      0 of 50 were not done after 200,000 decisions
      chance that the arm named best is not: at most 0.05; here 0.000 [0.000, 0.071]
    """
    if not policy.verdicts:
        raise ValueError(
            f"policy must be one that can stop, such as BestArmStopping or PerArmStopping, got "
            f"{policy!r}"
        )
    curves = simulate(
        problem, [policy], horizon=horizon, replications=replications, seed=seed, **options
    )
    is_open = curves.values(policy, "unfinished")[-1] > 0.0
    rounds = np.where(is_open, math.inf, curves.values(policy, "rounds_used")[-1])
    guarantee = policy.guarantee()
    error = curves.estimates(policy, guarantee.metric)[-1]
    return StoppingTimes(
        repr(policy),
        horizon,
        replications,
        int(is_open.sum()),
        _quantile(rounds, 0.5),
        _quantile(rounds, 0.9),
        guarantee.text,
        (error.value, error.low, error.high),
    )


def _quantile(rounds: FloatArray, share: float) -> tuple[float, ...]:
    """Return a quantile, and the order statistics that are the ends of its 95 % interval."""
    ordered = np.array([0.0, *np.sort(rounds), math.inf])
    rank = share * len(rounds)
    reach = _NORMAL_QUANTILE * math.sqrt(rank * (1.0 - share))
    ranks = np.clip(
        np.ceil([rank - 1e-9, rank - reach - 1.0, rank + reach + 1.0]), 0, len(rounds) + 1
    )
    return tuple(ordered[ranks.astype(int)].tolist())
