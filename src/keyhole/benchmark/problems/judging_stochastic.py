"""Classical problems on which policies are judged."""

from typing import Final

from keyhole.benchmark.problem import BenchmarkProblem
from keyhole.benchmark.problems.tuning_stochastic import spread

PROBLEMS: Final = (
    BenchmarkProblem(
        name="gap-.05",
        situation="few arms",
        title="two arms, gap .05",
        problem={"means": [0.35, 0.4]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="wide",
        situation="few arms",
        title="three arms, gap .4",
        problem={"means": [0.2, 0.5, 0.9]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="five-close",
        situation="few arms",
        title="five arms within .08",
        problem={"means": [0.7, 0.72, 0.74, 0.76, 0.78]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="very-low",
        situation="few arms",
        title="eight arms of .001 to .008",
        problem={"means": spread(0.001, 0.008, 8)},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="one-good",
        situation="few arms",
        title="one arm of .9 among nine of .2",
        problem={"means": [0.2] * 9 + [0.9]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="thirty-arms",
        situation="many arms",
        title="30 arms, one better by .15",
        problem={"means": [0.3] * 29 + [0.45]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="eighty-arms",
        situation="many arms",
        title="80 arms, evenly between 0 and .8",
        problem={"means": spread(0.0, 0.8, 80)},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="two-hundred-short",
        situation="many arms",
        title="200 arms of .1 to .9, 2,000 rounds",
        problem={"means": spread(0.1, 0.9, 200)},
        horizon=2_000,
    ),
    BenchmarkProblem(
        name="beta-2",
        situation="rewards in [0, 1]",
        title="six arms with beta rewards (concentration 2)",
        problem={"means": spread(0.2, 0.6, 6), "distribution": "beta", "concentration": 2},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="truncated-normal",
        situation="rewards in [0, 1]",
        title="ten arms with truncated normal rewards",
        problem={"means": spread(0.4, 0.6, 10), "distribution": "truncated-normal", "scale": 0.15},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="mixed",
        situation="rewards in [0, 1]",
        title="rewards of 0 or 1 beside narrow ones",
        problem={
            "means": [
                {"distribution": "Bernoulli", "mean": 0.5},
                {"distribution": "Beta", "a": 26, "b": 24},
                {"distribution": "Bernoulli", "mean": 0.45},
                {"distribution": "Beta", "a": 55, "b": 45},
            ]
        },
        horizon=20_000,
    ),
)
