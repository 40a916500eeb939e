"""The instance: arms, their rewards, and how long these take to arrive."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import ArrayLike

from keyhole.contract.memory import FloatArray
from keyhole.contract.setting import Setting
from keyhole.contract.world import World
from keyhole.delayed.delays import (
    Constant,
    Delay,
    Empirical,
    Exponential,
    Geometric,
    HalfNormal,
    Poisson,
    TwoPoint,
    Uniform,
)
from keyhole.delayed.environment import WORLDS, RecordedPairs
from keyhole.delayed.setting import SETTING
from keyhole.reading import one_of
from keyhole.stochastic.laws import rewards_of
from keyhole.validate import Range, choice, vector

_UNIT: Final = Range(ge=0, le=1)
_LENGTH: Final = Range(ge=0, le=2**52)

_READ: Final = one_of(
    Constant, Uniform, Geometric, Poisson, Exponential, HalfNormal, TwoPoint, Empirical
)


class Problem:
    r"""Arms with rewards in [0, 1] that arrive late.

    The reward of a pull in round t arrives at the end of round t + delay, after the horizon never.
    The metrics of `keyhole.simulate` are ``regret``, the cumulative pseudo-regret
    :math:`\sum_t \mu^* - \mu_{I_t}` of the rewards that are generated, whether or not they
    arrive in time; and of policies that play in phases ``phase``, the number of the phase, and
    ``eliminated_at``, the round in which an arm was first given up, or the horizon and one. With
    details also ``cumulative_reward``, of the rewards that are generated; ``observations``, the
    sums (one a round) or with named feedback the rewards that were seen; and of each arm ``pulls``
    and ``estimate_errors``: how far its mean as the last phase found it is from the truth, in units
    of half that phase's tolerance, which the lemmas allow.

    Parameters
    ----------
    means : sequence of float, shape (arms,)
        The mean reward of each arm, in [0, 1].
    delay : Delay or mapping
        The law of the delays: see `keyhole.delayed.delays`; or, as in a spec, its name with its
        parameters, such as ``{"law": "Poisson", "expected": 20}``.
    feedback : {"anonymous", "named"}, default "anonymous"
        Whether only the sum of what arrives is seen, or each reward and whose it is.
    law : {"bernoulli", "beta", "truncated-normal"}, default "bernoulli"
        The law of the rewards. All but Bernoulli's need means in (0, 1).
    concentration : float, optional
        For beta laws, at least 10**-6: an arm of mean m has the shapes ``m * concentration`` and
        ``(1 - m) * concentration``.
    scale : float, optional
        For truncated normal laws, in [0.001, 10]: the standard deviation before truncation to
        [0, 1]. The means are those after it.

    Raises
    ------
    TypeError, ValueError
        If a value is not allowed.

    Examples
    --------
    >>> from keyhole.delayed import Poisson
    >>> problem = Problem(means=[0.5, 0.6], delay=Poisson(20))
    >>> problem.gaps.round(2), problem.delay.mean
    (array([0.1, 0. ]), 20.0)
    """

    def __init__(
        self,
        means: ArrayLike,
        delay: Delay | Mapping[str, Any],
        *,
        feedback: str = "anonymous",
        law: str = "bernoulli",
        concentration: float | None = None,
        scale: float | None = None,
    ) -> None:
        rewards = rewards_of(means, law, concentration=concentration, scale=scale)
        law_of_delay = delay_of(delay)
        self.means: FloatArray = rewards.means
        self.delay: Delay | None = law_of_delay
        self.feedback = choice("feedback", feedback, SETTING.modes)
        self._law: type = rewards.law
        drawn, numbers = law_of_delay.law, law_of_delay.samples
        self._values = rewards.values | {
            "kind": drawn.kind,
            "first": drawn.numbers[0],
            "second": drawn.numbers[1],
            "third": drawn.numbers[2],
            "recorded": len(numbers),
            "delays": numbers,
        }

    @classmethod
    def replay(
        cls,
        rewards: Sequence[ArrayLike],
        delays: Sequence[ArrayLike],
        *,
        feedback: str = "anonymous",
    ) -> Self:
        """Make a problem whose arms give back recorded rewards, each with its delay.

        Parameters
        ----------
        rewards : sequence of sequences of float
            The recorded rewards of each arm, in [0, 1]; at least one each.
        delays : sequence of sequences of int
            For each of them its delay in rounds, at least 0.
        feedback : {"anonymous", "named"}, default "anonymous"
            Whether only the sum of what arrives is seen, or each reward and whose it is.

        Returns
        -------
        Problem
            The problem: a pull draws one of the arm's pairs, each equally likely. The means are
            those of the rewards; there is no one law of the delays.

        Raises
        ------
        TypeError, ValueError
            If a value is not allowed.

        Examples
        --------
        >>> problem = Problem.replay([[1, 0, 0, 0], [1, 1]], [[3, 0, 0, 0], [1, 9]])
        >>> problem.means, problem.delay
        (array([0.25, 1.  ]), None)
        """
        if isinstance(rewards, str) or len(rewards) == 0:
            raise ValueError("rewards must have at least one arm, got none")
        if len(delays) != len(rewards):
            raise ValueError(f"delays must have {len(rewards)} arms, got {len(delays)}")
        earned = [vector(f"rewards[{i}]", r, _UNIT) for i, r in enumerate(rewards)]
        waits = [vector(f"delays[{i}]", d, _LENGTH) for i, d in enumerate(delays)]
        for i, (r, d) in enumerate(zip(earned, waits, strict=True)):
            if len(d) != len(r):
                raise ValueError(f"delays[{i}] must have {len(r)} entries, got {len(d)}")
            uneven = np.flatnonzero(d != np.floor(d))
            if len(uneven):
                n = int(uneven[0])
                raise ValueError(f"delays[{i}][{n}] must be a whole number, got {d[n]:g}")
        problem = cls([float(r.mean()) for r in earned], Constant(0), feedback=feedback)
        sizes = np.array([len(r) for r in earned])
        problem.delay = None
        problem._law = RecordedPairs
        problem._values = {
            "means": problem.means,
            "length": int(sizes.sum()),
            "rewards": np.concatenate(earned),
            "delays": np.concatenate(waits),
            "starts": np.cumsum(sizes) - sizes,
            "sizes": sizes,
        }
        return problem

    def __repr__(self) -> str:
        """Return law, means, delay and feedback, shortened."""
        shown = ", ".join(f"{m:g}" for m in self.means[:6]) + (", ..." if self.arms > 6 else "")
        delay = "recorded" if self.delay is None else self.delay
        return f"Problem({self.arms} arms, means=[{shown}], delay={delay}, {self.feedback})"

    @property
    def setting(self) -> Setting:
        """Delayed feedback."""
        return SETTING

    @property
    def arms(self) -> int:
        """How many arms."""
        return len(self.means)

    @property
    def gaps(self) -> FloatArray:
        """How far each mean is below the best, shape (arms,)."""
        return np.asarray(self.means.max() - self.means)

    @property
    def named(self) -> int:
        """Whether a reward that arrives says whose it is, 0 or 1."""
        return SETTING.modes.index(self.feedback)

    @property
    def world(self) -> type[World]:
        """The compiled side of the arms."""
        return WORLDS[self._law, self.feedback == "named"]

    def resized(self, arms: int) -> "Problem":
        """Return a Bernoulli problem of `arms` arms with the same means, over and over."""
        delay = Constant(3) if self.delay is None else self.delay
        return Problem(np.resize(self.means, arms), delay, feedback=self.feedback)

    def truth(self) -> dict[str, Any]:
        """Return what the world reads; no policy sees it."""
        return {
            "arms": self.arms,
            "best": float(self.means.max()),
            "means": self.means,
            **self._values,
        }

    def fact(self, name: str) -> Any:
        """Return what a policy may be told under this name."""
        return getattr(self, name)


def delay_of(value: Delay | Mapping[str, Any]) -> Delay:
    """Return a law of delays, also from how a spec writes it.

    Parameters
    ----------
    value : Delay or mapping
        A law, or its name as ``law`` with its parameters.

    Returns
    -------
    Delay
        The law.

    Raises
    ------
    TypeError, ValueError
        If it is none; the message names the field.

    Examples
    --------
    >>> delay_of({"law": "Uniform", "low": 0, "high": 4})
    Uniform(low=0, high=4)
    """
    if isinstance(value, Delay):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"delay must be a law of delays, got {value!r}")
    law: Delay = _READ("delay", value, Path())
    return law
