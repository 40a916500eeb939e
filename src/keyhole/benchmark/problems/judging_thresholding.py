"""Thresholding problems on which policies are judged."""

from typing import Final

from keyhole.benchmark.problem import BenchmarkProblem
from keyhole.benchmark.problems.tuning_thresholding import spread

_BOUGHT: Final = [
    [int((i * j * 7 + j * j) % 20 < 20 * m) for j in range(1, 31)]
    for i, m in enumerate(spread(0.15, 0.85, 40), 1)
]

PROBLEMS: Final = (
    BenchmarkProblem(
        name="fifteen",
        situation="arms differ",
        title="15 arms of .1 to .8, a threshold of .35",
        problem={"means": spread(0.1, 0.8, 15), "threshold": 0.35},
        horizon=1_200,
    ),
    BenchmarkProblem(
        name="close",
        situation="arms differ",
        title="20 arms within .1 of the threshold",
        problem={"means": spread(0.51, 0.69, 20), "threshold": 0.6},
        horizon=4_000,
    ),
    BenchmarkProblem(
        name="eighty",
        situation="arms differ",
        title="80 arms of .05 to .95, a threshold of .7",
        problem={"means": spread(0.05, 0.95, 80), "threshold": 0.7},
        horizon=1_600,
    ),
    BenchmarkProblem(
        name="truncated-normal",
        situation="arms differ",
        title="25 arms with truncated normal rewards",
        problem={
            "means": spread(0.35, 0.65, 25),
            "threshold": 0.49,
            "distribution": "truncated-normal",
            "scale": 0.2,
        },
        horizon=500,
    ),
    BenchmarkProblem(
        name="low-threshold",
        situation="arms differ",
        title="25 arms of .002 to .06, a threshold of .02",
        problem={"means": spread(0.002, 0.06, 25), "threshold": 0.02},
        horizon=8_000,
    ),
    BenchmarkProblem(
        name="fifteen-near",
        situation="clusters",
        title="15 arms at .53 and 60 at .05",
        problem={"means": [0.53] * 15 + [0.05] * 60, "threshold": 0.5},
        horizon=2_000,
    ),
    BenchmarkProblem(
        name="both-ends",
        situation="clusters",
        title="30 arms near 0, 30 near 1, six around the threshold",
        problem={
            "means": [0.02] * 30 + [0.98] * 30 + [0.4, 0.44, 0.47, 0.53, 0.57, 0.61],
            "threshold": 0.5,
        },
        horizon=2_000,
    ),
    BenchmarkProblem(
        name="three-clusters",
        situation="clusters",
        title="20 arms each at .1, .45 and .8",
        problem={"means": [0.1] * 20 + [0.45] * 20 + [0.8] * 20, "threshold": 0.5},
        horizon=2_400,
    ),
    BenchmarkProblem(
        name="sixty-alike",
        situation="many arms alike",
        title="60 arms of .44",
        problem={"means": [0.44] * 60, "threshold": 0.5},
        horizon=3_000,
    ),
    BenchmarkProblem(
        name="rare-200",
        situation="many arms alike",
        title="200 arms of .01, a threshold of .03",
        problem={"means": [0.01] * 200, "threshold": 0.03},
        horizon=8_000,
    ),
    BenchmarkProblem(
        name="two-in-500",
        situation="many arms alike",
        title="two arms of .2 among 500 of .7",
        problem={"means": [0.7] * 498 + [0.2, 0.2], "threshold": 0.5},
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="beta-around",
        situation="many arms alike",
        title="100 arms of .55 to .65",
        problem={"means": spread(0.55, 0.65, 100), "threshold": 0.5},
        horizon=3_000,
    ),
    BenchmarkProblem(
        name="polarity",
        situation="crowd labels",
        title="recorded labels of sentiment, two an item",
        problem={"crowd": "sentiment_polarity_amt"},
        horizon=1_000,
    ),
    BenchmarkProblem(
        name="adult-content",
        situation="crowd labels",
        title="recorded labels of adult content, five an item",
        problem={"crowd": "adult_content_hcomp2010"},
        horizon=2_480,
    ),
    BenchmarkProblem(
        name="ducks-once",
        situation="labels bought once",
        title="labels of ducks, each bought once, 12 an item",
        problem={"crowd": "ducks", "replacement": False},
        horizon=2_880,
    ),
    BenchmarkProblem(
        name="forty-once",
        situation="labels bought once",
        title="30 labels each of 40 items, each bought once, 15 an item",
        problem={"samples": _BOUGHT, "threshold": 0.5, "replacement": False},
        horizon=600,
    ),
)
