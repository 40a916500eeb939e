"""Classical problems on which policies may be tuned."""

from typing import Final

import numpy as np

from keyhole.benchmark.problem import BenchmarkProblem


def spread(low: float, high: float, arms: int) -> list[float]:
    """Return evenly spaced means."""
    return [round(m, 4) for m in np.linspace(low, high, arms)]


PROBLEMS: Final = (
    BenchmarkProblem(
        name="two-arms",
        situation="few arms",
        title="two arms, gap .1",
        problem={"means": [0.5, 0.6]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="gap-.01",
        situation="few arms",
        title="two arms, gap .01",
        problem={"means": [0.5, 0.51]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="ten-arms",
        situation="few arms",
        title="ten arms, one better by .1",
        problem={"means": [0.4] * 9 + [0.5]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="low",
        situation="few arms",
        title="ten arms of .01 to .1 (Garivier and Cappe)",
        problem={"means": [0.05] * 3 + [0.02] * 3 + [0.01] * 3 + [0.1]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="nearly-sure",
        situation="few arms",
        title="six arms of .95 and more",
        problem={"means": [0.95] * 5 + [0.99]},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="fifty-arms",
        situation="many arms",
        title="50 arms, evenly between .1 and .5",
        problem={"means": spread(0.1, 0.5, 50)},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="short",
        situation="many arms",
        title="100 arms, 1,000 rounds",
        problem={"means": spread(0.05, 0.95, 100)},
        horizon=1000,
    ),
    BenchmarkProblem(
        name="beta-rewards",
        situation="rewards in [0, 1]",
        title="eight arms with beta rewards (concentration 4)",
        problem={"means": spread(0.3, 0.7, 8), "distribution": "beta", "concentration": 4},
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="narrow",
        situation="rewards in [0, 1]",
        title="five arms with narrow rewards (concentration 100)",
        problem={"means": spread(0.45, 0.55, 5), "distribution": "beta", "concentration": 100},
        horizon=20_000,
    ),
)
