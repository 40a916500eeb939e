"""The stated probability of a tune, including untried pairs, checked on replayed tunes."""

from functools import cache

import numpy as np
import pytest

from keyhole.pages.figure_files import blank_figure
from keyhole.resource import HazardThompson, HazardUCB, Power, portfolio_problem
from keyhole.tune import SavedTune, Spec, Tuner
from keyhole.tune.summary import summarize
from tests.tune.conftest import Run
from tests.tune.trial_records import record

LIMITS = [0.01, 0.1, 1.0]
TUNES = 50


def spec_of(arms, limits):
    arm = [{"name": f"arm {n}", "command": "true"} for n in range(arms)]
    return Spec.from_table({"arm": arm, "limits": limits})


@pytest.mark.parametrize("limits", [[1.0], LIMITS], ids=["one limit", "three"])
def test_an_arm_that_was_never_run_is_counted(tmp_path, limits):
    runs = [record("ok", 0.3, 1.0, "arm 0") for _ in range(50)]
    alone = SavedTune(tmp_path, spec_of(1, limits), runs).best()
    beside_one_unknown = SavedTune(tmp_path, spec_of(2, limits), runs).best()
    assert alone.probability > 0.9
    assert beside_one_unknown.probability < 0.5
    assert beside_one_unknown.regret_bound > alone.regret_bound


@pytest.mark.parametrize(
    ("pair", "message"),
    [
        (("arm 0", 0), "arm must be a whole number, got 'arm 0'"),
        ((0, 0.1), "limit_index must be a whole number, got 0.1"),
        ((2, 0), r"arm must lie in \[0, 1\], got 2"),
        ((-1, 0), r"arm must lie in \[0, 1\], got -1"),
        ((0, 3), r"limit_index must lie in \[0, 2\], got 3"),
        ((0, -1), r"limit_index must lie in \[0, 2\], got -1"),
    ],
)
def test_a_pair_that_the_tune_lacks_is_refused(tmp_path, pair, message):
    runs = [record("ok", 0.3, 1.0, "arm 0")]
    with pytest.raises((TypeError, ValueError), match=f"^{message}$"):
        SavedTune(tmp_path, spec_of(2, LIMITS), runs).estimate_pair(*pair)


def test_arms_that_hardly_differ_at_the_full_cut_off_are_not_separated(tmp_path):
    runs = []
    for arm, done in (("arm 0", 40), ("arm 1", 39)):
        runs += [record("ok", 0.5, 1.0, arm) for _ in range(done)]
        runs += [record("out of time", 1.0, 1.0, arm) for _ in range(50 - done)]
    tune = SavedTune(tmp_path, spec_of(2, LIMITS), runs)
    best = tune.best()
    assert (best.limit, best.gain_over_full.high) == (1.0, 0.0)
    assert best.gain_over_full.value < 0.0
    assert -0.5 < best.gain_over_full.low < -0.1  # the share done of either is known to some .06
    assert summarize(tune).table[1][0][3] == str(best.gain_over_full)


def test_a_missing_gain_over_the_full_cut_off_is_below_0(tmp_path):
    runs = []
    for number in range(12):  # five of six are done at once, the others never
        runs += [record("ok", 0.05, 1.0, f"arm {number}") for _ in range(5)]
        runs += [record("out of time", 1.0, 1.0, f"arm {number}")]
    tune = SavedTune(tmp_path, spec_of(12, LIMITS), runs)
    assert tune.best().limit == 0.1
    assert tune.best().gain_over_full.value < 0.0


@pytest.mark.parametrize("limits", [[1.0], np.geomspace(0.001, 1, 10).tolist()], ids=len)
def test_the_interval_of_an_arm_that_always_succeeds_covers_the_truth(tmp_path, limits):
    runs = [record("ok", 0.3, 1.0, "arm 0") for _ in range(50)]
    for number in range(1, 6):
        runs += [record("ok", 0.4 + 0.1 * number, 1.0, f"arm {number}") for _ in range(10)]
    best = SavedTune(tmp_path, spec_of(6, limits), runs).best()
    assert best.gain.low < 1.0 - 0.3 <= best.gain.high
    assert best.success_rate.high == 1.0


class Constant:
    """Simulated executor: the command `true SECONDS` takes so many seconds, without waiting."""

    words = "constant"

    def run(self, command, limit, **told):
        seconds = float(command[1])
        if seconds > limit:
            return Run("out of time", limit, code=None, signal=9)
        return Run(seconds=seconds)

    def close(self):
        """Do nothing."""


@pytest.mark.parametrize("order", [1, -1], ids=["as written", "reversed"])
@pytest.mark.parametrize("limits", [[1.0], LIMITS], ids=["one limit", "three"])
def test_a_tune_runs_every_arm_and_finds_the_fastest_wherever_it_stands(tmp_path, limits, order):
    seconds = ([0.3] + [0.35] * 6 + [0.01])[::order]
    arm = [{"name": str(n), "command": ["true", str(s)]} for n, s in enumerate(seconds)]
    spec = Spec.from_table({"arm": arm, "limits": limits})
    tune = Tuner(spec, tmp_path / "out", executors=Constant).run(runs=3 * len(arm))
    assert min(tune.best().runs_of_arms.values()) >= 1
    assert seconds[int(tune.best().arm)] == 0.01


@cache
def scattered(limits):
    return portfolio_problem("scattered", 6, seed=34, limits=list(limits))


def tell_and_record(learner, arm, limit, seconds):
    """Tell a learner the end of a run that would take so many seconds; return its record."""
    if seconds <= limit:
        learner.tell(reward=1.0, consumption=seconds)
        return record("ok", seconds, limit, f"arm {arm}")
    learner.tell(exceeded=True)
    return record("out of time", limit, limit, f"arm {arm}")


