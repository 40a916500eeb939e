"""Problems with late rewards on which policies may be tuned."""

from typing import Final

import numpy as np

from keyhole.benchmark.problem import BenchmarkProblem
from keyhole.benchmark.problems.delay_quantiles import (
    arms_with_delays,
    geometric_delays,
    pareto_delays,
    told_delay,
)

_UP: Final = [0.3, 0.6]  # the best arm last
_DOWN: Final = [0.6, 0.3]


PROBLEMS: Final = (
    BenchmarkProblem(
        name="geometric-50",
        situation="sums",
        title="two arms, gap .3, geometric delays of mean 50",
        problem={"means": _UP, "delay": {"distribution": "Geometric", "expected": 50}},
        told=told_delay(50, 300, 2550),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="gap-.01",
        situation="sums",
        title="two arms, gap .01, Poisson delays of mean 50",
        problem={"means": [0.49, 0.5], "delay": {"distribution": "Poisson", "expected": 50}},
        told=told_delay(50, 100, 50),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="rare",
        situation="sums",
        title="means of .005 and .02, geometric delays of mean 50",
        problem={"means": [0.005, 0.02], "delay": {"distribution": "Geometric", "expected": 50}},
        told=told_delay(50, 300, 2550),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="sure",
        situation="sums",
        title="rewards that are always 0 or always 1, all 200 rounds late",
        problem={"means": [0, 1], "delay": {"distribution": "Constant", "rounds": 200}},
        told=told_delay(200, 200, 0),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="fifty-arms",
        situation="sums",
        title="50 arms, one better by .1, geometric delays of mean 50",
        problem={
            "means": [0.45] * 49 + [0.55],
            "delay": {"distribution": "Geometric", "expected": 50},
        },
        told=told_delay(50, 300, 2550),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="two-points",
        situation="sums",
        title="gap .05, one reward in 20 comes 20,000 rounds late",
        problem={
            "means": [0.35, 0.4],
            "delay": {"distribution": "TwoPoint", "late": 20_000, "probability": 0.05},
        },
        told=told_delay(1000, 20_000, 1.9e7),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="pareto-1.5",
        situation="sums",
        title="delays with a heavy tail (Pareto 1.5), mean about 100",
        problem={
            "means": _UP,
            "delay": {"distribution": "Empirical", "samples": pareto_delays(1.5, 50)},
        },
        told=told_delay(100, 5000, 1e6),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="constant-1000",
        situation="sums",
        title="all rewards 1,000 rounds late, the best arm first",
        problem={"means": _DOWN, "delay": {"distribution": "Constant", "rounds": 1000}},
        told=told_delay(1000, 1000, 0),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="short",
        situation="sums",
        title="2,000 rounds, Poisson delays of mean 50",
        problem={"means": _UP, "delay": {"distribution": "Poisson", "expected": 50}},
        told=told_delay(50, 100, 50),
        horizon=2000,
    ),
    BenchmarkProblem(
        name="mpox",
        situation="sums",
        title="recorded reporting delays of mpox",
        problem={"means": [0.5, 0.6], "delay": "mpox-onset"},
        told=told_delay(12.1, 314, 152),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="shop-90",
        situation="sums",
        title="second orders within 90 days in a shop (CDNOW)",
        problem={"cdnow": 90},
        told=told_delay(29.7, 90, 570),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="told-a-tenth",
        situation="told wrongly",
        title="Poisson delays of mean 50, told 5",
        problem={"means": _UP, "delay": {"distribution": "Poisson", "expected": 50}},
        told=told_delay(5, 10, 5),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="told-ten-times",
        situation="told wrongly",
        title="Poisson delays of mean 50, told 500",
        problem={"means": _UP, "delay": {"distribution": "Poisson", "expected": 50}},
        told=told_delay(500, 1000, 500),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="constant-told-a-tenth",
        situation="told wrongly",
        title="all rewards 1,000 rounds late, told 100, the best arm first",
        problem={"means": _DOWN, "delay": {"distribution": "Constant", "rounds": 1000}},
        told=told_delay(100, 100, 0),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="geometric-500-told-50",
        situation="told wrongly",
        title="geometric delays of mean 500, told 50, the best arm first",
        problem={"means": _DOWN, "delay": {"distribution": "Geometric", "expected": 500}},
        told=told_delay(50, 300, 2550),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="best-is-slow",
        situation="delays differ by arm",
        title="geometric delays of mean 50 and 800, the best arm is the slow one",
        problem=arms_with_delays([(0.3, geometric_delays(50)), (0.6, geometric_delays(800))]),
        told=told_delay(425, 4000, 3e5),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="best-2000-late",
        situation="delays differ by arm",
        title="the best arm's rewards are 2,000 rounds late, the other's come at once",
        problem=arms_with_delays([(0.3, [0]), (0.6, [2000])]),
        told=told_delay(1000, 2000, 1e6),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="worst-is-slow",
        situation="delays differ by arm",
        title="geometric delays of mean 50 and 800, the best arm is the fast one",
        problem=arms_with_delays([(0.3, geometric_delays(800)), (0.6, geometric_delays(50))]),
        told=told_delay(425, 4000, 3e5),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="named-geometric",
        situation="named",
        title="two arms, gap .1, geometric delays of mean 100",
        problem={
            "means": [0.4, 0.5],
            "delay": {"distribution": "Geometric", "expected": 100},
            "feedback": "named",
        },
        told=told_delay(100, 700, 10_100),
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="named-ten-arms",
        situation="named",
        title="ten arms, delays of up to 200 rounds",
        problem={
            "means": [round(m, 2) for m in np.linspace(0.1, 0.55, 10)],
            "delay": {"distribution": "Uniform", "low": 0, "high": 200},
            "feedback": "named",
        },
        told=told_delay(100, 200, 3367),
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="named-mpox",
        situation="named",
        title="recorded reporting delays of mpox",
        problem={"means": [0.5, 0.6], "delay": "mpox-onset", "feedback": "named"},
        told=told_delay(12.1, 314, 152),
        horizon=20_000,
    ),
)
