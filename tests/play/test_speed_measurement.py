"""How fast a policy is played: the arithmetic, with a clock of its own."""

import math
import os
import subprocess
import sys

import pytest

import keyhole.play.threaded_simulation
from keyhole.play.simulation_plan import Plan
from keyhole.play.threaded_simulation import measure_seconds_per_round
from keyhole.thresholding import LSA, Problem

PROBLEM = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)


def plan_of(horizon):
    return Plan.make(PROBLEM, {"it": LSA()}, horizon=horizon, checkpoints=None, seed=1)


@pytest.fixture
def slow(monkeypatch):
    """Return what makes a policy take a time of its own, and the clock that tells it.

    `spent` is the time by the rounds of one replication that are behind it; what is played at once
    is at the same round.
    """

    class Slow:
        now = 0.0
        calls = ()

        def clock(self):
            return self.now

        def measured(self, spent, horizon, seconds, **options):
            plan = plan_of(horizon)

            def play(plan, label, part, *, threads, report):
                self.calls += ((len(part), threads),)
                together = min(len(part), 8 * threads)
                for group in range(len(part) // together):
                    began = self.now
                    for step in range(1, 101):
                        self.now = began + spent(horizon * step / 100) * together
                        done = group * together * horizon + together * horizon * step // 100
                        report(label, done, len(part) * horizon)

            monkeypatch.setattr(keyhole.play.threaded_simulation, "simulate_replications", play)
            monkeypatch.setattr(keyhole.play.threaded_simulation, "make_simulators", lambda *_: [])
            options = {"replications": 10**6} | options
            return measure_seconds_per_round(plan, "it", seconds, clock=self.clock, **options)

    return Slow()


def test_a_steady_policy_takes_what_it_takes(slow):
    assert slow.measured(lambda t: 1e-6 * t, 1000, 2.0) == pytest.approx(1e-6)
    assert 2.0 <= slow.now < 2.1


def test_a_run_longer_than_the_span_is_measured_by_its_beginning(slow):
    assert slow.measured(lambda t: 1e-6 * t, 10**8, 1.0) == pytest.approx(1e-6)
    assert slow.now < 10.0


def test_a_run_that_gets_slower_is_taken_to_go_on_so(slow):
    found = slow.measured(lambda t: 1e-9 * t**1.5, 10**6, 1.0)
    assert found == pytest.approx(1e-9 * 10**3, rel=0.02)


def test_noise_is_no_slowing_down(slow):
    found = slow.measured(lambda t: 1e-6 * t * (1 + 0.02 * math.sin(t)), 10**8, 1.0)
    assert found == pytest.approx(1e-6, rel=0.05)


@pytest.mark.parametrize(("power", "scale"), [(0.9, 1e-6), (1.1, 1e-8)])
def test_a_run_that_changes_its_speed_a_little_is_taken_to_be_steady(slow, power, scale):
    found = slow.measured(lambda t: scale * t**power, 10**8, 1.0)
    together = 8  # replications of a group
    reached = (slow.now / together / scale) ** (1.0 / power)
    assert 10**6 < reached < 10**7
    assert found == pytest.approx(slow.now / together / reached)


def test_something_is_played_however_long_it_takes(slow):
    assert slow.measured(lambda t: 10.0 * t, 1000, 0.01) == pytest.approx(10.0)


def test_a_policy_of_which_no_round_ends_takes_for_ever(slow, monkeypatch):
    def play(*_, report, **__):
        while True:
            slow.now += 1.0
            report("it", 0, 100)

    monkeypatch.setattr(keyhole.play.threaded_simulation, "simulate_replications", play)
    assert (
        measure_seconds_per_round(plan_of(100), "it", 0.1, replications=8, clock=slow.clock)
        == math.inf
    )
    assert slow.now == 30.0


STUCK = """
from keyhole.play import threaded_simulation
import keyhole.play.threaded_simulation
from keyhole.play.simulation_plan import Plan
from keyhole.thresholding import IndexPolicy, Problem

class Stuck(IndexPolicy):
    def index(p, pulls, total):
        n = 0.0
        while n < 1.0 or pulls > 0.0:
            n += 1.0
        return n

threaded_simulation._STUCK_SECONDS = 0.2
keyhole.play.threaded_simulation._GRACE_SECONDS = 0.2
problem = Problem(means=[0.2, 0.7], threshold=0.5)
plan = Plan.make(problem, {"it": Stuck()}, horizon=50, checkpoints=None, seed=1)
print(threaded_simulation.measure_seconds_per_round(plan, "it", 0.1, replications=8, threads=2))
"""


@pytest.mark.slow
def test_a_process_ends_although_the_kernel_that_it_measured_never_does():
    done = subprocess.run(
        [sys.executable, "-c", STUCK],
        env=os.environ | {"KEYHOLE_INTERPRET": "0"},  # the loop is machine code
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert (done.returncode, done.stdout) == (0, "inf\n")
    assert "a kernel of Stuck() does not return: its thread is abandoned" in done.stderr


def test_few_replications_are_played_in_the_groups_that_they_will_be(slow):
    slow.measured(lambda t: 1e-6 * t, 1000, 1.0, replications=3, threads=2)
    assert set(slow.calls) == {(3, 2)}


def test_many_are_played_in_whole_groups_for_each_thread(slow):
    slow.measured(lambda t: 1e-6 * t, 1000, 1.0, threads=3)
    (calls,) = set(slow.calls)
    assert calls == (984, 3)  # about a million rounds, in groups of 24


def test_a_real_policy_takes_some_time():
    found = measure_seconds_per_round(plan_of(100), "it", 0.01, replications=16)
    assert 1e-10 < found < 1.0
