"""Recorded times of random configurations, as problems of benchmarks.spaces.

A file of ``benchmarks/recorded`` has the parameters and the full cut-off in its first line, and in
each other one a configuration and its seconds on all instances, negative where a run failed then.
"""

import json
from pathlib import Path

import numpy as np

from keyhole.tune.parameter_space import ParameterSpace, configuration_key

FOLDER = Path(__file__).parent / "recorded"
CONFIGURATIONS = 80
TRAINING = 40


def record(kind, table, cutoff, run):
    """Write the seconds that `run` returns of the default and of random configurations."""
    space = ParameterSpace.from_table(table)
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
        self.rows = rows
        super().__init__(table, ())

    def sample(self, rng):
        """Draw a recorded configuration."""
        return self.rows[int(rng.integers(len(self.rows)))]

    def count(self):
        """Return the number of recorded configurations."""
        return len(self.rows)

    def __iter__(self):
        """Iterate over the recorded configurations."""
        return iter(self.rows)


class RecordedProblem:
    """A recording: 40 instances to tune on, the rest to score on, times in full cut-offs.

    The seed says which instances are tuned on.
    """

    start = 0.01

    def __init__(self, kind, seed):
        self.kind = kind
        self.training = TRAINING
        head, *rows = map(json.loads, path_of(kind).read_text().splitlines())
        configurations = [row["parameters"] for row in rows]
        times = np.array([row["seconds"] for row in rows]) / head["cutoff"]
        order = np.random.default_rng(50 + seed).permutation(times.shape[1])
        keys = map(configuration_key, configurations)
        self.space = RecordedSpace(head["parameters"], configurations)
        self._times = dict(zip(keys, times[:, order], strict=True))

    def times(self, values):
        """Return times on all instances; from 1 on the full cut-off is reached."""
        return self._times[configuration_key(values)]
