"""Thresholding problems on which policies may be tuned."""

from typing import Final

import numpy as np

from keyhole.benchmark.problem import BenchmarkProblem


def spread(low: float, high: float, arms: int) -> list[float]:
    """Return evenly spaced means."""
    return [round(m, 4) for m in np.linspace(low, high, arms)]


PROBLEMS: Final = (
    BenchmarkProblem(
        name="tao-1",
        situation="arms differ",
        title="ten arms, Set-up 1 of Tao et al.",
        problem={
            "means": [0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8],
            "threshold": 0.5,
        },
        horizon=1000,
    ),
    BenchmarkProblem(
        name="fifty-uniform",
        situation="arms differ",
        title="50 arms evenly between .02 and .98",
        problem={"means": spread(0.02, 0.98, 50), "threshold": 0.4},
        horizon=1500,
    ),
    BenchmarkProblem(
        name="threshold-.01",
        situation="arms differ",
        title="30 arms of up to .03, a threshold of .01",
        problem={"means": spread(0.001, 0.03, 30), "threshold": 0.01},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="beta-rewards",
        situation="arms differ",
        title="20 arms with beta rewards (concentration 4)",
        problem={
            "means": spread(0.3, 0.7, 20),
            "threshold": 0.52,
            "distribution": "beta",
            "concentration": 4,
        },
        horizon=1000,
    ),
    BenchmarkProblem(
        name="two-clusters",
        situation="clusters",
        title="ten arms at .49 and 40 at .99",
        problem={"means": [0.49] * 10 + [0.99] * 40, "threshold": 0.5},
        horizon=1500,
    ),
    BenchmarkProblem(
        name="u-shaped",
        situation="clusters",
        title="45 arms near 0, five around the threshold",
        problem={
            "means": [0.001] * 45 + [0.6, 0.55, 0.52, 0.48, 0.45],
            "threshold": 0.5,
        },
        horizon=1500,
    ),
    BenchmarkProblem(
        name="alike",
        situation="many arms alike",
        title="40 arms of .55",
        problem={"means": [0.55] * 40, "threshold": 0.5},
        horizon=2000,
    ),
    BenchmarkProblem(
        name="rare-alike",
        situation="many arms alike",
        title="100 arms of .02, a threshold of .05",
        problem={"means": [0.02] * 100, "threshold": 0.05},
        horizon=5000,
    ),
    BenchmarkProblem(
        name="one-in-1000",
        situation="many arms alike",
        title="one arm of .9 among 1,000 of .3",
        problem={"means": [0.3] * 999 + [0.9], "threshold": 0.5},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="bluebirds",
        situation="crowd labels",
        title="recorded labels of bluebirds, three an item",
        problem={"crowd": "bluebirds"},
        horizon=324,
    ),
    BenchmarkProblem(
        name="ducks",
        situation="crowd labels",
        title="recorded labels of ducks, ten an item",
        problem={"crowd": "ducks"},
        horizon=2400,
    ),
    BenchmarkProblem(
        name="bluebirds-once",
        situation="labels bought once",
        title="labels of bluebirds, each bought once, ten an item",
        problem={"crowd": "bluebirds", "replacement": False},
        horizon=1080,
    ),
)
