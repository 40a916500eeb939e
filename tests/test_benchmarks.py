"""The benchmarks run, and their yardsticks do the same work as Keyhole."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import thresholding_yardsticks as yardsticks
from benchmarks.thresholding import POLICIES, SETUP1
from keyhole import simulate
from keyhole.thresholding import Problem


def test_the_quick_table_has_every_row():
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "--quick"],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    for name in (*POLICIES, "one thread / two", "K = 1,000", "ask + tell", "warm cache", "beta"):
        assert name in done.stdout


@pytest.mark.parametrize("name", ["LSA", "APT", "UCBE", "OptKG", "Uniform"])
def test_yardsticks_do_the_same_work(name):
    replications, horizon = 400, 150
    problem = Problem(means=SETUP1, threshold=0.5)
    curves = simulate(problem, {"it": POLICIES[name]}, horizon=horizon, replications=4000, seed=2)
    mean, error = (
        curves.mean("it", "aggregate_regret"),
        curves.std_error("it", "aggregate_regret"),
    )
    samples = [
        np.array(
            [
                getattr(yardsticks, f"python_{name.lower()}")(SETUP1, horizon, i)
                for i in range(replications)
            ]
        )
    ]
    if name != "OptKG":
        vectorised = getattr(yardsticks, f"numpy_{name.lower()}")
        samples.append(vectorised(SETUP1, horizon, 4000, 0))
    for sample in samples:
        spread = np.hypot(sample.std(ddof=1) / np.sqrt(len(sample)), error[0])
        assert abs(sample.mean() - mean[0]) < 5 * spread
