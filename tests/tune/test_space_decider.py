"""Decisions over a parameter space: a function of the seed and of the runs, in their order."""

import math

import numpy as np
import pytest

from keyhole.tune.parameter_space import ParameterSpace
from keyhole.tune.space_decider import SpaceDecider, SpaceExhaustedError

SPACE = ParameterSpace({
    "speed": {"range": [0, 1], "default": 0.5},
    "mode": {"categories": ["safe", "risky"], "default": "safe"},
    "level": {"ordinals": [1, 2, 3], "default": 1, "when": {"mode": "safe"}},
})  # fmt: skip
SMALL = ParameterSpace({"k": {"ordinals": [1, 2, 3, 4], "default": 2}})
LIMITS = (0.1, 0.3, 1.0)


def make(space=SPACE, instances=6, **options):
    return SpaceDecider(space, LIMITS, instances, **{"seed": 3, "cost_per_second": 1.0, **options})


def outcome(trial):
    """Run a trial: faster with speed; risky ones fail, and instance 5 takes long."""
    draw = np.random.default_rng([trial.configuration, trial.instance]).standard_normal()
    effect = -2.0 * trial.parameters.get("speed", trial.parameters.get("k", 0) / 4)
    seconds = math.exp(effect - 1.0 + 0.5 * draw + (trial.instance == 5))
    if trial.parameters.get("mode") == "risky":
        return "failed", min(0.01, trial.limit)
    return ("ok", seconds) if seconds <= trial.limit else ("out of time", trial.limit)


def play(decider, count):
    log = []
    for _ in range(count):
        trial = decider.ask()
        log.append((trial, *outcome(trial)))
        decider.tell(*log[-1])
    return log


def tell_all(decider, log):
    for run in log:
        decider.tell(*run)


@pytest.mark.parametrize("options", [{}, {"policy": "racing"}, {"instances": 1}])
def test_a_replay_of_any_number_of_runs_goes_on_as_the_original(options):
    log = play(make(**options), 60)
    for count in range(60):
        decider = make(**options)
        tell_all(decider, log[:count])
        assert decider.ask() == log[count][0]


def test_success_on_all_instances_is_no_proof_of_success_on_others():
    decider = make(SMALL, instances=20)
    for _ in range(80):
        decider.tell(decider.ask(), "ok", 0.01)
    estimate = decider.recommend().default_at_cutoff
    rate, gain = estimate.success_rate, estimate.gain
    assert rate.value == rate.high == gain.high == 1.0
    assert rate.low == pytest.approx(0.025 ** (1 / 20))
    assert gain.value - gain.low == pytest.approx(1.0 - rate.low)


@pytest.mark.parametrize(("failures", "reach"), [(0, 0.0), (2, 0.6), (4, 0.6)])
def test_a_lead_by_few_successes_may_be_luck_and_a_lead_by_times_is_none(failures, reach):
    decider = make(SMALL, instances=4)
    for _ in range(16):
        trial = decider.ask()
        is_failed = trial.configuration == 0 and trial.instance < failures
        seconds = 0.09 if trial.configuration == 0 else 0.01
        decider.tell(trial, "failed" if is_failed else "ok", seconds)
    lead = decider.recommend().incumbent.gain_over_default
    assert lead.value > 0.0
    assert (lead.low > 0.0) == (failures != 2)
    assert lead.value - lead.low == pytest.approx(reach, abs=0.01)


@pytest.mark.parametrize("policy", ["model", "racing"])
def test_expired_runs_leave_no_trace(policy):
    log = play(make(policy=policy), 40)
    decider = make(policy=policy)
    for trial, *result in log:
        for pending in [decider.ask() for _ in range(3)]:
            decider.expire(pending)
        again = decider.ask()
        assert (again.configuration, again.instance, again.limit) == (
            trial.configuration, trial.instance, trial.limit,
        )  # fmt: skip
        decider.tell(again, *result)


