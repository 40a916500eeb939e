"""Problems with late rewards on which policies are judged."""

from typing import Final

from keyhole.benchmark.problem import BenchmarkProblem
from keyhole.benchmark.problems.delay_quantiles import (
    arms_with_delays,
    geometric_delays,
    pareto_delays,
    told_delay,
)
from keyhole.benchmark.problems.drawn_delayed import DRAWN_PROBLEMS

PROBLEMS: Final = (
    BenchmarkProblem(
        name="three-geometric",
        situation="sums",
        title="three arms, gap .1, geometric delays of mean 120",
        problem={
            "means": [0.25, 0.45, 0.55],
            "delay": {"distribution": "Geometric", "expected": 120},
        },
        told=told_delay(120, 800, 14_520),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="high-means",
        situation="sums",
        title="means of .93 and .98, Poisson delays of mean 30",
        problem={"means": [0.93, 0.98], "delay": {"distribution": "Poisson", "expected": 30}},
        told=told_delay(30, 70, 30),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="very-rare",
        situation="sums",
        title="means of .002 and .01, delays of up to 400 rounds",
        problem={
            "means": [0.002, 0.01],
            "delay": {"distribution": "Uniform", "low": 0, "high": 400},
        },
        told=told_delay(200, 400, 13_400),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="twenty-arms",
        situation="sums",
        title="20 arms between .2 and .58, geometric delays of mean 80",
        problem={
            "means": [round(0.2 + 0.02 * (i * 7 % 20), 2) for i in range(20)],
            "delay": {"distribution": "Geometric", "expected": 80},
        },
        told=told_delay(80, 600, 6480),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="lost-packets",
        situation="sums",
        title="gap .2, one reward in ten comes 8,000 rounds late",
        problem={
            "means": [0.5, 0.7],
            "delay": {"distribution": "TwoPoint", "late": 8000, "probability": 0.1},
        },
        told=told_delay(800, 8000, 5.76e6),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="pareto-1.2",
        situation="sums",
        title="delays with a very heavy tail (Pareto 1.2), told 300",
        problem={
            "means": [0.45, 0.6],
            "delay": {"distribution": "Empirical", "samples": pareto_delays(1.2, 60)},
        },
        told=told_delay(300, 30_000, 1e7),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="constant-600",
        situation="sums",
        title="beta rewards, all 600 rounds late",
        problem={
            "means": [0.35, 0.5],
            "distribution": "beta",
            "concentration": 3,
            "delay": {"distribution": "Constant", "rounds": 600},
        },
        told=told_delay(600, 600, 0),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="five-thousand",
        situation="sums",
        title="5,000 rounds, half-normal delays of about 80",
        problem={"means": [0.4, 0.65], "delay": {"distribution": "HalfNormal", "scale": 100}},
        told=told_delay(80, 400, 3600),
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="dengue",
        situation="sums",
        title="recorded reporting delays of dengue, gap .03",
        problem={"means": [0.45, 0.48], "delay": "dengue"},
        told=told_delay(1.74, 26, 1.5),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="shop-30",
        situation="sums",
        title="second orders within 30 days in a shop (CDNOW)",
        problem={"cdnow": 30},
        told=told_delay(9, 30, 80),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="geometric-200-told-20",
        situation="told wrongly",
        title="geometric delays of mean 200, told 20",
        problem={"means": [0.4, 0.6], "delay": {"distribution": "Geometric", "expected": 200}},
        told=told_delay(20, 140, 420),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="poisson-80-told-8",
        situation="told wrongly",
        title="Poisson delays of mean 80, told 8, three arms",
        problem={"means": [0.3, 0.5, 0.65], "delay": {"distribution": "Poisson", "expected": 80}},
        told=told_delay(8, 16, 8),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="packets-told-a-third",
        situation="told wrongly",
        title="one reward in five 3,000 rounds late, told a third",
        problem={
            "means": [0.3, 0.5],
            "delay": {"distribution": "TwoPoint", "late": 3000, "probability": 0.2},
        },
        told=told_delay(200, 1000, 1.6e5),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="geometric-60-told-600",
        situation="told wrongly",
        title="geometric delays of mean 60, told 600",
        problem={"means": [0.2, 0.4], "delay": {"distribution": "Geometric", "expected": 60}},
        told=told_delay(600, 3000, 3.6e5),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="pareto-1.4-told-30",
        situation="told wrongly",
        title="heavy-tailed delays of mean 250 (Pareto 1.4), told 30",
        problem={
            "means": [0.5, 0.65],
            "delay": {"distribution": "Empirical", "samples": pareto_delays(1.4, 100)},
        },
        told=told_delay(30, 1500, 1e4),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="four-arms-by-arm",
        situation="delays differ by arm",
        title="four arms, geometric delays of mean 20 to 500, the best the slowest",
        problem=arms_with_delays(
            [
                (0.2, geometric_delays(20)),
                (0.3, geometric_delays(80)),
                (0.4, geometric_delays(200)),
                (0.6, geometric_delays(500)),
            ]
        ),
        told=told_delay(200, 2500, 1e5),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="worst-1500-late",
        situation="delays differ by arm",
        title="the worse arm is 1,500 rounds late, the best at once",
        problem=arms_with_delays([(0.5, [1500]), (0.7, [0])]),
        told=told_delay(750, 1500, 5.6e5),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="ones-are-late",
        situation="delays differ by arm",
        title="rewards of 1 are late by 150 rounds on average, zeros are not",
        problem=arms_with_delays(
            [(0.35, geometric_delays(150)), (0.55, geometric_delays(150))], prompt_zeros=True
        ),
        told=told_delay(70, 900, 1.6e4),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="best-700-late",
        situation="delays differ by arm",
        title="three arms at once, the best 700 rounds late",
        problem=arms_with_delays([(0.25, [0]), (0.35, [0]), (0.4, [0]), (0.6, [700])]),
        told=told_delay(175, 700, 9.2e4),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="named-six-arms",
        situation="named",
        title="six arms, geometric delays of mean 250",
        problem={
            "means": [0.1, 0.2, 0.25, 0.3, 0.35, 0.45],
            "delay": {"distribution": "Geometric", "expected": 250},
            "feedback": "named",
        },
        told=told_delay(250, 1700, 62_750),
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="named-packets",
        situation="named",
        title="gap .05, one reward in five 1,000 rounds late",
        problem={
            "means": [0.55, 0.6],
            "delay": {"distribution": "TwoPoint", "late": 1000, "probability": 0.2},
            "feedback": "named",
        },
        told=told_delay(200, 1000, 1.6e5),
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="named-shop",
        situation="named",
        title="second orders within 60 days in a shop (CDNOW)",
        problem={"cdnow": 60, "feedback": "named"},
        told=told_delay(20, 60, 260),
        horizon=20_000,
    ),
    *DRAWN_PROBLEMS,
)
