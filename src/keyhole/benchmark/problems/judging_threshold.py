"""Threshold problems on which policies are judged."""

from typing import Final

from keyhole.benchmark.problem import BenchmarkProblem

_ALIKE: Final = [
    [0.9, 0.78, 0.64, 0.48, 0.3, 0.14],
    [0.92, 0.76, 0.6, 0.5, 0.34, 0.1],
    [0.88, 0.8, 0.66, 0.44, 0.28, 0.18],
    [0.85, 0.74, 0.62, 0.52, 0.36, 0.2],
]
_FAR: Final = [[0.99, 0.98, 0.05], [0.6, 0.5, 0.45], [0.8, 0.3, 0.1], [0.7, 0.65, 0.6]]

PROBLEMS: Final = (
    BenchmarkProblem(
        name="four-alike",
        situation="censored",
        title="four arms that differ little, six levels",
        problem={"survival": _ALIKE, "feedback": "censored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="four-far",
        situation="censored",
        title="four arms that differ much",
        problem={"survival": _FAR, "feedback": "censored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="four-rising",
        situation="censored",
        title="four arms, thresholds that rise",
        problem={"survival": _ALIKE, "feedback": "censored", "order": "adversarial"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="four-cyclic",
        situation="censored",
        title="four arms, thresholds in turn",
        problem={"survival": _FAR, "feedback": "censored", "order": "cyclic"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="ATL",
        situation="censored",
        title="flights to ATL",
        problem={"flights": "ATL", "feedback": "censored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="MCO",
        situation="censored",
        title="flights to MCO",
        problem={"flights": "MCO", "feedback": "censored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="deliveries-by-hour",
        situation="censored",
        title="deliveries by hour",
        problem={"deliveries": "hour", "feedback": "censored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="four-falling",
        situation="falling thresholds",
        title="four arms, thresholds that fall",
        problem={"survival": _ALIKE, "feedback": "censored", "order": "optimistic"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="far-falling",
        situation="falling thresholds",
        title="four arms that differ much, thresholds that fall",
        problem={"survival": _FAR, "feedback": "censored", "order": "optimistic"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="four-seen",
        situation="uncensored",
        title="four arms that differ little, all seen",
        problem={"survival": _ALIKE, "feedback": "uncensored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="LAX-seen",
        situation="uncensored",
        title="flights to LAX, all seen",
        problem={"flights": "LAX", "feedback": "uncensored"},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="deliveries-seen",
        situation="uncensored",
        title="deliveries by distance, all seen",
        problem={"deliveries": "distance", "feedback": "uncensored"},
        horizon=10_000,
    ),
)