@pytest.mark.parametrize("policy", ["model", "racing"])
@pytest.mark.parametrize("expires", [False, True])
@pytest.mark.parametrize("repeated_instances", [0, 1, 3])
def test_several_workers_leave_what_the_log_has(policy, expires, repeated_instances):
    options = {"policy": policy}
    if repeated_instances:
        options |= {"is_deterministic": False, "instances": repeated_instances}
    decider = make(**options)
    pending, log = [], []
    for number in range(90):
        pending.append(decider.ask())
        if len(pending) == 4:  # not in the order in which they began
            trial = pending.pop(number % 4)
            if expires and number % 3 == 0:
                decider.expire(trial)
                continue
            log.append((trial, *outcome(trial)))
            decider.tell(*log[-1])
    for trial in pending:
        decider.expire(trial)
    resumed = make(**options)
    tell_all(resumed, log)
    for _ in range(20):
        trial = decider.ask()
        again = resumed.ask()
        assert (again.parameters, again.instance, again.limit) == (
            trial.parameters, trial.instance, trial.limit,
        )  # fmt: skip
        decider.tell(trial, *outcome(trial))
        resumed.tell(again, *outcome(trial))


@pytest.mark.parametrize("policy", ["model", "racing"])
@pytest.mark.parametrize("deterministic", [True, False])
def test_no_pair_is_pending_twice_and_none_of_a_deterministic_command_is_run_twice(
    policy, deterministic
):
    decider = make(policy=policy, is_deterministic=deterministic)
    pending, pairs = [], []
    for _ in range(80):
        trial = decider.ask()
        pending.append(trial)
        pairs.append((trial.configuration, trial.instance))
        if len(pending) == 4:
            decider.tell(pending[0], *outcome(pending.pop(0)))
    assert len(set(pairs)) == len(pairs) or not deterministic
    assert len({trial.round for trial in pending}) == len(pending)


@pytest.mark.parametrize("policy", ["model", "racing"])
def test_the_default_is_first_and_is_run_on_all_instances_while_it_is_in_the_race(policy):
    def worse_than_default(trial):
        return ("ok", 0.05) if trial.configuration == 0 else ("out of time", trial.limit)

    decider = make(policy=policy)
    trials = []
    for _ in range(40):
        trials.append(decider.ask())
        decider.tell(trials[-1], *worse_than_default(trials[-1]))
    assert trials[0].parameters == SPACE.default
    assert {trial.instance for trial in trials if trial.configuration == 0} == set(range(6))
    assert decider.recommend().incumbent.configuration == 0


def test_a_configuration_whose_runs_all_failed_is_not_played_on():
    log = play(make(), 120)
    runs = [trial.configuration for trial, *_ in log if trial.parameters["mode"] == "risky"]
    assert len(runs) > 10
    assert len(set(runs)) == len(runs)


def test_slow_configurations_that_succeed_are_before_fast_ones_that_mostly_fail():
    def slow_or_failed(trial):
        speed = trial.parameters["speed"]
        rng = np.random.default_rng([trial.configuration, trial.instance])
        seconds = 0.3 * math.exp(-2.0 * speed + 0.3 * rng.standard_normal())
        if seconds > trial.limit:
            return "out of time", trial.limit
        return ("failed" if rng.random() < 0.2 + 0.7 * speed else "ok"), seconds

    decider = make(ParameterSpace({"speed": {"range": [0, 1], "default": 0.9}}), 40)
    for _ in range(300):
        trial = decider.ask()
        decider.tell(trial, *slow_or_failed(trial))
    incumbent = decider.recommend().incumbent
    assert incumbent.parameters["speed"] < 0.3
    assert incumbent.gain.value > 0.4


def test_the_default_is_recommended_unless_another_one_leads_by_a_deviation():
    for lead, choices in ((0.0, {0}), (1.0, {1, 2, 3})):
        decider = make(SMALL, instances=30)
        for _ in range(100):
            trial = decider.ask()
            is_other = trial.configuration > 0
            rng = np.random.default_rng([trial.instance, 1])
            log_time = 0.3 * rng.standard_normal() - 1.5
            # The other configurations lead on some instances and lag on others.
            log_time += is_other * (0.5 * (-1) ** trial.instance - lead)
            seconds = min(math.exp(log_time), trial.limit)
            decider.tell(trial, "ok" if seconds < trial.limit else "out of time", seconds)
        assert decider.recommend().incumbent.configuration in choices


def test_a_default_that_always_fails_is_not_recommended():
    decider = make(SMALL, instances=3)
    for _ in range(6):
        trial = decider.ask()
        decider.tell(trial, "ok" if trial.configuration else "failed", trial.limit / 2)
    assert decider.recommend().incumbent.configuration != 0


