"""The round of the last decision, where feedback belongs to rounds."""

import math
from typing import Any

from keyhole.study.mind import Mind


class Round:
    """The round of the last decision, for policies that learn when it ends.

    What arrives until the next decision belongs to it.
    """

    def __init__(self) -> None:
        self._arm = -1
        self._pairs: list[tuple[int, float]] = []
        self._total = self.all = 0.0

    def kept(self) -> list[Any]:
        """Return all that it knows, as JSON does."""
        return [self._arm, self._pairs, self._total, self.all]

    def resume(self, kept: list[Any]) -> None:
        """Become what `kept` returned."""
        self._arm, pairs, self._total, self.all = kept
        self._pairs = [(int(arm), float(reward)) for arm, reward in pairs]

    def begin(self, arm: int) -> None:
        """Begin the round of a decision."""
        self._arm = arm

    def arrive(self, arm: int, reward: float) -> None:
        """Take a reward whose arm is known."""
        self._pairs.append((arm, reward))
        self.sum_up(reward)

    def sum_up(self, total: float) -> None:
        """Take rewards of which only the sum is known."""
        self._total = math.fsum((self._total, total))
        self.all = math.fsum((self.all, total))

    def end(self, mind: Mind, t: int, told: int) -> Mind:
        """Have the policy learn what arrived in round t, if it has begun; return its mind.

        So many rewards have been told by now.
        """
        if self._arm < 0:
            return mind
        mind = mind.end_round(t, self._arm, self._total, self._pairs, told - len(self._pairs))
        self._arm, self._pairs, self._total = -1, [], 0.0
        return mind
