"""Recorded times of random configurations, as problems of benchmarks.spaces.

A file of ``benchmarks/recorded`` has the parameters and the full cut-off in its first line, and in
each other one a configuration and its seconds on all instances, negative where a run failed then.
"""

import json
import math
import zlib
from functools import cache
from pathlib import Path

import numpy as np

from keyhole.tune.parameter_space import ParameterSpace, configuration_key

FOLDER = Path(__file__).parent / "recorded"
CONFIGURATIONS = 80
TRAINING = 40


def record(kind, table, cutoff, run):
    """Write the seconds that `run` returns of the default and of random configurations."""
    space = ParameterSpace(table)
    rng = np.random.default_rng(11)
    FOLDER.mkdir(exist_ok=True)
    with path_of(kind).open("w") as file:
        print(json.dumps({"cutoff": cutoff, "parameters": table}), file=file)
        for number in range(CONFIGURATIONS):
            values = space.sample(rng) if number else space.default
            seconds = [round(float(second), 4) for second in run(values)]
            row = {"parameters": values, "seconds": seconds}
            print(json.dumps(row, separators=(",", ":")), file=file, flush=True)


def path_of(kind):
    """Return the path of a recording."""
    return FOLDER / f"{kind}.jsonl"


class RecordedSpace(ParameterSpace):
    """The configurations that were recorded, and no others."""

    def __init__(self, table, rows):
        self.configurations = rows
        super().__init__(table, ())

    def sample(self, rng):
        """Draw a recorded configuration."""
        return self.configurations[int(rng.integers(len(self.configurations)))]


@cache
def read(kind):
    """Return parameters, configurations, and their times in full cut-offs."""
    head, *rows = map(json.loads, path_of(kind).read_text().splitlines())
    times = np.array([row["seconds"] for row in rows]) / head["cutoff"]
    return head["parameters"], [row["parameters"] for row in rows], times


def shuffle(count, seed):
    """Return an order of instances; those that come first are tuned on."""
    return np.random.default_rng(50 + seed).permutation(count)


class RecordedProblem:
    """A recording as it is: 40 instances to tune on, the rest to score on."""

    start = 0.01
    training = TRAINING

    def __init__(self, kind, seed):
        self.kind = kind
        table, configurations, times = read(kind)
        times = times[:, shuffle(times.shape[1], seed)]
        self.space = RecordedSpace(table, configurations)
        self._times = dict(zip(map(configuration_key, configurations), times, strict=True))

    def times(self, values):
        """Return times on all instances; from 1 on the full cut-off is reached."""
        return self._times[configuration_key(values)]


class SurrogateProblem:
    """A recording, and what a forest of scikit-learn says of the configurations between.

    The logarithm of a time is what the forest predicts, and a normal rest, whose deviation is that
    of the instance's recorded times from predictions out of the bag. A run succeeds with the
    chance that the forest predicts.
    """

    start = 0.01
    training = TRAINING

    def __init__(self, kind, seed):
        self.kind = kind
        self.seed = seed
        self._table, _, times = read(kind)
        self.space = ParameterSpace(self._table)
        self._count = times.shape[1]
        self._order = shuffle(self._count, seed)
        self._forest, self._deviations = fit_forest(kind)

    def times(self, values):
        """Return times on all instances, negative where the run fails then."""
        rng = np.random.default_rng([zlib.crc32(configuration_key(values).encode()), self.seed])
        prediction = self._forest.predict([encode(self._table, values)])[0]
        rests = self._deviations * rng.standard_normal(self._count)
        times = np.exp(prediction[: self._count] + rests)
        is_success = rng.random(self._count) < prediction[self._count :]
        return np.where(is_success, times, -times)[self._order]


@cache
def fit_forest(kind):
    """Return a forest that predicts log times and successes, and its deviations of log times."""
    from sklearn.ensemble import RandomForestRegressor

    table, configurations, times = read(kind)
    log_times = np.log(np.maximum(np.abs(times), 0.005))
    forest = RandomForestRegressor(30, max_features=0.5, oob_score=True, random_state=0)
    features = [encode(table, values) for values in configurations]
    forest.fit(features, np.hstack([log_times, times > 0]))
    predictions = forest.oob_prediction_[:, : times.shape[1]]
    return forest, (log_times - predictions).std(axis=0)


def encode(table, values):
    """Return numbers of a configuration; -1 for what is not active."""
    return [encode_value(table[name], values.get(name)) for name in table]


def encode_value(entries, value):
    """Return the number of a value of a parameter; -1 if it is not active."""
    if value is None:
        return -1.0
    if "range" in entries:
        return math.log(value) if entries.get("log") else float(value)
    return float((entries.get("categories") or entries["ordinals"]).index(value))


PROBLEMS = {"recorded": RecordedProblem, "surrogate": SurrogateProblem}
