"""Charts of a tune (gains, run times, recommendations so far), and the numbers that they show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.pages.line_chart import Axis, Curve, LineChart, Ring
from keyhole.tune.grids import label_arms
from keyhole.tune.summary import describe_objective, format_runs, gain_unit
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.value_estimates import Interval, ValueEstimates

if TYPE_CHECKING:
    from keyhole.tune.saved_tune import SavedTune

_NORMAL: Final = 1.959964  # the 97.5 % quantile
MOST_ARMS: Final = 40
"""At most so many arms are drawn: those with the largest gains."""
_MAX_STEPS: Final = 500
HISTORY_DRAWS: Final = 400
"""Posterior draws of each past estimate: fewer than of the present one, since these are many."""
_POINTS: Final = 30
_FEWEST_POINTS: Final = 5
_MOST_DRAWS: Final = 1_500_000  # of all pairs, at all points of the history: half a second
_MOST_COUNTED_RUNS: Final = 100_000  # at all points, if each has half of them: half a second
_PERCENT: Final = 100.0
_MARGIN: Final = 0.9  # of a logarithmic axis of seconds
_LARGE: Final = 335  # height in pixels
_SMALL: Final = 170


@dataclass(frozen=True)
class Survival:
    r"""The share of runs without success within t seconds, after Kaplan and Meier (1958).

    .. math:: \hat S(t) = \prod_{t_j \le t} (1 - d_j / n_j)

    with :math:`d_j` runs that succeeded after :math:`t_j` seconds, of :math:`n_j` runs at risk. A
    run that reached its limit is censored there, and so is a failed run, which would never have
    succeeded. Intervals are Greenwood's, on the scale of :math:`\ln(-\ln S)`.

    Attributes
    ----------
    seconds : ndarray of float64
        The times at which some run succeeded, rising.
    share, low, high : ndarray of float64
        The share without success right after each time, with the ends of its 95 % interval.
    last_limit : float
        The largest limit of any run: the estimate ends there.
    """

    seconds: FloatArray
    share: FloatArray
    low: FloatArray
    high: FloatArray
    last_limit: float

    @classmethod
    def from_runs(cls, runs: Sequence[TrialRecord]) -> Survival:
        """Estimate the curve from the runs of an arm."""
        has_succeeded = np.array([run.outcome == "ok" for run in runs], dtype=bool)
        end_times = np.array([run.seconds if run.outcome == "ok" else run.limit for run in runs])
        times, events = np.unique(end_times[has_succeeded], return_counts=True)
        # At risk at a time are all runs that had neither succeeded nor been censored before it.
        at_risk = len(end_times) - np.searchsorted(np.sort(end_times), times).astype(np.float64)
        share = np.cumprod(1.0 - events / at_risk)
        with np.errstate(divide="ignore", invalid="ignore"):
            spread = np.sqrt(np.cumsum(events / (at_risk * (at_risk - events))))
            reach = _NORMAL * spread / -np.log(share)
            low, high = share ** np.exp(reach), share ** np.exp(-reach)
        is_zero = share <= 0.0  # once all have succeeded, the formula is undefined
        low[is_zero] = 0.0
        high[is_zero] = np.nan
        share, low, high = (np.asarray(end, np.float64) for end in (share, low, high))
        return cls(times, share, low, high, max((run.limit for run in runs), default=0.0))


def drawn_arms(tune: SavedTune) -> list[int]:
    """Return the indices of the arms with runs, that with the largest gain first; at most 40."""
    means = tune.gains.tried_means.max(axis=1)
    order = np.argsort(-means, kind="stable")[:MOST_ARMS]
    return [int(arm) for arm in order if np.isfinite(means[arm])]


def _survival_curves(tune: SavedTune) -> list[tuple[str, Survival]]:
    """Return label and survival curve of each drawn arm, with at most 500 steps."""
    labels, _ = label_arms(tune.spec)
    return [
        (labels[arm], thin_curve(Survival.from_runs(tune.runs_of(tune.spec.names[arm]))))
        for arm in drawn_arms(tune)
    ]


def thin_curve(curve: Survival) -> Survival:
    """Return a curve with at most 500 steps, the first and the last included."""
    steps = len(curve.seconds)
    if steps <= _MAX_STEPS:
        return curve
    # More steps than these cannot be distinguished, and would only make the SVG longer.
    step_indices = np.unique(np.linspace(0, steps - 1, _MAX_STEPS).round().astype(np.int64))
    names = ("seconds", "share", "low", "high")
    return replace(curve, **{name: getattr(curve, name)[step_indices] for name in names})


def _shortest_time(tune: SavedTune) -> float:
    """Return a little less than the fastest success, or the smallest limit if that is shorter."""
    seconds = [run.seconds for run in tune.runs if run.outcome == "ok" and run.seconds > 0.0]
    return min([*seconds, tune.spec.limits[0]]) * _MARGIN


@dataclass(frozen=True)
class PastRecommendation:
    """The pair that was best after the first `runs` runs, with the estimate of its gain then."""

    runs: int
    arm: int
    limit_index: int
    gain: Interval


def replay_recommendations(tune: SavedTune) -> list[PastRecommendation]:
    """Return the recommendation at some 30 points of the log, the last of which is its end.

    Estimates are made anew from the first runs of the log, with `HISTORY_DRAWS` draws; the last one
    is the recommendation itself. The list is empty if there are so many pairs or runs that fewer
    than five points could be replayed in about half a second.
    """
    last = PastRecommendation(len(tune.runs), *tune.gains.best_pair(), tune.best().gain)
    draws = HISTORY_DRAWS * tune.gains.run_counts.size
    points = min(_POINTS, _MOST_DRAWS // draws, 2 * _MOST_COUNTED_RUNS // len(tune.runs))
    if points < _FEWEST_POINTS:
        return []
    counts = np.unique(np.geomspace(1, len(tune.runs), points).round().astype(np.int64))
    return [*(_recommend(tune, int(count)) for count in counts[:-1]), last]


def _recommend(tune: SavedTune, count: int) -> PastRecommendation:
    """Return the recommendation after the first `count` runs."""
    gains = ValueEstimates(tune.spec, tune.runs[:count], most_draws=HISTORY_DRAWS)
    arm, limit_index = gains.best_pair()
    return PastRecommendation(count, arm, limit_index, gains.gain(arm, limit_index))


def gain_chart(tune: SavedTune) -> LineChart:
    """Return the chart of gains by limit and arm, with a ring around the recommended pair."""
    best = tune.best()
    limits = tune.spec.limits
    labels, explanation = label_arms(tune.spec)
    sentences = ["95 % intervals.", describe_objective(tune), explanation]
    return LineChart(
        id="gain-chart",
        x=_seconds_axis("time limit", limits[0] * _MARGIN, limits[-1] / _MARGIN),
        y=Axis(title="gain of a run", unit=gain_unit(tune)),
        curves=[_gain_curve(tune, arm, labels[arm]) for arm in drawn_arms(tune)],
        alt=f"Gain of a run by time limit and command. The largest is that of {best.arm} with "
        f"{best.limit:g} s: {best.gain}.",
        caption=" ".join(filter(None, sentences)) + _describe_left_out(tune),
        rings=[Ring(x=best.limit, y=best.gain.value, label=f"{best.limit:g} s")],
        height=_LARGE,
    )


def _gain_curve(tune: SavedTune, arm: int, label: str) -> Curve:
    """Return the curve of an arm, up to the largest limit that it was run with."""
    has_runs = tune.gains.run_counts[arm] > 0
    draws = tune.gains.draws[:, arm, has_runs]
    low, high = np.quantile(draws, (0.025, 0.975), axis=0)
    return Curve(
        label=label,
        x=np.array(tune.spec.limits)[has_runs].tolist(),
        y=draws.mean(axis=0).tolist(),
        low=low.tolist(),
        high=high.tolist(),
        note=format_runs(int(tune.gains.run_counts[arm, 0])),
    )


def _describe_left_out(tune: SavedTune) -> str:
    """Return the sentences on arms and limits that are not drawn."""
    counts = tune.gains.run_counts
    tried_count = int((counts[:, 0] > 0).sum())
    texts = []
    if untried := tune.best().untried:
        names = ", ".join([*untried[:3], *["..."] * (len(untried) > 3)])
        texts.append(f"Left out, since not tried yet: {names}.")
    if len(drawn_arms(tune)) < tried_count:
        texts.append(f"Of {tried_count:,} commands, the {MOST_ARMS} with the largest gains.")
    if (counts[counts[:, 0] > 0] == 0).any():
        texts.append("A command's curve ends at the largest limit that it was run with.")
    return "".join(f" {text}" for text in texts)


def history_chart(tune: SavedTune, history: list[PastRecommendation]) -> LineChart:
    """Return the chart of the recommended pair over the runs, with its estimated gain then."""
    spec = tune.spec
    labels, _ = label_arms(spec)
    names = [f"{labels[past.arm]}, {spec.limits[past.limit_index]:g} s" for past in history]
    # The pair recommended last comes first, and so has the first colour.
    curves = [_history_curve(name, names, history) for name in dict.fromkeys(reversed(names))]
    # It has been the same since the point after the last one with another recommendation.
    matches = [name == names[-1] for name in names]
    first = max((k + 1 for k, is_same in enumerate(matches) if not is_same), default=0)
    description = f"{names[-1]} since run {history[first].runs:,} of {len(tune.runs):,}"
    return LineChart(
        id="history-chart",
        title="Recommended pair after so many runs",
        x=Axis(title="runs", scale="log"),
        y=Axis(title="gain of a run", unit=gain_unit(tune)),
        curves=curves,
        alt=f"Recommended pair over the runs, with the gain that it was estimated to have then: "
        f"{description}.",
        caption=f"Recommended: {description}. Its gain as estimated then, replayed from the log; "
        "95 % intervals.",
        height=_SMALL,
    )


def _history_curve(name: str, names: list[str], history: list[PastRecommendation]) -> Curve:
    """Return the curve of a pair, with gaps where another one was recommended."""
    # NaN breaks a line, so that the curves of different pairs are not connected.
    gap = Interval(math.nan, math.nan, math.nan)
    pairs = zip(names, history, strict=True)
    gains = [past.gain if past_name == name else gap for past_name, past in pairs]
    return Curve(
        label=name,
        x=[float(past.runs) for past in history],
        y=[gain.value for gain in gains],
        low=[gain.low for gain in gains],
        high=[gain.high for gain in gains],
    )


def survival_chart(tune: SavedTune) -> LineChart:
    """Return the chart of the share of runs without success within t seconds."""
    first = _shortest_time(tune)
    curves = []
    for name, curve in _survival_curves(tune):
        times = [first, *curve.seconds, max(curve.last_limit, *curve.seconds, 0.0)]
        columns = ([1.0, *values] for values in (curve.share, curve.low, curve.high))
        share, low, high = ((_PERCENT * np.array([*c, c[-1]])).tolist() for c in columns)
        x = np.maximum(times, first).tolist()  # a run of 0 s has no place on a logarithmic axis
        curves.append(Curve(label=name, x=x, y=share, low=low, high=high, steps=True))
    return LineChart(
        id="survival-chart",
        x=_seconds_axis("time", first, tune.spec.limits[-1] / _MARGIN),
        y=Axis(title="runs without success", unit="%", low=0.0, high=_PERCENT),
        curves=curves,
        alt="Share of runs without success by time and command.",
        caption="Share of runs without success by a time (Kaplan and Meier), with pointwise 95 % "
        "intervals (Greenwood). A run that reached its limit is censored there; a failed run never "
        "succeeds.",
    )


def cactus_chart(tune: SavedTune) -> LineChart:
    """Return the cactus plot: the seconds within which a share of the runs succeeds."""
    first = _shortest_time(tune)
    curves = []
    for name, curve in _survival_curves(tune):
        # Axes are swapped: from share k - 1 to share k the curve is as high as the time of step k.
        seconds = np.maximum([*curve.seconds, *curve.seconds[-1:]], first).tolist()
        success_percents = (_PERCENT * np.array([0.0, *(1.0 - curve.share)])).tolist()
        curves.append(Curve(label=name, x=success_percents[: len(seconds)], y=seconds, steps=True))
    return LineChart(
        id="cactus-chart",
        x=Axis(title="runs with success", unit="%", low=0.0, high=_PERCENT),
        y=_seconds_axis("time", first, tune.spec.limits[-1] / _MARGIN),
        curves=curves,
        alt="Seconds within which a share of the runs succeeds, by command.",
        caption="Seconds within which a share of the runs succeeds, by arm: the inverse of the "
        "curves of run times. Further right and further down is better.",
    )


def _seconds_axis(title: str, low: float, high: float) -> Axis:
    return Axis(title=title, scale="log", unit="s", low=low, high=high)
