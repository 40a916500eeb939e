"""Problems with late rewards, drawn at random, on which policies are judged.

They were drawn after `RegressionUCB` had come to compare delays, which the other problems for
judging may have influenced: means, the number of arms, the kind and the mean of delays, and by what
factor of at most ten policies are told them wrongly.
"""

from typing import Final

from keyhole.benchmark.problem import BenchmarkProblem
from keyhole.benchmark.problems.delay_quantiles import (
    arms_with_delays,
    geometric_delays,
    told_delay,
)

DRAWN_PROBLEMS: Final = (
    BenchmarkProblem(
        name="drawn-two-points",
        situation="sums",
        title="drawn: gap .08, one reward in six 250 rounds late",
        problem={
            "means": [0.17, 0.25],
            "delay": {"distribution": "TwoPoint", "late": 250, "probability": 0.18},
        },
        told=told_delay(45, 250, 9225),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-uniform",
        situation="sums",
        title="drawn: gap .07, delays of up to 1,052 rounds",
        problem={
            "means": [0.83, 0.76],
            "delay": {"distribution": "Uniform", "low": 0, "high": 1052},
        },
        told=told_delay(526, 1052, 92400),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-six-arms",
        situation="sums",
        title="drawn: six arms, half-normal delays of about 13",
        problem={
            "means": [0.53, 0.39, 0.55, 0.45, 0.62, 0.55],
            "delay": {"distribution": "HalfNormal", "scale": 16},
        },
        told=told_delay(13, 64, 93),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-half-normal",
        situation="sums",
        title="drawn: gap .07, half-normal delays of about 80",
        problem={
            "means": [0.43, 0.5],
            "delay": {"distribution": "HalfNormal", "scale": 100},
        },
        told=told_delay(80, 400, 3633),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-told-7464",
        situation="told wrongly",
        title="drawn: nine arms, all rewards 1,009 rounds late, told 7,464",
        problem={
            "means": [0.78, 0.35, 0.69, 0.55, 0.48, 0.55, 0.3, 0.57, 0.61],
            "delay": {"distribution": "Constant", "rounds": 1009},
        },
        told=told_delay(7464, 7464, 0),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-told-195",
        situation="told wrongly",
        title="drawn: nine arms, delays of up to 790 rounds, told half",
        problem={
            "means": [0.52, 0.73, 0.27, 0.69, 0.55, 0.76, 0.7, 0.59, 0.67],
            "delay": {"distribution": "Uniform", "low": 0, "high": 790},
        },
        told=told_delay(195, 389, 12656),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-told-121",
        situation="told wrongly",
        title="drawn: gap .11, Poisson delays of mean 129, told 121",
        problem={
            "means": [0.75, 0.64],
            "delay": {"distribution": "Poisson", "expected": 129},
        },
        told=told_delay(121, 185, 113),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-told-165",
        situation="told wrongly",
        title="drawn: gap .21, three rewards in ten 494 rounds late, told 165",
        problem={
            "means": [0.31, 0.1],
            "delay": {"distribution": "TwoPoint", "late": 494, "probability": 0.31},
        },
        told=told_delay(165, 533, 60874),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-by-arm-three",
        situation="delays differ by arm",
        title="drawn: three arms, geometric delays of mean 63, 29, 156",
        problem=arms_with_delays(
            [
                (0.55, geometric_delays(63)),
                (0.79, geometric_delays(29)),
                (0.58, geometric_delays(156)),
            ]
        ),
        told=told_delay(83, 780, 9600),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-by-arm-two",
        situation="delays differ by arm",
        title="drawn: gap .13, geometric delays of mean 145 and 485",
        problem=arms_with_delays(
            [
                (0.68, geometric_delays(145)),
                (0.81, geometric_delays(485)),
            ]
        ),
        told=told_delay(315, 2425, 157000),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-by-arm-four",
        situation="delays differ by arm",
        title="drawn: four arms, geometric delays of mean 5 to 21",
        problem=arms_with_delays(
            [
                (0.67, geometric_delays(19)),
                (0.64, geometric_delays(5)),
                (0.68, geometric_delays(8)),
                (0.87, geometric_delays(21)),
            ]
        ),
        told=told_delay(13, 105, 280),
        horizon=100_000,
    ),
    BenchmarkProblem(
        name="drawn-by-arm-constant",
        situation="delays differ by arm",
        title="drawn: three arms, 12, 155 and 132 rounds late",
        problem=arms_with_delays(
            [
                (0.6, [12]),
                (0.73, [155]),
                (0.57, [132]),
            ]
        ),
        told=told_delay(100, 775, 4100),
        horizon=100_000,
    ),
)
