from dataclasses import replace

import numpy as np
import pytest

from keyhole.tune import SavedTune, Spec
from keyhole.tune.pair_estimates import GainEstimates
from tests.tune.conftest import TABLE
from tests.tune.trial_records import record

LIMITS = np.array([0.01, 0.1, 1.0])


def simulate_runs(rng, means, count, limits):
    """Return runs of both arms with exponential times."""
    runs = []
    for _ in range(count):
        arm = int(rng.integers(2))
        limit, seconds = float(rng.choice(limits)), float(rng.exponential(means[arm]))
        outcome = "ok" if seconds <= limit else "out of time"
        runs.append(record(outcome, min(seconds, limit), limit, ("quick", "slow")[arm]))
    return runs


def true_gains(mean):
    """Return the gains of an arm with exponential times: success rate less mean time."""
    success_rate = 1.0 - np.exp(-LIMITS / mean)
    return success_rate - mean * success_rate


def test_many_runs_determine_the_gains_though_most_are_censored(spec):
    rng = np.random.default_rng(5)
    gains = GainEstimates(spec, simulate_runs(rng, (0.05, 1.0), 6_000, [0.01, 0.1, 1.0]))
    means = gains.draws.mean(axis=0)
    # Some 1,000 runs of each arm with each limit: five standard errors of a share.
    assert np.abs(means - [true_gains(0.05), true_gains(1.0)]).max() < 5 * 0.5 / 1_000**0.5
    assert gains.success_rates.mean(axis=0)[0] == pytest.approx(
        1.0 - np.exp(-LIMITS / 0.05), abs=0.05
    )
    assert gains.seconds.mean(axis=0)[1] == pytest.approx(
        1.0 - np.exp(-LIMITS / 1.0), abs=0.05
    )  # the mean of a time that is cut off


@pytest.mark.slow
def test_intervals_cover_the_truth_as_often_as_stated(spec):
    rng, covered = np.random.default_rng(6), []
    for _ in range(60):
        gains = GainEstimates(spec, simulate_runs(rng, (0.3, 0.6), 120, [0.1, 1.0, 1.0]))
        low, high = np.quantile(gains.draws, (0.025, 0.975), axis=0)
        truth = [true_gains(0.3), true_gains(0.6)]
        covered.append((low <= truth) & (high >= truth))
    shares = np.mean(covered, axis=0)
    # Pooling of the arms narrows the intervals a little; a share of .95 deviates by .028 here.
    assert shares.min() > 0.73
    assert shares.mean() > 0.86


@pytest.mark.parametrize(("outcome", "seconds"), [("out of time", 1.0), ("ok", 0.0)])
@pytest.mark.parametrize(
    ("worth", "scale", "worst"),
    [
        ("PAR2", [0, 1], -1.0),
        ({"cost_per_second": 0.5, "cost_of_giving_up": 2.0}, [0, 1], -2.5),
        ({"cost_per_second": 0.5}, [-3, 5], -3.5),
        ({"cost_per_second": 0.5}, [3, 5], -0.5),
    ],
)
def test_no_interval_exceeds_the_possible_gains(tmp_path, outcome, seconds, worth, scale, worst):
    table = {"arm": [{"name": "quick", "command": "true"}], "limits": 1.0}
    spec = Spec.from_table(table | {"objective": worth, "success": {"scale": scale}})
    most = float(scale[1])
    runs = [record(outcome, seconds, 1.0, reward=most if outcome == "ok" else None)] * 3
    best = SavedTune(tmp_path, spec, [replace(run, id=str(i)) for i, run in enumerate(runs)]).best()
    assert worst <= best.gain.low < best.gain.value < best.gain.high <= most


@pytest.mark.parametrize("count", [5, 20])
def test_intervals_of_an_arm_that_mostly_succeeds_cover_the_truth(count):
    spec = Spec.from_table({"arm": [{"name": "quick", "command": "true"}], "limits": 1.0})
    rng, covered = np.random.default_rng(8), []
    for _ in range(100):
        outcomes = ("ok" if rng.random() < 0.9 else "failed" for _ in range(count))
        runs = [record(outcome, rng.random(), 1.0) for outcome in outcomes]
        low, high = np.quantile(GainEstimates(spec, runs).success_rates[:, 0, 0], (0.025, 0.975))
        covered.append(low <= 0.9 <= high)
    assert np.mean(covered) > 0.8  # five standard errors below .95


