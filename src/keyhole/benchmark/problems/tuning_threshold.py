"""Threshold problems on which policies may be tuned."""

from typing import Final

from keyhole.benchmark.problem import BenchmarkProblem

_CROSSING: Final = [
    [0.95, 0.9, 0.5, 0.2, 0.1],
    [0.8, 0.75, 0.7, 0.3, 0.15],
    [0.7, 0.65, 0.6, 0.55, 0.5],
]
_STEEP: Final = [[0.9, 0.8, 0.2], [0.7, 0.6, 0.5], [0.85, 0.55, 0.3]]

PROBLEMS: Final = (
    BenchmarkProblem(
        name="crossing",
        situation="censored",
        title="three arms whose survival functions cross",
        problem={"survival": _CROSSING, "feedback": "censored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="rising",
        situation="censored",
        title="three arms, thresholds that rise",
        problem={"survival": _STEEP, "feedback": "censored", "order": "adversarial"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="cyclic",
        situation="censored",
        title="three arms, thresholds in turn",
        problem={"survival": _CROSSING, "feedback": "censored", "order": "cyclic"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="DCA",
        situation="censored",
        title="flights to DCA",
        problem={"flights": "DCA", "feedback": "censored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="deliveries",
        situation="censored",
        title="deliveries by day of the week",
        problem={"deliveries": "day", "feedback": "censored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="falling",
        situation="falling thresholds",
        title="three arms, thresholds that fall",
        problem={"survival": _CROSSING, "feedback": "censored", "order": "optimistic"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="crossing-seen",
        situation="uncensored",
        title="three arms whose survival functions cross, all seen",
        problem={"survival": _CROSSING, "feedback": "uncensored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="SFO-seen",
        situation="uncensored",
        title="flights to SFO, all seen",
        problem={"flights": "SFO", "feedback": "uncensored"},
        horizon=10_000,
    ),
)
