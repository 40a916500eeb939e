"""The sampler of run times has the posterior distribution that its docstring states."""

import math
from statistics import NormalDist

import numpy as np
import pytest

from keyhole.tune.run_arrays import RunArray, RunGains, Trial
from keyhole.tune.run_time_model import (
    OutcomeModel,
    RunTimeModel,
    draw_normals_above,
    normal_cdf,
)

# Configuration, instance, seconds, limit, weight; a run at its limit is censored.
RUNS = [
    (0, 0, 0.5, 9.0, 1.0),
    (0, 1, 3.0, 9.0, 1.0),
    (1, 0, 0.2, 9.0, 1.0),
    (1, 1, 1.0, 1.0, 1.0),
    (1, 0, 0.3, 9.0, 0.4),
    (2, 1, 6.0, 9.0, 1.0),
    (2, 0, 2.0, 2.0, 1.0),
]
FEATURES = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])  # of the three configurations
NORMAL = NormalDist()


def history(runs=RUNS):
    record = RunArray(cutoff=9.0)
    for configuration, instance, seconds, limit, weight in runs:
        outcome = "out of time" if seconds == limit else "ok"
        record.add(Trial(1, configuration, {}, instance, limit), outcome, seconds, weight)
    return record.runs


def log_inverse_gamma(variance, scale):
    return -3.0 * math.log(variance) - scale / variance


def log_posterior(state):
    """Return the log density of a, the first b (the second is -b), beta, mu, and log variances."""
    a, b, beta, mu, logs = state[:3], state[3], state[4:6], state[6], state[7:]
    effects = (b, -b)
    s2, va, vb, v_beta = np.exp(logs)
    _, log_va, log_vb, log_v_beta = logs
    total = log_inverse_gamma(s2, 1.0) + log_inverse_gamma(va, 1.0)
    total += log_inverse_gamma(vb, 3.0) + log_inverse_gamma(v_beta, 0.5)
    total += -((mu - np.log([run[2] for run in RUNS]).mean()) ** 2) / (2 * 9.0)
    total += logs.sum()  # the densities are those of logarithms
    for x, features in zip(a, FEATURES, strict=True):
        total += -((x - mu - features @ beta) ** 2) / (2 * va) - log_va / 2
    total += sum(-(x**2) / (2 * v_beta) - log_v_beta / 2 for x in beta)
    total += -(2 * b * b) / (2 * vb) - log_vb / 2
    for configuration, instance, seconds, limit, weight in RUNS:
        deviation = math.sqrt(s2 / weight)
        score = (math.log(seconds) - a[configuration] - effects[instance]) / deviation
        if seconds == limit:
            total += math.log(max(NORMAL.cdf(-score), 1e-300))
        else:
            total += -score * score / 2 - math.log(deviation)
    return total


def metropolis(count, seed):
    rng = np.random.default_rng(seed)
    state = np.array([0.0] * 10 + [-1.0])
    density = log_posterior(state)
    states = []
    for _ in range(count):
        proposal = state + 0.4 * rng.standard_normal(11)
        proposed_density = log_posterior(proposal)
        if math.log(rng.random()) < proposed_density - density:
            state, density = proposal, proposed_density
        states.append(state)
    return np.array(states[count // 10 :])


@pytest.mark.slow
def test_sweeps_sample_from_the_posterior_that_a_slow_sampler_has():
    model, rng, runs = RunTimeModel(2, 2), np.random.default_rng(1), history()
    draws = []
    for _ in range(8000):
        model.sweep(runs, FEATURES, rng)
        variances = (model.variance, model.configuration_variance, model.instance_variance)
        b = model.instance_effects
        assert abs(b.sum()) < 1e-9
        state = [*model.configuration_effects, b[0], *model.feature_effects, model.mean]
        draws.append([*state, *np.log(variances)])
    reference = metropolis(60_000, 2)[:, :10]
    draws = np.array(draws)
    assert draws.mean(axis=0) == pytest.approx(reference.mean(axis=0), abs=0.2)
    assert draws.std(axis=0) == pytest.approx(reference.std(axis=0), abs=0.2)


def test_effects_are_recovered_although_half_of_the_runs_are_censored():
    rng = np.random.default_rng(3)
    a, b = np.array([0.0, 0.5, 1.0]), rng.standard_normal(40)
    runs = []
    for configuration in range(3):
        for instance in range(40):
            time = math.exp(a[configuration] + b[instance] + 0.3 * rng.standard_normal())
            runs.append((configuration, instance, min(time, 1.5), 1.5, 1.0))
    model = RunTimeModel(40, 3)
    draws = []
    for _ in range(300):
        model.sweep(history(runs), np.eye(3), rng)
        draws.append(model.configuration_effects - model.configuration_effects[0])
    assert np.mean(draws[50:], axis=0) == pytest.approx(a, abs=0.3)


def test_truncated_draws_have_the_moments_of_their_distribution():
    for bound in (-3.0, 0.0, 0.44, 0.46, 6.0):
        draws = draw_normals_above(np.random.default_rng(4), np.full(20_000, bound))
        mean = NORMAL.pdf(bound) / NORMAL.cdf(-bound)
        assert draws.min() > bound
        assert draws.mean() == pytest.approx(mean, abs=0.03)


def test_expected_gains_are_means_of_simulated_gains():
    gains = RunGains(cutoff=2.0, cost_per_second=0.3, cost_of_giving_up=0.2)
    log_means = np.array([-1.0, 0.5])
    times = np.exp(log_means + 0.7 * np.random.default_rng(5).standard_normal((100_000, 2)))
    for chance in (1.0, 0.6):
        is_failed = np.random.default_rng(6).random(times.shape) >= chance
        expected_gains = gains.expected(log_means, 0.7, np.array([0.5, 2.0]), chance)
        for limit, expected in zip((0.5, 2.0), expected_gains, strict=True):
            simulated = gains.of_times(times, is_failed, limit).mean(axis=0)
            assert simulated == pytest.approx(expected, abs=0.01)


def test_the_distribution_function_is_that_of_the_standard_library():
    values = np.linspace(-9, 9, 31).reshape(1, 31)
    assert normal_cdf(values)[0] == pytest.approx([NORMAL.cdf(x) for x in values[0]], abs=1e-15)


def test_chances_of_failure_are_recovered_beside_times():
    rng = np.random.default_rng(7)
    record, chances = RunArray(cutoff=9.0), (0.1, 0.5, 0.9)
    for configuration in range(3):
        for instance in range(60):
            outcome = "failed" if rng.random() < chances[configuration] else "ok"
            # Failures are quick, and tell nothing of the times of successes.
            seconds = 0.01 if outcome == "failed" else math.exp(0.3 * rng.standard_normal())
            record.add(Trial(1, configuration, {}, instance, 9.0), outcome, seconds)
    model = OutcomeModel(60, 3)
    draws = []
    for _ in range(300):
        model.sweep(record.runs, np.eye(3), rng)
        draws.append([*model.success_chances(model.means), *model.means[0]])
    means = np.mean(draws[50:], axis=0)
    assert means[:3] == pytest.approx([0.9, 0.5, 0.1], abs=0.1)
    assert means[3:] == pytest.approx([0.0, 0.0, 0.0], abs=0.5)
