"""SMAC and irace on the problems of benchmarks.spaces, with the same replayed times.

``python -m benchmarks.spaces_others KIND FIRST-LAST SHARES METHOD...``, with the methods ``smac``
(``SMAC_PYTHON`` is the Python of its environment) and ``irace`` (with ``Rscript``). Both have the
full cut-off; the limit that is scored is the best of the limits for the runs of their incumbent.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections import defaultdict
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.spaces import LIMITS, METHODS, main
from keyhole.tune.parameter_space import configuration_key

FOLDER = Path(__file__).parent
_LEAST_RUNS = 5


class Observations:
    """Runs of a child, and the limit that is best for the runs of a configuration."""

    def __init__(self, budget):
        self._budget = budget
        self._times = defaultdict(list)

    def run(self, values, instance, limit):
        """Return cost and seconds of a run: PAR2 of the limit, as the child expects it."""
        outcome, seconds = self._budget.run(values, instance, min(limit, 1.0))
        is_success = outcome == "ok"
        self._times[configuration_key(values)].append(seconds if is_success else 9.0)
        if is_success:
            return seconds, seconds
        return 2.0 if limit >= 1 or outcome == "failed" else limit, max(seconds, 0.001)

    def recommend(self, values):
        """Return a configuration, and the limit with the largest gain of its runs."""
        return values, self.limit(values)

    def limit(self, values):
        """Return the limit with the largest gain of the runs of a configuration."""
        times = np.array(self._times[configuration_key(values)])
        if len(times) < _LEAST_RUNS:
            return 1.0
        gains = [(times < limit).mean() - np.minimum(times, limit).mean() for limit in LIMITS]
        return float(LIMITS[int(np.argmax(gains))])


def config_space(space):
    """Return a space as the JSON of ConfigSpace."""
    entries, conditions = [], []
    for name, table in space.as_json()["parameters"].items():
        entry = {"name": name, "default_value": table["default"], "meta": None}
        if "range" in table:
            low, high = table["range"]
            entry |= {"type": "uniform_float", "lower": low, "upper": high, "log": False}
        else:
            entry |= {"type": "categorical", "choices": table["categories"], "weights": None}
        entries.append(entry)
        for parent, value in table.get("when", {}).items():
            conditions.append({"type": "EQ", "child": name, "parent": parent, "value": value})
    data = {"hyperparameters": entries, "conditions": conditions, "forbiddens": []}
    return json.dumps(data | {"name": "space", "format_version": 0.4})


def irace_parameters(space):
    """Return a space as irace's text."""
    lines = []
    for name, table in space.as_json()["parameters"].items():
        domain = (
            "r (0, 1)" if "range" in table else f"c ({','.join(map(str, table['categories']))})"
        )
        conditions = [f'{parent} == "{value}"' for parent, value in table.get("when", {}).items()]
        lines.append(" | ".join([f'{name} "" {domain}', *conditions]))
    return "\n".join(lines) + "\n"


def start(text, command):
    """Start a child; `command` is told the path of a file with a text."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write(text)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command(file.name), text=True, bufsize=1, **pipes)


def play_smac(problem, seed, budget):
    """Play SMAC's facade for algorithm configuration."""
    python = os.environ["SMAC_PYTHON"]
    script = str(FOLDER / "spaces_smac.py")
    arguments = [str(problem.training), str(seed)]
    child = start(
        config_space(problem.space), lambda path: [python, "-P", script, path, *arguments]
    )
    observations = Observations(budget)
    incumbent = problem.space.default

    def recommend():
        return observations.recommend(incumbent)

    while budget.score(recommend):
        values, instance, limit = json.loads(child.stdout.readline())
        print(*observations.run(values, instance, limit), file=child.stdin, flush=True)
        incumbent = json.loads(child.stdout.readline())
    child.kill()
    child.wait()


def play_irace(problem, seed, budget):
    """Play irace once for each budget, from the beginning."""
    ends = budget.ends
    for end in ends:
        budget.spent = 0.0
        script = str(FOLDER / "spaces_irace.R")
        arguments = [str(problem.training), str(round(end)), str(seed + 1)]
        command = partial(irace_command, [script, *arguments])
        child = start(irace_parameters(problem.space), command)
        observations = Observations(budget)
        best = play_child(problem, child, observations)
        budget.ends = [0.0]
        budget.score(partial(observations.recommend, best))


def irace_command(arguments, path):
    """Return the command of irace for a file of parameters."""
    script, *rest = arguments
    return ["Rscript", script, path, *rest]


def play_child(problem, child, observations):
    """Make the runs that irace asks for, and return its best configuration."""
    for line in child.stdout:
        verb, text, instance, limit = line.split()
        values = parse(problem.space, text)
        if verb == "best":
            child.kill()
            child.wait()
            return values
        answer = observations.run(values, int(float(instance)) - 1, float(limit))
        print(*answer, file=child.stdin, flush=True)
    raise ValueError("irace ended without a configuration; it needs a larger budget")


def parse(space, text):
    """Return the values of irace's text; what is not active is NA there."""
    values = dict(pair.split("=") for pair in text.split(","))
    tables = space.as_json()["parameters"]
    typed = {}
    for name in space.names:
        if values[name] != "NA":
            choices = {str(value): value for value in tables[name].get("categories", ())}
            typed[name] = choices.get(values[name]) if choices else float(values[name])
    return typed


METHODS |= {"smac": play_smac, "irace": play_irace}

if __name__ == "__main__":
    main(*sys.argv[1:])
