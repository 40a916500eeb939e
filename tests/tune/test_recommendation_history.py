import numpy as np

from keyhole.tune import SavedTune, Spec, charts
from keyhole.tune.charts import (
    arm_survival_chart,
    gain_chart,
    history_chart,
    replay_recommendations,
)
from tests.tune.conftest import TABLE
from tests.tune.test_pair_estimates import simulate_runs
from tests.tune.trial_records import record


def test_the_history_ends_with_the_recommendation(spec, tmp_path):
    runs = simulate_runs(np.random.default_rng(4), (0.05, 1.0), 200, [0.1, 1.0])
    tune = SavedTune(tmp_path, spec, runs)
    history, best = replay_recommendations(tune), tune.best()
    counts = [past.runs for past in history]
    assert counts[0] == 1
    assert counts == sorted(set(counts))
    assert (counts[-1], history[-1].gains) == (200, {"recommended": best.gain})
    assert history[-1].name == f"{best.arm} with {best.limit:g} s"
    # The recommendation of the first runs alone, from more draws.
    early = SavedTune(tmp_path, spec, tune.runs[: counts[-2]]).best()
    assert abs(early.gain.value - history[-2].gains["recommended"].value) < 0.02
    assert replay_recommendations(tune) == history


def test_the_history_names_the_last_change(spec, tmp_path):
    runs = [record("failed", 0.01, 1.0), *(record("ok", 0.05, 1.0, "slow") for _ in range(9))]
    tune = SavedTune(tmp_path, spec, runs)
    chart = history_chart(tune, replay_recommendations(tune))
    assert [curve.label for curve in chart.curves] == ["recommended"]
    assert "Recommended: slow with 0.1 s since run 2 of 10" in chart.caption


def test_many_pairs_have_no_history(tmp_path, monkeypatch):
    arm = [{"name": f"arm {n}", "command": "true"} for n in range(45)]
    spec = Spec.from_table({"arm": arm, "limits": [0.1, 1.0]})
    tune = SavedTune(tmp_path, spec, [record("ok", 0.05, 1.0, f"arm {n}") for n in range(41)])
    monkeypatch.setattr(charts, "_MOST_DRAWS", 2 * 400 * 45 * 2 - 1)
    assert [past.runs for past in replay_recommendations(tune)] == [41]
    chart = gain_chart(tune)
    assert len(chart.curves) == 40
    assert "Left out: commands without runs, or below the 40 best." in chart.caption


def test_the_ring_is_around_the_recommended_pair(tmp_path):
    tune = SavedTune(tmp_path, Spec.from_table(TABLE), [record("ok", 0.05, 1.0)] * 3)
    (ring,), best = gain_chart(tune).rings, tune.best()
    assert (ring.x, ring.y) == (best.limit, best.gain.value)


def test_the_gain_chart_has_the_intervals_of_the_tables(tmp_path):
    tune = SavedTune(tmp_path, Spec.from_table(TABLE), [record("ok", 0.05, 1.0)] * 3)
    best = tune.best()
    (curve,) = gain_chart(tune).curves
    point = list(curve.x).index(best.limit)
    assert (curve.low[point], curve.high[point]) == (best.gain.low, best.gain.high)


def test_all_charts_have_the_commands_in_one_order_and_so_in_the_same_colours(tmp_path):
    runs = [record("ok", seconds, 1.0, arm) for arm, seconds in (("quick", 0.5), ("slow", 0.05))]
    tune = SavedTune(tmp_path, Spec.from_table(TABLE), runs)
    charts = [gain_chart(tune), arm_survival_chart(tune)]
    assert [[curve.label for curve in chart.curves] for chart in charts] == [["slow", "quick"]] * 2
