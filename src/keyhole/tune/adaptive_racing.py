"""Racing of random configurations on common instances, with adaptive capping."""

from collections.abc import Mapping, Set
from dataclasses import dataclass, field

from keyhole.tune.run_arrays import SHORTEST, RunGains


@dataclass
class AdaptiveRacing:
    """Race of challengers against the incumbent, on blocks of 1, 2, 4, ... instances.

    A challenger is dropped as soon as it has lost more in total than the incumbent has lost on the
    block. Its runs are capped at the time after which it would be dropped. Once it was run on all
    instances of the incumbent, it becomes the incumbent if it has lost less in total, and is
    dropped if not. For each challenger the incumbent is run on one more instance. All
    configurations are run on instances in one order, and a position is an index in this order.

    Source: random online adaptive racing of Hutter et al. (2011), Algorithm 3, with the capping of
    Hutter et al. (2009), Section 4.

    Attributes
    ----------
    gains : RunGains
        Losses of runs, and the full cut-off (the largest limit).
    incumbent : int
        Number of the best configuration.
    """

    gains: RunGains
    incumbent: int = 0
    _losses: dict[int, dict[int, float]] = field(default_factory=lambda: {0: {}})
    _block_sizes: dict[int, int] = field(default_factory=dict)  # of challengers in the race

    def tell(self, configuration: int, position: int, loss: float) -> None:
        """Learn the loss of a configuration at a position."""
        losses = self._losses.setdefault(configuration, {})
        if not losses and configuration != self.incumbent:
            self._block_sizes[configuration] = 1
        losses[position] = loss
        for challenger in list(self._block_sizes):
            self._update_race(challenger)

    def choose_run(
        self, started: Mapping[int, Set[int]], challenger: int | None, position_count: float
    ) -> tuple[int, int, float] | None:
        """Return configuration, position and limit of the next run; None if there is none.

        `started` has the positions of the runs of each configuration, pending runs included.
        `challenger` is the number of the next new configuration.
        """
        incumbent_losses = self._losses[self.incumbent]
        for racer, block_size in self._block_sizes.items():
            open_positions = sorted(incumbent_losses.keys() - started[racer])
            if open_positions and len(started[racer] & incumbent_losses.keys()) < block_size:
                return racer, open_positions[0], self._losing_seconds(racer)
        incumbent_starts = started.get(self.incumbent, frozenset())
        is_behind = not incumbent_losses or len(incumbent_starts) < len(started)
        if len(incumbent_starts) < position_count and (is_behind or challenger is None):
            # The first free position: one whose run did not count is free again.
            position = min(set(range(len(incumbent_starts) + 1)) - incumbent_starts)
            return self.incumbent, position, self.gains.cutoff
        if challenger is None or not incumbent_losses:
            return None
        return challenger, min(incumbent_losses), self._losing_seconds(challenger)

    def _update_race(self, challenger: int) -> None:
        """Drop a challenger, make it the incumbent, or double its block, by its losses."""
        incumbent_losses = self._losses[self.incumbent]
        shared_count = len(self._losses[challenger].keys() & incumbent_losses.keys())
        margin = self._loss_margin(challenger)
        has_all_positions = shared_count == len(incumbent_losses)
        if has_all_positions and margin > 0.0:
            self.incumbent = challenger
        if has_all_positions or margin < 0.0:
            del self._block_sizes[challenger]
        elif shared_count >= self._block_sizes[challenger]:
            self._block_sizes[challenger] *= 2

    def _loss_margin(self, challenger: int) -> float:
        """Return how much more a challenger may lose on its block until it equals the incumbent."""
        losses = self._losses.get(challenger, {})
        incumbent_losses = self._losses[self.incumbent]
        own_positions_first = sorted(incumbent_losses, key=lambda p: (p not in losses, p))
        block = own_positions_first[: self._block_sizes.get(challenger, 1)]
        return sum(incumbent_losses[p] - losses.get(p, 0.0) for p in block)

    def _losing_seconds(self, challenger: int) -> float:
        """Return the time after which a challenger would have lost more than the incumbent."""
        cutoff = self.gains.cutoff
        if not self.gains.cost_per_second:
            return cutoff
        seconds = self._loss_margin(challenger) / self.gains.cost_per_second
        return min(max(seconds, SHORTEST), cutoff)
