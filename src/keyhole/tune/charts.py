"""Charts of a tune (gains, run times, recommendations so far), and the numbers that they show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.pages.line_chart import Axis, Curve, LineChart, Ring
from keyhole.text_formatting import count_text
from keyhole.tune.held_out_validation import has_outcome_for
from keyhole.tune.pair_estimates import GainEstimates, Interval
from keyhole.tune.recommendation import REFERENCE
from keyhole.tune.saved_tune import AnyTune, SavedSpaceTune, SavedTune
from keyhole.tune.summary import (
    RECOMMENDED,
    describe_objective,
    gain_unit,
    name_configuration,
    summarize,
)
from keyhole.tune.trial_log import TrialRecord
from keyhole.tune.varied_parameters import label_arms

_NORMAL_QUANTILE: Final = 1.959964  # at 97.5 %
_MOST_ARMS: Final = 40
_MAX_STEPS: Final = 500
HISTORY_DRAWS: Final = 400
"""Number of posterior draws for a past estimate: fewer than for the present one, to save time."""
_MOST_POINTS: Final = 20  # in the chart of past recommendations, the history
_MOST_DRAWS: Final = 1_500_000  # for all pairs and points of the history: about half a second
# All points of the history together count at most this many runs, if each counts half of all.
_MOST_COUNTED_RUNS: Final = 100_000  # takes about half a second
_MOST_REPLAYED_RUNS: Final = 40_000  # points times runs, in a parameter space
_LEAST_POINTS: Final = 8  # in the history of a parameter space
_PERCENT: Final = 100.0
_MARGIN: Final = 0.9  # by which an axis of seconds extends beyond the data, as a factor
_LARGE_HEIGHT: Final = 335  # in pixels
_SMALL_HEIGHT: Final = 170


@dataclass(frozen=True)
class Survival:
    r"""The share of runs without success within t seconds, after Kaplan and Meier (1958).

    .. math:: \hat S(t) = \prod_{t_j \le t} (1 - d_j / n_j)

    with :math:`d_j` runs that succeeded after :math:`t_j` seconds, of :math:`n_j` runs at risk. A
    run that reached its limit is censored at the limit. So is a failed run, which would never have
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
            reach = _NORMAL_QUANTILE * spread / -np.log(share)
            low, high = share ** np.exp(reach), share ** np.exp(-reach)
        is_zero = share <= 0.0  # once all have succeeded, the formula is undefined
        low[is_zero] = 0.0
        high[is_zero] = np.nan
        share, low, high = (np.asarray(column, np.float64) for column in (share, low, high))
        return cls(times, share, low, high, max((run.limit for run in runs), default=0.0))


def thin_survival(survival: Survival) -> Survival:
    """Return the curve with at most 500 steps, the first and the last included."""
    step_count = len(survival.seconds)
    if step_count <= _MAX_STEPS:
        return survival
    # More steps cannot be distinguished, and would only make the SVG longer.
    step_indices = np.unique(np.linspace(0, step_count - 1, _MAX_STEPS).round().astype(np.int64))
    names = ("seconds", "share", "low", "high")
    return replace(survival, **{name: getattr(survival, name)[step_indices] for name in names})


def arms_by_gain(tune: SavedTune) -> list[int]:
    """Return the indices of at most 40 arms with runs, the arm with the largest gain first."""
    means = tune.gains.tried_means.max(axis=1)
    order = np.argsort(-means, kind="stable")[:_MOST_ARMS]
    return [int(arm) for arm in order if np.isfinite(means[arm])]


def gain_chart(tune: AnyTune) -> LineChart:
    """Return the chart of gains by limit, with a ring around what is recommended."""
    summary = summarize(tune)
    limit, gain = summary.estimate.limit, summary.estimate.gain
    limits = tune.spec.limits
    sentences = ["95 % intervals.", describe_objective(tune)]
    if isinstance(tune, SavedTune):
        labels, explanation = label_arms(tune.spec)
        curves = [_arm_gain_curve(tune, arm, labels[arm]) for arm in arms_by_gain(tune)]
        sentences.append(explanation)
        if len(curves) < len(labels):
            sentences.append(f"Left out: commands without runs, or below the {_MOST_ARMS} best.")
    else:
        curves = [
            _interval_curve(name, limits[-len(estimate.gains) :], estimate.gains)
            for name, estimate in tune.estimates().items()
            if name != REFERENCE  # already the last point of the default's curve
        ]
    ring = Ring(x=limit, y=gain.value, label=f"{limit:g} s")
    return LineChart(
        id="gain-chart",
        x=_seconds_axis("time limit", limits[0] * _MARGIN, limits[-1] / _MARGIN),
        y=Axis(title="gain of a run", unit=gain_unit(tune)),
        curves=curves,
        alt=f"Gain of a run by time limit. Recommended is {summary.name}: {gain}.",
        caption=" ".join(filter(None, sentences)),
        rings=[ring],
        height=_LARGE_HEIGHT,
    )


def _interval_curve(label: str, x: Sequence[float], intervals: Sequence[Interval]) -> Curve:
    y, low, high = zip(*((i.value, i.low, i.high) for i in intervals), strict=True)
    return Curve(label=label, x=x, y=y, low=low, high=high)


def _arm_gain_curve(tune: SavedTune, arm: int, label: str) -> Curve:
    """Return the curve of an arm, up to the largest limit that it was run with."""
    limit_indices = np.flatnonzero(tune.gains.run_counts[arm]).tolist()
    limits = [tune.spec.limits[index] for index in limit_indices]
    gains = [tune.gains.gain(arm, index) for index in limit_indices]
    curve = _interval_curve(label, limits, gains)
    return replace(curve, note=count_text(int(tune.gains.run_counts[arm, 0]), "run"))