def replay(policy, seed, limits, runs):
    """Replay a tune; return its stated probability, and whether two of its claims are true.

    One is that the recommended pair is the best, the other the interval of the gain over the
    full cut-off.
    """
    problem = scattered(tuple(limits))
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(distribution.consumptions) for distribution in problem.distributions]
    learner = policy.learner(
        arms=6, limits=limits, cost=Power(slope=1.0), penalty=Power(slope=1.0), seed=seed
    )
    records, turns = [], [0] * 6
    for _ in range(runs):
        arm, limit = learner.ask()
        seconds, turns[arm] = float(orders[arm][turns[arm]]), turns[arm] + 1
        records.append(tell_and_record(learner, arm, limit, seconds))
    best = SavedTune("", spec_of(6, limits), records).best()
    arm, limit_index = int(best.arm.split()[1]), limits.index(best.limit)
    is_right = problem.gains.max() - problem.gains[arm, limit_index] <= 0.01
    difference = problem.gains[arm, limit_index] - problem.gains[:, -1].max()
    return (
        best.probability,
        is_right,
        best.gain_over_full.low <= difference <= best.gain_over_full.high,
    )


@pytest.mark.slow
@pytest.mark.parametrize("policy", [HazardUCB(), HazardThompson()], ids=repr)
@pytest.mark.parametrize(
    "limits", [[1.0], np.geomspace(0.001, 1, 10).tolist()], ids=["one limit", "ten"]
)
def test_stated_probabilities_are_calibrated_or_conservative(policy, limits):
    results = np.array([replay(policy, seed, limits, 200) for seed in range(TUNES)], dtype=float)
    probability, right, covered = results.mean(axis=0)
    # Five standard errors of a share, at most 1/2 from either side.
    assert right >= probability - 5 * 0.5 / TUNES**0.5
    if len(limits) > 1:
        assert covered >= 0.95 - 5 * (0.05 * 0.95 / TUNES) ** 0.5


def tune_close_arms(policy, seed, runs):
    """Tune arms whose shares differ by .015; return the stated probability, and if it is right."""
    rng = np.random.default_rng(seed)
    shares = rng.permutation(0.75 - 0.015 * np.arange(5))
    times = np.where(rng.random((400, 5)) < shares, rng.exponential(0.2, (400, 5)), 99.0)
    learner = policy.learner(
        arms=5, limits=[1.0], cost=Power(slope=1.0), penalty=Power(slope=1.0), seed=seed
    )
    records = []
    for turn in range(runs):
        arm, _ = learner.ask()
        records.append(tell_and_record(learner, arm, 1.0, float(times[turn, arm])))
    best = SavedTune("", spec_of(5, [1.0]), records).best()
    gains = np.where(times <= 1.0, 1.0 - times, -1.0).mean(axis=0)
    return best.probability, gains.max() - gains[int(best.arm.split()[1])] <= 0.01


@pytest.mark.slow
@pytest.mark.parametrize("policy", [HazardUCB(), HazardThompson()], ids=repr)
def test_probabilities_are_conservative_for_arms_that_hardly_differ(policy):
    tunes = 400
    results = np.array([tune_close_arms(policy, seed, 60) for seed in range(tunes)], dtype=float)
    probability, right = results.mean(axis=0)
    assert right >= probability - 5 * 0.5 / tunes**0.5


def test_the_best_pair_is_printed_in_three_lines(tmp_path):
    tune = SavedTune(tmp_path, spec_of(2, LIMITS), [record("ok", 0.05, 1.0, "arm 0")] * 3)
    lines = repr(tune.best()).splitlines()
    assert str(tune.best()) == repr(tune.best())
    assert lines[0] == "1 of 2 arms not tried yet; best: arm 0 with 0.1 s"
    assert lines[1].startswith("gain: 0.")
    assert lines[2].startswith("probability that no other pair is better by more than 0.01 of a")
    assert len(lines) == 3
    failed = SavedTune(tmp_path, spec_of(1, [1.0]), [record("failed", 0.1, 1.0, "arm 0")]).best()
    assert repr(failed).startswith("no run has succeeded: there is no evidence for any command; ")
    assert len(repr(failed).splitlines()) == 3


def test_a_tune_is_plotted_on_given_axes(tmp_path):
    tune = SavedTune(
        tmp_path, spec_of(3, LIMITS), [record("ok", 0.05, 0.1, f"arm {n}") for n in (0, 2)]
    )
    axes = blank_figure().subplots()
    assert tune.plot(axes=axes) is axes
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert sorted(labels) == ["arm 0", "arm 2"]
    first, _, ring = axes.lines
    assert first.get_xdata().tolist() == [0.01, 0.1]  # no run had the limit of 1 s
    assert ring.get_xdata().tolist() == [tune.best().limit]
    with pytest.raises(ValueError, match="nothing has been run yet"):
        SavedTune(tmp_path, spec_of(1, LIMITS), []).plot()


def test_a_notebook_shows_the_recommendation_the_arms_and_a_picture(tmp_path):
    runs = [record("ok", 0.05 * (n + 1), 1.0, f"arm {n}") for n in range(11)]
    html = SavedTune(tmp_path, spec_of(12, LIMITS), runs)._repr_html_()
    assert "<p>1 of 12 arms not tried yet. best: arm " in html
    assert "Shown are 10 of 12 arms." in html
    assert html.count("<tr>") == 11 + 2
    assert 'src="data:image/svg+xml;base64,' in html
    assert "arm 9" in SavedTune(tmp_path, spec_of(12, LIMITS), [])._repr_html_()
