"""Racing of random configurations on common instances, with adaptive capping."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from keyhole.tune.run_history import SHORTEST, RunGains


@dataclass
class AdaptiveRacing:
    """Race of challengers against the incumbent, on blocks of 1, 2, 4, ... instances.

    A challenger is dropped as soon as it has lost more than the incumbent on the same instances,
    and its runs are capped at the time in which it would. If it has lost less on all instances of
    the incumbent, it is the new incumbent. For each challenger the incumbent is run on one instance
    more. Instances are positions of an order that all share.

    Source: random online adaptive racing of Hutter et al. (2011), Algorithm 3, with the capping of
    Hutter et al. (2009), Section 4.

    Attributes
    ----------
    gains : RunGains
        What a run loses.
    incumbent : int
        Number of the best configuration.
    """

    gains: RunGains
    incumbent: int = 0
    _losses: dict[int, dict[int, float]] = field(default_factory=lambda: {0: {}})
    _blocks: dict[int, int] = field(default_factory=dict)  # sizes, of challengers in the race

    def tell(self, configuration: int, position: int, loss: float) -> None:
        """Take the loss of a configuration at a position of the order of instances."""
        losses = self._losses.setdefault(configuration, {})
        if not losses and configuration != self.incumbent:
            self._blocks[configuration] = 1
        losses[position] = loss
        for challenger in list(self._blocks):
            self._judge(challenger)

    def next(
        self, started: Mapping[int, Set[int]], challenger: int | None, positions: float
    ) -> tuple[int, int, float] | None:
        """Return configuration, position and limit of the next run; None if there is none.

        `started` has the positions of runs of each configuration, also of pending ones,
        `challenger` is the next new configuration, and `positions` is how many there are.
        """
        incumbent_losses = self._losses[self.incumbent]
        for rival, block in self._blocks.items():
            rest = sorted(incumbent_losses.keys() - started[rival])
            if rest and len(started[rival] & incumbent_losses.keys()) < block:
                return rival, rest[0], self._cap(rival)
        incumbent_starts = started.get(self.incumbent, frozenset())
        is_behind = not incumbent_losses or len(incumbent_starts) < len(started)
        if len(incumbent_starts) < positions and (is_behind or challenger is None):
            # Positions of runs that did not count are free again.
            position = min(set(range(len(incumbent_starts) + 1)) - incumbent_starts)
            return self.incumbent, position, self.gains.cutoff
        if challenger is None or not incumbent_losses:
            return None
        return challenger, min(incumbent_losses), self._cap(challenger)

    def _judge(self, challenger: int) -> None:
        incumbent_losses = self._losses[self.incumbent]
        shared_count = len(self._losses[challenger].keys() & incumbent_losses.keys())
        margin = self._margin(challenger)
        has_all = shared_count == len(incumbent_losses)
        if margin < 0.0 or (has_all and margin == 0.0):
            del self._blocks[challenger]
        elif has_all:
            del self._blocks[challenger]
            self.incumbent = challenger
        elif shared_count >= self._blocks[challenger]:
            self._blocks[challenger] *= 2

    def _margin(self, challenger: int) -> float:
        """Return how much a challenger may still lose on its block to equal the incumbent."""
        own_losses = self._losses.get(challenger, {})
        incumbent_losses = self._losses[self.incumbent]
        own_first = sorted(incumbent_losses, key=lambda p: (p not in own_losses, p))
        block = own_first[: self._blocks.get(challenger, 1)]
        return sum(incumbent_losses[p] - own_losses.get(p, 0.0) for p in block)

    def _cap(self, challenger: int) -> float:
        """Return the time in which a challenger would have lost more than the incumbent."""
        cutoff = self.gains.cutoff
        if not self.gains.cost_per_second:
            return cutoff
        margin = self._margin(challenger) / self.gains.cost_per_second
        return min(max(margin, SHORTEST), cutoff)
