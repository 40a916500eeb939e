"""Problems of dividing a resource on which policies are judged."""

from typing import Final

import numpy as np

from keyhole.benchmark.problem import BenchmarkProblem

PROBLEMS: Final = (
    BenchmarkProblem(
        name="seven-mixed",
        situation="thresholds differ",
        title="seven arms, thresholds of .12 to .9",
        problem={
            "mean_losses": [0.15, 0.85, 0.4, 0.65, 0.3, 0.75, 0.5],
            "thresholds": [0.12, 0.9, 0.33, 0.71, 0.2, 0.58, 0.47],
            "resource": 1.6,
        },
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="thirty-arms",
        situation="thresholds differ",
        title="30 arms, thresholds of .05 to .9",
        problem={
            "mean_losses": [round(m, 3) for m in np.linspace(0.05, 0.95, 30)],
            "thresholds": [round(0.05 + 0.85 * (i * 11 % 30) / 29, 3) for i in range(30)],
            "resource": 5,
        },
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="tiny-and-large",
        situation="thresholds differ",
        title="three thresholds of a hundredth beside three of a half",
        problem={
            "mean_losses": [0.6, 0.45, 0.3, 0.7, 0.5, 0.35],
            "thresholds": [0.008, 0.013, 0.011, 0.5, 0.45, 0.55],
            "resource": 0.6,
        },
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="half-beyond",
        situation="thresholds differ",
        title="three of six thresholds are larger than the resource",
        problem={
            "mean_losses": [0.95, 0.7, 0.85, 0.6, 0.45, 0.25],
            "thresholds": [0.8, 0.75, 0.9, 0.4, 0.22, 0.13],
            "resource": 0.7,
        },
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="slack-half-percent",
        situation="thresholds differ",
        title="all eight arms can be funded, with half a per cent to spare",
        problem={
            "mean_losses": [0.3, 0.75, 0.5, 0.25, 0.65, 0.4, 0.55, 0.8],
            "thresholds": [0.31, 0.17, 0.24, 0.4, 0.12, 0.28, 0.2, 0.18],
            "resource": 1.9095,
        },
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="slack-0-of-five",
        situation="thresholds differ",
        title="five thresholds that fill the resource exactly",
        problem={
            "mean_losses": [0.4, 0.55, 0.65, 0.7, 0.8],
            "thresholds": [0.15, 0.3, 0.25, 0.4, 0.1],
            "resource": 1.2,
        },
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="very-rare",
        situation="thresholds differ",
        title="six arms with losses in .005 to .05 of the rounds",
        problem={
            "mean_losses": [0.005, 0.012, 0.02, 0.03, 0.04, 0.05],
            "thresholds": [0.35, 0.2, 0.5, 0.3, 0.4, 0.25],
            "resource": 0.95,
        },
        horizon=20_000,
    ),
    BenchmarkProblem(
        name="sure-and-rare",
        situation="thresholds differ",
        title="losses that are sure beside rare ones",
        problem={
            "mean_losses": [1.0, 1.0, 0.01, 0.02, 0.5, 0.9],
            "thresholds": [0.65, 0.4, 0.15, 0.1, 0.35, 0.55],
            "resource": 1.1,
        },
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="boroughs-mixed",
        situation="thresholds differ",
        title="recorded crime in boroughs, thresholds of .2 to .8",
        problem={
            "patrols": "boroughs",
            "thresholds": [0.2, 0.35, 0.5, 0.65, 0.8] * 4,
            "resource": 3,
        },
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="twelve-at-.7",
        situation="common threshold",
        title="12 arms with a threshold of .7",
        problem={
            "mean_losses": [round(0.1 + 0.07 * k, 2) for k in range(12)],
            "thresholds": 0.7,
            "resource": 4.3,
        },
        told={"m": 6},
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="quarters",
        situation="common threshold",
        title="six arms, of which a quarter of the resource each funds four (slack 0)",
        problem={
            "mean_losses": [0.2, 0.35, 0.5, 0.6, 0.75, 0.9],
            "thresholds": 0.25,
            "resource": 1.0,
        },
        told={"m": 2},
        horizon=5_000,
    ),
    BenchmarkProblem(
        name="rare-at-.4",
        situation="common threshold",
        title="eight arms with losses in .02 to .23 of the rounds, a threshold of .4",
        problem={
            "mean_losses": [0.02, 0.05, 0.08, 0.11, 0.14, 0.17, 0.2, 0.23],
            "thresholds": 0.4,
            "resource": 1.7,
        },
        told={"m": 4},
        horizon=10_000,
    ),
    BenchmarkProblem(
        name="cities-at-.3",
        situation="common threshold",
        title="recorded crime in cities, a threshold of .3",
        problem={"patrols": "cities", "thresholds": 0.3, "resource": 1.3},
        told={"m": 5},
        horizon=5_000,
    ),
)
