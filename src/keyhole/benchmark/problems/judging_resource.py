"""Problems of limited runs on which policies are judged."""

from typing import Final

from keyhole.benchmark.problem import BenchmarkProblem

PROBLEMS: Final = (
    BenchmarkProblem(
        name="scattered-12",
        situation="hundreds of runs",
        title="12 solvers that differ widely, 400 runs",
        problem={"portfolio": "scattered", "size": 12, "seed": 11},
        told={"limit": 1.0},
        horizon=400,
    ),
    BenchmarkProblem(
        name="alike-20",
        situation="hundreds of runs",
        title="20 solvers that differ little, 600 runs",
        problem={"portfolio": "alike", "size": 20, "seed": 12},
        told={"limit": 1.0},
        horizon=600,
    ),
    BenchmarkProblem(
        name="lone-15",
        situation="hundreds of runs",
        title="15 solvers, of which one is fast, 300 runs",
        problem={"portfolio": "lone", "size": 15, "seed": 13},
        told={"limit": 1.0},
        horizon=300,
    ),
    BenchmarkProblem(
        name="scattered-30",
        situation="thousands of runs",
        title="30 solvers that differ widely",
        problem={"portfolio": "scattered", "size": 30, "seed": 14},
        told={"limit": 1.0},
        horizon=2_000,
    ),
    BenchmarkProblem(
        name="alike-10",
        situation="thousands of runs",
        title="ten solvers that differ little",
        problem={"portfolio": "alike", "size": 10, "seed": 15},
        told={"limit": 1.0},
        horizon=3_000,
    ),
    BenchmarkProblem(
        name="lone-50",
        situation="thousands of runs",
        title="50 solvers, of which one is fast",
        problem={"portfolio": "lone", "size": 50, "seed": 16},
        told={"limit": 1.0},
        horizon=2_000,
    ),
    BenchmarkProblem(
        name="independent",
        situation="rewards that vary",
        title="the paper's Indep",
        problem={"replica": "Indep"},
        told={"limit": 1.0},
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="forests-4",
        situation="rewards that vary",
        title="random forests on house prices, four limits",
        problem={"forests": 4},
        told={"limit": 1.0},
        horizon=3_000,
    ),
    BenchmarkProblem(
        name="positive-small",
        situation="rewards that vary",
        title="the paper's PosCorr with three limits",
        problem={"replica": "PosCorr", "limits": "small"},
        told={"limit": 0.9},
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="promises",
        situation="rewards that vary",
        title="the paper's three models, a promise that is soft",
        problem={"three_models": "soft"},
        told={"limit": 1.2},
        horizon=2_000,
    ),
)
