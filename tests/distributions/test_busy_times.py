"""Distributions of durations."""

import numpy as np
import pytest

from keyhole.distributions import Bernoulli, Replay
from keyhole.distributions.busy_times import (
    Constant,
    Consumption,
    Exponential,
    Pareto,
    Scaled,
    parse_duration,
)
from keyhole.draws.streams import WORKERS, stream

DISTRIBUTIONS = [Constant(3), Exponential(2), Pareto(shape=3, mean=2), Replay([1, 2, 6])]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_the_mean_is_that_of_what_is_drawn(distribution):
    rng = stream(3, 0, WORKERS)
    drawn = np.array([distribution.draw(rng, distribution.numbers) for _ in range(20_000)])
    assert drawn.min() >= distribution.least
    assert drawn.mean() == pytest.approx(
        distribution.mean, abs=5 * drawn.std() / 20_000**0.5 + 1e-12
    )


def test_a_heavy_tail_falls_as_a_power():
    distribution, rng = Pareto(shape=1.5), stream(4, 0, WORKERS)
    drawn = np.array([distribution.draw(rng, distribution.numbers) for _ in range(40_000)])
    for x in (1.0, 10.0):
        share = (drawn > x).mean()
        chance = (distribution.least / x) ** 1.5
        assert share == pytest.approx(chance, abs=5 * (chance / 40_000) ** 0.5)


def test_a_factor_follows_the_reward_or_the_arm():
    rng = stream(0, 0, WORKERS)
    by_reward = Scaled(Constant(3), rewards=[1, 2])
    assert [by_reward.draw(rng, by_reward.numbers, r) for r in (0.0, 0.5, 1.0)] == [3, 4.5, 6]
    by_arm = Scaled(Constant(3), arms=[1, 4])
    assert [by_arm.draw(rng, by_arm.numbers, arm) for arm in (0, 1)] == [3, 12]


def test_a_run_takes_what_it_consumes_up_to_its_limit():
    distribution = Consumption()
    assert distribution.draw(limit=2.0, consumption=0.5, exceeded=0) == 0.5
    assert distribution.draw(limit=2.0, consumption=0.0, exceeded=1) == 2.0


def test_distributions_that_share_a_kernel_share_its_machine_code():
    assert Scaled(Exponential(1), arms=[1]).draw is Scaled(Exponential(2), arms=[1, 2]).draw


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ({"distribution": "Exponential"}, "Exponential(mean=1.0)"),
        ({"distribution": "Pareto", "mean": 2}, "Pareto(shape=1.5, mean=2.0)"),
        ({"distribution": "Consumption"}, "Consumption()"),
        (
            {"distribution": "Scaled", "of": {"distribution": "Constant"}, "rewards": [0.2, 2]},
            "Scaled(Constant(length=1.0), rewards=[0.2, 2.0])",
        ),
    ],
)
def test_a_table_says_which(table, expected):
    assert repr(parse_duration(table)) == expected


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Constant(0), "length must be above 0|length must lie"),
        (lambda: Pareto(shape=1), "shape must lie"),
        (lambda: Scaled(), "rewards or arms must be given"),
        (lambda: Scaled(rewards=[1], arms=[1]), "rewards or arms must be given"),
        (lambda: Scaled(rewards=[1]), "rewards must be two factors, got 1"),
        (lambda: Scaled(arms=[-1]), r"arms\[0\] must be at least 0, got -1"),
        (lambda: parse_duration({"distribution": "Exponentail"}), r"did you mean 'Exponential'\?"),
        (lambda: parse_duration(Replay([-1, 1])), "duration must be a distribution of values that"),
        (lambda: parse_duration(3), "duration must be a distribution"),
    ],
)
def test_what_is_not_allowed_is_refused(make, message):
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_other_distributions_serve_too():
    assert parse_duration(Bernoulli(0.5)).mean == 0.5