def test_failures_of_another_tune_keep_few_new_configurations_out():
    failures = [(trial, "failed", 0.01) for trial, *_ in play(make(seed=9), 150)]
    decider = make()
    decider.warm(failures, 0.5)
    count = len(decider.configurations)
    play(decider, 30)
    assert len(decider.configurations) - count >= 5


@pytest.mark.parametrize("policy", ["model", "racing"])
@pytest.mark.parametrize("result", ["failed", "out of time"])
def test_a_tune_without_any_success_goes_on(policy, result):
    decider = make(policy=policy)
    for _ in range(200):
        trial = decider.ask()
        decider.tell(trial, result, 0.001 if result == "failed" else trial.limit)
    assert decider.recommend().incumbent.gain.value <= 0


def test_caps_and_limits_are_of_the_grid_or_below_the_cut_off():
    log = play(make(), 120)
    assert {trial.limit for trial, *_ in log[:10]} <= set(LIMITS)
    assert max(trial.limit for trial, *_ in log) <= 1.0
    assert len({trial.limit for trial, *_ in log}) > 10
    full = play(make(learns_limit=False), 40)
    assert {trial.limit for trial, *_ in full if trial.configuration == 0} == {1.0}


def test_one_deterministic_instance_is_searched_with_runs_capped_at_the_best_time():
    decider = make(instances=1)
    best = 1.0
    for trial, result, seconds in play(decider, 50):
        assert trial.limit <= max(best, 0.001) + 1e-12
        best = min(best, seconds) if result == "ok" else best
    incumbent = decider.recommend().incumbent
    assert incumbent.limit == min(limit for limit in LIMITS if limit >= best)
    assert incumbent.success_rate.low == 1
    assert incumbent.seconds.value == pytest.approx(best)


@pytest.mark.parametrize("policy", ["model", "racing"])
def test_a_small_space_is_exhausted(policy):
    decider = make(SMALL, policy=policy, instances=2)
    with pytest.raises(SpaceExhaustedError, match="nothing is left to be run"):
        play(decider, 100)
    assert len(decider.configurations) == 4
    assert decider.recommend().incumbent.parameters["k"] >= 3


def test_the_recommendation_has_estimates_of_the_default_beside_the_incumbent():
    decider = make()
    with pytest.raises(ValueError, match="needs at least one run"):
        decider.recommend()
    assert decider.effects() == []
    play(decider, 250)
    best = decider.recommend()
    assert best.incumbent.parameters["speed"] > 0.8
    assert best.incumbent.runs == 6
    assert best.incumbent.gain_over_default.low > 0
    assert best.default.configuration == best.default_at_cutoff.configuration == 0
    assert best.default_at_cutoff.limit == 1.0
    assert best.default_at_cutoff.gain_over_default.value == 0
    assert best.default.gain.value >= best.default_at_cutoff.gain.value
    others = {other.configuration for other in best.runners_up}
    assert len(others) == 3
    assert not others & {0, best.incumbent.configuration}
    for estimate in (best.incumbent, best.default, *best.runners_up):
        gain = estimate.success_rate.value - estimate.seconds.value
        assert estimate.gain.value == pytest.approx(gain, abs=1e-9)
        assert estimate.limit in LIMITS


def test_without_limits_to_learn_the_full_cut_off_is_recommended():
    decider = make(learns_limit=False)
    play(decider, 60)
    assert decider.recommend().incumbent.limit == 1.0


def test_effects_show_which_values_are_fast():
    decider = make(ParameterSpace({"speed": {"range": [0, 1], "default": 0.5}}))
    play(decider, 200)
    slow, middle, fast = decider.effects()
    assert (slow.parameter, slow.level) == ("speed", "0 to 0.333333")
    assert slow.configurations + middle.configurations + fast.configurations == len(
        decider.configurations
    )
    assert fast.log_time.high < 0 < slow.log_time.value


def test_a_warm_start_begins_with_what_was_fast_in_the_other_tune():
    log = play(make(seed=9), 150)
    earlier = [trial.parameters for trial, result, _ in log if result == "ok"]
    for policy in ("model", "racing"):
        decider = make(policy=policy, instances=8)
        decider.warm(log, 0.5)
        trials = [trial for trial, *_ in play(decider, 12)]
        assert trials[0].parameters == SPACE.default
        assert max(p["speed"] for t in trials if (p := t.parameters) in earlier) > 0.8
    other_space = make(SMALL)
    with pytest.raises(ValueError, match=r"parameters\.\w+ is not known; known are k"):
        other_space.warm(log, 0.5)