@dataclass(frozen=True)
class PastRecommendation:
    """Recommendation after the first `runs` runs, with the gains that were estimated then."""

    runs: int
    name: str
    gains: dict[str, Interval]


def replay_recommendations(tune: AnyTune) -> list[PastRecommendation]:
    """Return the recommendations at points of the log, at most 20; the last point is its end.

    Each recommendation is computed from the runs before its point. For a list of commands, all but
    the last use `HISTORY_DRAWS` draws. With many pairs or runs, fewer points save time.
    """
    run_count = len(tune.runs)
    if isinstance(tune, SavedTune):
        draw_count = HISTORY_DRAWS * tune.gains.run_counts.size
        points = min(_MOST_POINTS, _MOST_DRAWS // draw_count, 2 * _MOST_COUNTED_RUNS // run_count)
    else:
        points = min(_MOST_POINTS, max(_LEAST_POINTS, _MOST_REPLAYED_RUNS // run_count))
    counts = np.geomspace(run_count, 1, max(points, 1)).round().astype(np.int64)
    return [_recommend_after(tune, count) for count in sorted(set(counts.tolist()))]


def _recommend_after(tune: AnyTune, count: int) -> PastRecommendation:
    is_past = count < len(tune.runs)
    if isinstance(tune, SavedTune):
        gains = tune.gains
        if is_past:
            gains = GainEstimates(tune.spec, tune.runs[:count], most_draws=HISTORY_DRAWS)
        arm, limit_index = gains.best_pair()
        labels, _ = label_arms(tune.spec)
        name = f"{labels[arm]} with {tune.spec.limits[limit_index]:g} s"
        return PastRecommendation(count, name, {RECOMMENDED: gains.gain(arm, limit_index)})
    if is_past:
        tune = SavedSpaceTune(tune.folder, tune.spec, tune.runs[:count])
    best = tune.best()
    name = name_configuration(tune, best.incumbent)
    gains_by_name = {RECOMMENDED: best.incumbent.gain, REFERENCE: best.default_at_cutoff.gain}
    return PastRecommendation(count, name, gains_by_name)


def history_chart(tune: AnyTune, history: Sequence[PastRecommendation]) -> LineChart:
    """Return the chart of the gain of past recommendations, by number of runs."""
    names = [past.name for past in history]
    # The point since which the recommendation has not changed.
    first_point = max((k + 1 for k, name in enumerate(names) if name != names[-1]), default=0)
    description = f"{names[-1]} since run {history[first_point].runs:,} of {len(tune.runs):,}"
    counts = [float(past.runs) for past in history]
    return LineChart(
        id="history-chart",
        title="Recommended after so many runs",
        x=Axis(title="runs", scale="log"),
        y=Axis(title="gain of a run", unit=gain_unit(tune)),
        curves=[
            _interval_curve(label, counts, [past.gains[label] for past in history])
            for label in history[-1].gains
        ],
        alt=f"Gain of what was recommended after so many runs: {description}.",
        caption=f"Recommended: {description}. Gains as estimated then, replayed from the log; "
        "95 % intervals.",
        height=_SMALL_HEIGHT,
    )


def arm_survival_chart(tune: SavedTune) -> LineChart:
    """Return the chart of the share of runs without success within t seconds, by arm."""
    labels, _ = label_arms(tune.spec)
    runs = {labels[arm]: tune.runs_of(tune.spec.names[arm]) for arm in arms_by_gain(tune)}
    return _survival_chart(tune, "survival-chart", runs)


def validation_chart(tune: SavedSpaceTune) -> LineChart:
    """Return the chart of the share of runs without success on instances kept aside."""
    runs = {
        name: [run for run in tune.validation_runs if has_outcome_for(run, estimate)]
        for name, estimate in tune.estimates().items()
        if name != "default"  # its runs are those of the default at the full cut-off
    }
    return _survival_chart(tune, "validation-chart", runs)


def _survival_chart(
    tune: AnyTune, chart_id: str, runs_by_label: Mapping[str, Sequence[TrialRecord]]
) -> LineChart:
    success_times = [
        run.seconds for runs in runs_by_label.values() for run in runs if run.outcome == "ok"
    ]
    # A run of 0 s has no place on a logarithmic axis.
    first = min([tune.spec.limits[0], *filter(None, success_times)]) * _MARGIN
    curves = []
    for label, runs in runs_by_label.items():
        survival = thin_survival(Survival.from_runs(runs))
        times = [first, *survival.seconds, max(survival.last_limit, *survival.seconds, 0.0)]
        columns = ([1.0, *values] for values in (survival.share, survival.low, survival.high))
        share, low, high = ((_PERCENT * np.array([*c, c[-1]])).tolist() for c in columns)
        x = np.maximum(times, first).tolist()
        curves.append(Curve(label=label, x=x, y=share, low=low, high=high, steps=True))
    return LineChart(
        id=chart_id,
        x=_seconds_axis("time", first, tune.spec.limits[-1] / _MARGIN),
        y=Axis(title="runs without success", unit="%", low=0.0, high=_PERCENT),
        curves=curves,
        alt="Share of runs without success by time.",
        caption="Share of runs without success by a time (Kaplan and Meier), with pointwise 95 % "
        "intervals (Greenwood). A run that reached its limit is censored there; a failed run never "
        "succeeds.",
    )


def _seconds_axis(title: str, low: float, high: float) -> Axis:
    return Axis(title=title, scale="log", unit="s", low=low, high=high)
