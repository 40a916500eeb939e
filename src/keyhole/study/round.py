"""Rounds, where what arrives is learnt when one ends."""

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from keyhole.study.fold import Fold


class Round:
    """The round of the last decision, for policies that learn when it ends.

    What arrives until the next decision belongs to it.
    """

    def __init__(self, fold: "Fold") -> None:
        self._fold = fold
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

    def end(self) -> None:
        """Have the policy learn what arrived in the round, if there was one."""
        if self._arm >= 0:
            fold, before = self._fold, self._fold.told - len(self._pairs)
            fold.mind = fold.mind.end_round(
                fold.rounds, self._arm, self._total, self._pairs, before
            )
            self._arm, self._pairs, self._total = -1, [], 0.0
