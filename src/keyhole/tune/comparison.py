"""Comparison of the best command and time limit with the longest limit, and with a rival."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.interval import Interval
from keyhole.tune.saved_tune import TOLERANCE

if TYPE_CHECKING:
    from keyhole.tune.saved_tune import SavedTune

_TINY: Final = 1e-9  # seconds; what takes none is compared with it


@dataclass(frozen=True)
class TimeSaved:
    """Time that the recommended pair saves against the best command at the full cut-off.

    That command is `Best.full`. Where the saving is below 0, the recommended pair takes longer.

    Attributes
    ----------
    seconds : Interval
        Seconds a run.
    share : Interval
        The same as a share of the time at the full cut-off.
    """

    seconds: Interval
    share: Interval


def compare_time(tune: "SavedTune") -> TimeSaved:
    """Return the time that the recommended pair saves against the full cut-off.

    Intervals are those of `ValueEstimates.cut_off_seconds`.
    """
    best, spec = tune.best(), tune.spec
    arm, full = spec.names.index(best.arm), spec.names.index(best.full.arm)
    draws = tune.gains.cut_off_seconds
    mine, theirs = draws[:, arm, spec.limits.index(best.limit)], draws[:, full, -1]
    # The means are those that are printed, so that one is the difference of the other two.
    longest = max(best.full.seconds.value, _TINY)
    saved = best.full.seconds.value - best.seconds.value
    share = mine / np.maximum(theirs, _TINY) - 1.0
    return TimeSaved(_around(saved, mine - theirs), _around(saved / longest, share))


def _around(value: float, less: FloatArray) -> Interval:
    """Return a value with the interval of the negative of draws."""
    # The value comes from other draws than the interval, and may lie outside of it.
    found = -Interval.from_draws(less)
    return Interval(value, min(found.low, value), max(found.high, value))


@dataclass(frozen=True)
class Rival:
    """Another pair that is most often the best one where the recommended pair is not.

    Attributes
    ----------
    arm : str
        Name of the command.
    limit : float
        Time limit in seconds.
    runs : int
        How many runs inform its estimates.
    probability : float
        The probability that it is the best pair, and better by more than 1 % of the best reward.
    """

    arm: str
    limit: float
    runs: int
    probability: float


def find_rival(tune: "SavedTune") -> Rival | None:
    """Return the strongest rival of the recommended pair; None if no draw has a better pair."""
    best, spec, gains = tune.best(), tune.spec, tune.gains
    draws = gains.comparison_gains
    chosen = draws[:, spec.names.index(best.arm), spec.limits.index(best.limit)]
    pairs = draws.reshape(len(draws), -1)
    is_better = pairs.max(axis=1) - chosen > TOLERANCE * spec.success.span
    if not is_better.any():
        return None
    counts = np.bincount(pairs[is_better].argmax(axis=1), minlength=pairs.shape[1])
    arm, place = divmod(int(counts.argmax()), len(spec.limits))
    return Rival(
        spec.names[arm],
        spec.limits[place],
        int(gains.run_counts[arm, place]),
        float(counts.max() / len(draws)),
    )