def test_quick_runs_under_a_large_limit_are_quick():
    spec = Spec.from_table({"arm": [{"name": "quick", "command": "true"}], "limits": 10.0})
    gains = GainEstimates(
        spec, [record("ok", t, 10.0) for t in (0.0027, 0.003, 0.004, 0.0072, 0.0131)]
    )
    low, high = np.quantile(gains.seconds[:, 0, 0], (0.025, 0.975))
    assert low < 0.01 < high  # five runs say little of the share that never ends


@pytest.mark.slow
def test_many_pairs_have_fewer_draws():
    arm = [{"name": "quick", "command": "true"}]
    arm += [{"name": f"slow {n}", "command": "true"} for n in range(599)]
    spec = Spec.from_table({"arm": arm, "limits": [0.1, 1.0, 2.0, 3.0, 4.0]})
    gains = GainEstimates(spec, [record("ok", 0.05, 1.0)])
    assert gains.draws.shape == (666, 600, 5)


def test_an_arm_that_always_fails_is_worth_nothing(spec):
    runs = [record("failed", 0.001, 1.0, "slow") for _ in range(50)]
    runs += [record("ok", 0.05, 1.0) for _ in range(50)]
    gains = GainEstimates(spec, runs)
    assert gains.draws[:, 1].mean(axis=0) == pytest.approx([0.0, 0.0, 0.0], abs=0.06)
    assert gains.draws[:, 0, 2].mean() == pytest.approx(0.95, abs=0.06)


def test_gains_are_in_the_unit_of_the_reward():
    spec = Spec.from_table(
        TABLE | {"success": {"scale": [-100, 200]}, "objective": {"cost_per_second": 10}}
    )
    runs = [record("ok", 0.5, 1.0, reward=150.0) for _ in range(100)]
    runs += [record("failed", 0.5, 1.0, "slow") for _ in range(100)]
    draws = GainEstimates(spec, runs).draws[:, :, 2].mean(axis=0)
    assert draws == pytest.approx([150 - 5, -100 - 5], abs=8)


def test_the_best_pair_has_a_probability(spec, tmp_path):
    rng = np.random.default_rng(7)
    many_runs = SavedTune(tmp_path, spec, simulate_runs(rng, (0.05, 1.0), 2_000, [1.0])).best()
    assert (many_runs.arm, many_runs.limit, many_runs.full.arm) == ("quick", 1.0, "quick")
    assert many_runs.probability > 0.99
    assert (many_runs.gain_over_full.low, many_runs.gain_over_full.high) == (0.0, 0.0)
    few_runs = SavedTune(tmp_path, spec, simulate_runs(rng, (0.5, 0.5), 20, [1.0])).best()
    assert few_runs.probability < 0.9
    assert few_runs.regret_bound > many_runs.regret_bound


def test_a_learnt_limit_is_compared_with_the_full_cut_off(spec, tmp_path):
    # Half of all runs are done at once, all others never.
    rng = np.random.default_rng(8)
    runs = [
        record("ok", 0.02, 1.0) if rng.random() < 0.5 else record("out of time", 1.0, 1.0)
        for _ in range(400)
    ]
    best = SavedTune(tmp_path, spec, runs).best()
    assert best.limit == 0.1
    assert best.gain_over_full.low > 0.35
    assert best.gain_over_full.high < 0.55
    assert best.runs == 400


def test_without_runs_there_is_no_recommendation(spec, tmp_path):
    with pytest.raises(ValueError, match="nothing has been run yet"):
        SavedTune(tmp_path, spec, []).best()


def test_shrinkage_is_stronger_for_similar_arms():
    names = [f"arm {i}" for i in range(10)]
    spec = Spec.from_table(
        {"arm": [{"name": name, "command": "true"} for name in names], "limits": [1]}
    )

    def first_success_rate(shares):
        """Return the success rate of the first arm, with one successful run, beside the others."""
        runs = [record("ok", 0.5, 1.0, names[0])]
        for name, share in zip(names[1:], shares, strict=True):
            successes = round(40 * share)
            runs += [record("ok", 0.5, 1.0, name) for _ in range(successes)]
            runs += [record("out of time", 1.0, 1.0, name) for _ in range(40 - successes)]
        return GainEstimates(spec, runs).success_rates[:, 0, 0].mean()

    alike, apart = first_success_rate([0.25] * 9), first_success_rate([0.0] * 7 + [1.0, 1.0])
    assert alike == pytest.approx((1 + 16 * 0.25) / 17, abs=0.02)
    assert apart > 0.5
