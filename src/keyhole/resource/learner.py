"""Learner (a policy at work in memory) that chooses what to run, and the limit of the run.

A user asks it before each run for an arm (such as a solver) and a limit at which to stop it, and
tells it the run's reward and consumption (time, say), or that it was stopped.
"""

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyhole.play.learner import Learner as CoreLearner
from keyhole.play.learner_summary import describe_units
from keyhole.play.log_replay import bool_column, float_column, reward_column
from keyhole.validate import Range

_FROM_0: Final = Range(ge=0)


class Learner(CoreLearner):
    """Learner that chooses the arm to run next and the limit of the run.

    A policy makes it: ``RCUCB().learner(arms=10, limits=[0.5, 1.0], cost=..., penalty=...)``.

    Examples
    --------
    >>> from keyhole.resource import RCUCB, Power
    >>> learner = RCUCB().learner(
    ...     arms=1, limits=[0.5, 1.0], cost=Power(slope=0.1), penalty=Power(slope=0.2)
    ... )
    >>> learner.ask()
    (0, 1.0)
    >>> learner.tell(reward=0.8, consumption=0.3)
    >>> learner
    RCUCB(alpha=0.5, gain_range=1) after 1 round, 1 arm, 2 limits up to 1
      best so far: arm 0 with limit 1
      arm 0: 1 run
    """

    names_arms = True

    def ask(self) -> tuple[int, float]:
        """Return the arm to run next, from 0 or its name, and its limit: the same until `tell`."""
        self._ask()
        return self._arm(self._decision["arm"].item()), self._decision["limit"].item()

    def tell(
        self,
        reward: float | None = None,
        consumption: float | None = None,
        *,
        exceeded: bool = False,
    ) -> None:
        """Tell how the run asked for last ended: with a reward, or above its limit.

        Parameters
        ----------
        reward : float or bool, optional
            In [0, 1]; True is 1, False is 0. With a `scale`, a number in its units, as are cost
            and penalty.
        consumption : float, optional
            Consumption of the run: at least 0, at most the limit.
        exceeded : bool, default False
            Whether the run exceeded the limit; if so, reward and consumption are left out.
        """
        self._expect_feedback()
        decision = {"limit": self._decision["limit"].item()}
        feedback = self.vocabulary.parse_feedback(
            {}, decision, reward, consumption, exceeded=exceeded
        )
        for name, view in self._feedback.items():
            view[()] = feedback[name]
        self._tell()

    def replay(
        self,
        arms: ArrayLike,
        limits: ArrayLike,
        rewards: ArrayLike,
        consumptions: ArrayLike,
        exceeded: ArrayLike,
    ) -> int:
        """Replay a log, with the same result as `ask` and `tell` in each round, but faster.

        Policies of this setting learn only from their own decisions: another arm or limit is
        refused. If a row is refused, the learner does not change.

        Parameters
        ----------
        arms : sequence of int
            Arm of each round; its name, if arms have names.
        limits : sequence of float
            Limit of each round.
        rewards, consumptions : sequence of float
            Feedback of each round; ignored where the limit was exceeded.
        exceeded : sequence of bool
            Whether the limit was exceeded.

        Returns
        -------
        int
            Number of rounds.
        """
        run = self._arm_column("arms", arms)
        limit = float_column("limits", limits, _FROM_0, run)
        over = bool_column("exceeded", exceeded, run)
        earned = reward_column("rewards", _unless(over, rewards, self.scale.low), self.scale, run)
        used = float_column("consumptions", _unless(over, consumptions, 0.0), _FROM_0, run)
        if (above := used > limit).any():
            at = int(above.argmax())
            raise ValueError(
                f"consumptions[{at}] must be at most the limit, {limit[at]:g}, got {used[at]:g}"
            )
        return self._replay(
            arm=run, limit=limit, reward=earned, consumption=used, exceeded=over.astype(np.int64)
        )

    def recommend(self) -> tuple[int, float]:
        """Return the pair that the policy considers best so far."""
        pair: tuple[int, float] = self._recommend_in_words()
        return pair

    def _known(self) -> list[str]:
        arms, limits = self.facts["arms"], self.facts["limits"]
        some = "any limit" if self.facts["continuous"] else f"{len(limits)} limits"
        return [
            f"{arms} arm{'' if arms == 1 else 's'}",
            f"{some} up to {limits[-1]:g}",
            *describe_units(self.scale),
        ]


def _unless(exceeded: NDArray[np.bool_], values: ArrayLike, other: float) -> Any:
    """Return a column with a placeholder where the limit was exceeded."""
    found = np.asarray(values)
    return np.where(exceeded, other, found) if found.shape == exceeded.shape else values
