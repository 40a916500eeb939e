"""Problems of dividing a resource on which policies may be tuned."""

from typing import Final

import numpy as np

from keyhole.benchmark.problem import BenchmarkProblem

_SPREAD: Final = [round(m, 3) for m in np.linspace(0.1, 0.9, 20)]
# Thresholds in no order of the losses.
_MIXED: Final = [round(0.05 + 0.9 * (i * 7 % 20) / 19, 3) for i in range(20)]

PROBLEMS: Final = (
    BenchmarkProblem(
        name="verma-2",
        situation="thresholds differ",
        title="five arms, Instance 2 of Verma et al.",
        problem={
            "mean_losses": [0.9, 0.89, 0.87, 0.58, 0.3],
            "thresholds": [0.7, 0.7, 0.7, 0.6, 0.35],
            "resource": 2.02,
        },
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="twenty-mixed",
        situation="thresholds differ",
        title="20 arms, thresholds from .05 to .95",
        problem={"mean_losses": _SPREAD, "thresholds": _MIXED, "resource": 4},
        horizon=5000,
    ),
    BenchmarkProblem(
        name="tiny-thresholds",
        situation="thresholds differ",
        title="five arms, thresholds of .01 to .03",
        problem={
            "mean_losses": [0.2, 0.35, 0.5, 0.65, 0.8],
            "thresholds": [0.012, 0.027, 0.018, 0.03, 0.022],
            "resource": 0.05,
        },
        horizon=5000,
    ),
    BenchmarkProblem(
        name="rare-losses",
        situation="thresholds differ",
        title="ten arms with losses in .02 to .3 of the rounds",
        problem={
            "mean_losses": [0.02, 0.05, 0.08, 0.11, 0.14, 0.17, 0.2, 0.24, 0.27, 0.3],
            "thresholds": [0.3, 0.15, 0.5, 0.25, 0.6, 0.1, 0.35, 0.45, 0.2, 0.55],
            "resource": 1.7,
        },
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="beyond-the-resource",
        situation="thresholds differ",
        title="two of five thresholds are larger than the resource",
        problem={
            "mean_losses": [0.9, 0.8, 0.5, 0.4, 0.3],
            "thresholds": [0.9, 0.95, 0.3, 0.25, 0.2],
            "resource": 0.6,
        },
        horizon=5000,
    ),
    BenchmarkProblem(
        name="slack-1-percent",
        situation="thresholds differ",
        title="all ten arms can be funded, with 1 % to spare",
        problem={
            "mean_losses": [0.2, 0.27, 0.33, 0.4, 0.47, 0.53, 0.6, 0.67, 0.73, 0.8],
            "thresholds": [0.12, 0.28, 0.17, 0.23, 0.3, 0.14, 0.21, 0.26, 0.19, 0.1],
            "resource": 2.02,
        },
        horizon=5000,
    ),
    BenchmarkProblem(
        name="slack-0",
        situation="thresholds differ",
        title="three thresholds that fill the resource exactly",
        problem={
            "mean_losses": [0.5, 0.6, 0.7],
            "thresholds": [0.2, 0.35, 0.45],
            "resource": 1.0,
        },
        horizon=5000,
    ),
    BenchmarkProblem(
        name="cities",
        situation="thresholds differ",
        title="recorded crime in cities",
        problem={
            "patrols": "cities",
            "thresholds": [0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7],
            "resource": 2,
        },
        horizon=5000,
    ),
    BenchmarkProblem(
        name="verma-20",
        situation="common threshold",
        title="20 arms with a threshold of .55",
        problem={
            "mean_losses": [round(0.25 + 0.02 * k, 2) for k in range(20)],
            "thresholds": 0.55,
            "resource": 7,
        },
        told={"m": 8},
        horizon=5000,
    ),
    BenchmarkProblem(
        name="thirds",
        situation="common threshold",
        title="three arms, a third of the resource each (slack 0)",
        problem={"mean_losses": [0.5, 0.6, 0.7], "thresholds": 1 / 3, "resource": 1.0},
        told={"m": 0},
        horizon=5000,
    ),
    BenchmarkProblem(
        name="boroughs",
        situation="common threshold",
        title="recorded crime in boroughs, a threshold of .5",
        problem={"patrols": "boroughs", "thresholds": 0.5, "resource": 2},
        told={"m": 1},
        horizon=5000,
    ),
)
