"""Numbers of a tune's charts: gains by time limit, and how many runs succeed by a time."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.tune.survival import Survival

if TYPE_CHECKING:
    from keyhole.tune.saved_tune import SavedTune

MOST_ARMS: Final = 40
"""At most so many arms are drawn: those with the largest gains."""
_MAX_STEPS: Final = 500


@dataclass(frozen=True)
class GainCurve:
    """Mean gain of an arm by limit with its 95 % interval, for limits with runs."""

    arm: str
    limits: FloatArray
    mean: FloatArray
    low: FloatArray
    high: FloatArray


def gain_curves(tune: "SavedTune") -> list[GainCurve]:
    """Return the curves of the drawn arms (`drawn_arms`), in the order of the spec.

    Limits above the largest one that an arm was run with are left out.
    """
    draws, limits = tune.gains.draws, np.array(tune.spec.limits)
    curves = []
    for number in drawn_arms(tune):
        has_runs = tune.gains.run_counts[number] > 0
        mine = draws[:, number, has_runs]
        low, high = np.quantile(mine, (0.025, 0.975), axis=0)
        curves.append(
            GainCurve(tune.spec.names[number], limits[has_runs], mine.mean(axis=0), low, high)
        )
    return curves


def ordered_gain_curves(tune: "SavedTune") -> list[GainCurve]:
    """Return the curves of gains: the recommended arm first, then that with the largest gain."""
    best = tune.best().arm
    return sorted(
        gain_curves(tune), key=lambda curve: (curve.arm != best, -float(curve.mean.max()))
    )


def drawn_arms(tune: "SavedTune") -> list[int]:
    """Return the indices of the arms with runs; of more than 40, those with the largest gains."""
    counts = tune.gains.run_counts
    found = np.flatnonzero(counts[:, 0] > 0)
    if len(found) > MOST_ARMS:
        means = np.where(counts > 0, tune.gains.draws.mean(axis=0), -np.inf).max(axis=1)
        found = np.sort(found[np.argsort(-means[found], kind="stable")[:MOST_ARMS]])
    return [int(number) for number in found]


def survival_curves(tune: "SavedTune") -> list[tuple[str, Survival]]:
    """Return the survival curve of each drawn arm, with at most 500 steps."""
    names = [tune.spec.names[number] for number in drawn_arms(tune)]
    return [(name, thin_curve(Survival.from_runs(tune.runs_of(name)))) for name in names]


def thin_curve(curve: Survival) -> Survival:
    """Return a curve with at most 500 steps, the first and the last included."""
    steps = len(curve.seconds)
    if steps <= _MAX_STEPS:
        return curve
    # More steps than these cannot be distinguished, and would only make the SVG longer.
    kept = np.unique(np.linspace(0, steps - 1, _MAX_STEPS).round().astype(np.int64))
    names = ("seconds", "share", "low", "high")
    return replace(curve, **{name: getattr(curve, name)[kept] for name in names})


def step_arrays(
    curve: Survival, first: float = 0.0
) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
    """Return times, shares and interval ends, from the time `first` to the largest limit."""
    times = np.concatenate([[first], curve.seconds, [max(curve.last_limit, *curve.seconds, 0.0)]])
    share, low, high = (
        np.concatenate([[1.0], values, values[-1:] if len(values) else [1.0]])
        for values in (curve.share, curve.low, curve.high)
    )
    return times, share, low, high


def cactus_arrays(curve: Survival) -> tuple[FloatArray, FloatArray]:
    """Return shares of runs, and the seconds within which these succeed."""
    seconds = np.concatenate([curve.seconds[:1], curve.seconds])
    return np.concatenate([[0.0], 1.0 - curve.share])[: len(seconds)], seconds


def shortest_time(tune: "SavedTune") -> float:
    """Return the seconds of the fastest success, or the smallest limit if that is shorter."""
    done = [run.seconds for run in tune.runs if run.outcome == "ok" and run.seconds > 0.0]
    return min([*done, tune.spec.limits[0]])
