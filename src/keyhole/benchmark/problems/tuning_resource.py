"""Problems of limited runs on which policies may be tuned."""

from typing import Final

from keyhole.benchmark.problem import BenchmarkProblem

PROBLEMS: Final = (
    BenchmarkProblem(
        name="forests",
        situation="thousands of runs",
        title="random forests on house prices",
        problem={"forests": 8},
        told={"limit": 1.0},
        horizon=2000,
    ),
    BenchmarkProblem(
        name="scattered-15",
        situation="thousands of runs",
        title="15 solvers that differ widely",
        problem={"portfolio": "scattered", "size": 15, "seed": 1},
        told={"limit": 1.0},
        horizon=2000,
    ),
    BenchmarkProblem(
        name="alike-15",
        situation="thousands of runs",
        title="15 solvers that differ little",
        problem={"portfolio": "alike", "size": 15, "seed": 1},
        told={"limit": 1.0},
        horizon=2000,
    ),
    BenchmarkProblem(
        name="lone-31",
        situation="hundreds of runs",
        title="31 solvers, of which one is fast, 500 runs",
        problem={"portfolio": "lone", "size": 31, "seed": 1},
        told={"limit": 1.0},
        horizon=500,
    ),
    BenchmarkProblem(
        name="scattered-8",
        situation="hundreds of runs",
        title="eight solvers that differ widely, 300 runs",
        problem={"portfolio": "scattered", "size": 8, "seed": 2},
        told={"limit": 1.0},
        horizon=300,
    ),
    BenchmarkProblem(
        name="positive",
        situation="rewards that vary",
        title="the paper's PosCorr",
        problem={"replica": "PosCorr"},
        told={"limit": 1.0},
        horizon=5000,
    ),
    BenchmarkProblem(
        name="negative",
        situation="rewards that vary",
        title="the paper's NegCorr",
        problem={"replica": "NegCorr"},
        told={"limit": 1.0},
        horizon=5000,
    ),
    BenchmarkProblem(
        name="low-censoring",
        situation="rewards that vary",
        title="the paper's LowCensoring",
        problem={"replica": "LowCensoring", "limits": "low"},
        told={"limit": 0.55},
        horizon=5000,
    ),
)
