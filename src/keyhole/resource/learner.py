"""A policy at work: ask for an arm and a limit, tell what came back."""

import numpy as np

from keyhole.play.learner import Learner as CoreLearner
from keyhole.validate import Range, number, unit


class Learner(CoreLearner):
    """Decides which arm to run next and when to give up on it.

    Made by a policy: ``RCUCB().learner(arms=10, limits=[0.5, 1.0], cost=..., penalty=...)``.

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

    def ask(self) -> tuple[int, float]:
        """Return the arm to run next, from 0, and its limit: the same until `tell`."""
        self._enter()
        try:
            self._ask()
            return self._decision["arm"].item(), self._decision["limit"].item()
        finally:
            self._leave()

    def tell(
        self,
        reward: float | None = None,
        consumption: float | None = None,
        *,
        exceeded: bool = False,
    ) -> None:
        """Report how the run last asked for ended: with a reward, or above its limit.

        Parameters
        ----------
        reward : float or bool, optional
            In [0, 1]; True is 1, False is 0.
        consumption : float, optional
            What the run consumed: at least 0, at most the limit.
        exceeded : bool, default False
            Whether the run exceeded the limit; reward and consumption are then left out.
        """
        self._enter()
        try:
            self._expect_feedback()
            limit = self._decision["limit"].item()
            values = ended(limit, reward, consumption, exceeded)
            for name, value in zip(self._feedback, values, strict=True):
                self._feedback[name][()] = value
            self._tell()
        finally:
            self._leave()

    def recommend(self) -> tuple[int, float]:
        """Return the pair taken to be the best so far."""
        report = self._recommend()
        return report["best_arm"].item(), report["best_limit"].item()

    def _known(self) -> list[str]:
        arms, limits = self.facts["arms"], self.facts["limits"]
        some = "any limit" if self.facts["continuous"] else f"{len(limits)} limits"
        return [f"{arms} arm{'' if arms == 1 else 's'}", f"{some} up to {limits[-1]:g}"]


def ended(
    limit: float, reward: float | None, consumption: float | None, exceeded: bool
) -> tuple[float, float, int]:
    """Return how a run ended: its reward, its consumption, and whether it exceeded the limit."""
    if not isinstance(exceeded, bool | np.bool_):
        raise TypeError(f"exceeded must be True or False, got {exceeded!r}")
    if exceeded:
        if not (reward is None and consumption is None):
            raise TypeError("reward and consumption must be left out for a run that exceeded")
        return 0.0, 0.0, 1
    if reward is None or consumption is None:
        raise TypeError(
            "tell needs reward and consumption, or exceeded=True for a run above its limit"
        )
    earned = unit("reward", reward)
    used = number("consumption", consumption, Range(ge=0))
    if used > limit:
        raise ValueError(
            f"consumption must be at most the limit, {limit:g}, got {used:g}; "
            "a run above its limit is told as exceeded=True"
        )
    return earned, used, 0
