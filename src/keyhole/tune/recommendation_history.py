"""History of the recommendation of a tune: the estimates that the first runs would have given."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.tune.interval import Interval
from keyhole.tune.value_estimates import ValueEstimates

if TYPE_CHECKING:
    from keyhole.tune.saved_tune import SavedTune

HISTORY_DRAWS: Final = 400
"""Posterior draws of each estimate: fewer than of the recommendation, since there are many."""
_POINTS: Final = 30
_FEWEST_POINTS: Final = 5
_CELLS: Final = 1_500_000  # draws of pairs in all: half a second
_RUNS: Final = 100_000  # runs that are counted in all: half a second


@dataclass(frozen=True)
class PastRecommendation:
    """The pair that was best after the first `runs` runs, with the estimate of its gain then."""

    runs: int
    arm: int
    place: int  # of its limit
    gain: Interval


def replay_recommendations(tune: "SavedTune") -> list[PastRecommendation]:
    """Return the recommendations after some 30 numbers of runs, of which the last is all runs.

    Estimates are made anew from the first runs of the log, with `HISTORY_DRAWS` draws; the last one
    is the recommendation itself. The list is empty if there are so many pairs or runs that fewer
    than five points could be replayed in about half a second.
    """
    best, spec = tune.best(), tune.spec
    last = PastRecommendation(
        len(tune.runs), spec.names.index(best.arm), spec.limits.index(best.limit), best.gain
    )
    cells = HISTORY_DRAWS * len(spec.names) * len(spec.limits)
    points = min(_POINTS, _CELLS // cells, 2 * _RUNS // len(tune.runs))
    if points < _FEWEST_POINTS:
        return []
    counts = np.unique(np.geomspace(1, len(tune.runs), points).round().astype(np.int64))
    return [*(_recommend(tune, int(count)) for count in counts[:-1]), last]


def _recommend(tune: "SavedTune", count: int) -> PastRecommendation:
    """Return the recommendation after the first `count` runs."""
    gains = ValueEstimates(tune.spec, tune.runs[:count], most_draws=HISTORY_DRAWS)
    arm, place = gains.best_pair()
    return PastRecommendation(count, arm, place, gains.gain(arm, place))
