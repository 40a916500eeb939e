"""SMAC and irace on the problems of benchmarks.spaces, with the same replayed times.

``python -m benchmarks.spaces_others KIND FIRST-LAST SHARES METHOD...``, with the methods ``smac``
(``SMAC_PYTHON`` is the Python of its environment) and ``irace`` (with ``Rscript``). Both are told
the full cut-off and no other limit. Variants: ``irace, no caps`` makes full runs alone, and for
``irace, strict caps`` a capped run is as bad as one that failed. ``irace, numbers`` chooses among
recorded configurations by their numbers; the others choose parameters, and the nearest recorded
configuration is run. ``smac`` has the first and the third variant too.

Each is scored with two limits: the one that is best for its incumbent's full times on all training
instances, and on those that it was run on. The last score is the share of the budget spent.
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

from benchmarks.recorded_times import RecordedSpace, encode_value
from benchmarks.spaces import LIMITS, METHODS, main
from keyhole.tune.parameter_space import ParameterSpace, configuration_key

FOLDER = Path(__file__).parent
_LEAST_RUNS = 5
_MOST_PLAYS = 4
_TOLERANCE = 1.02  # of the budget of irace


class Translation:
    """The space that a child is told, and the configurations of the problem that it means.

    Recorded problems have a list of configurations: a child is told the parameters, and the
    nearest configuration is run, or it is told one parameter, the number in the list.
    """

    def __init__(self, problem, by_number=False):
        table = problem.space.as_json()["parameters"]
        is_recorded = isinstance(problem.space, RecordedSpace)
        self._rows = problem.space.configurations if is_recorded else []
        self._by_number = by_number
        if by_number:
            numbers = list(range(len(self._rows)))
            table = {"number": {"categories": numbers, "default": 0}}
        self.space = ParameterSpace(table)
        self._features = np.array([self._scale(row) for row in self._rows if not by_number])

    def decode(self, values):
        """Return the configuration of the problem that a child means."""
        if self._by_number:
            return self._rows[values["number"]]
        if not self._rows:
            return values
        distances = np.abs(self._features - self._scale(values)).sum(axis=1)
        return self._rows[int(np.argmin(distances))]

    def _scale(self, values):
        """Return coordinates such that configurations differ by at most 1 in each parameter."""
        coordinates = []
        for name, entries in self.space.as_json()["parameters"].items():
            if "range" in entries:
                low, high = (encode_value(entries, end) for end in entries["range"])
                value = encode_value(entries, values.get(name, entries["default"]))
                coordinates.append((value - low) / (high - low))
            else:
                choices = entries.get("categories") or entries["ordinals"]
                coordinates += [(choice == values.get(name)) / 2 for choice in choices]
        return np.array(coordinates)


class Observations:
    """Runs of a child, and the limit that is best for the runs of a configuration."""

    def __init__(self, problem, budget, decode, *, caps_are_times=False):
        self._problem = problem
        self._budget = budget
        self._decode = decode
        self._caps_are_times = caps_are_times
        self._instances = defaultdict(set)

    def run(self, values, instance, limit):
        """Return loss and seconds of a run; without success, the loss is one more.

        The loss of a run that irace caps is its seconds, which irace counts as the full cut-off,
        or one more, which it counts as a run that failed.
        """
        values = self._decode(values)
        instance = min(instance, self._problem.training - 1)  # one instance is told to irace twice
        self._instances[configuration_key(values)].add(instance)
        outcome, seconds = self._budget.run(values, instance, min(limit, 1.0))
        is_cap = self._caps_are_times and outcome == "out of time" and limit < 1.0
        return seconds + (outcome != "ok" and not is_cap), seconds

    def recommend(self, values):
        """Return a configuration, and the limit that is best for it on all training instances."""
        values = self._decode(values)
        return values, self._best_limit(values, range(self._problem.training))

    def recommend_from_runs(self, values):
        """Return a configuration, and the limit that is best for it on those it was run on."""
        values = self._decode(values)
        instances = sorted(self._instances[configuration_key(values)])
        if len(instances) < _LEAST_RUNS:
            return values, 1.0
        return values, self._best_limit(values, instances)

    def _best_limit(self, values, instances):
        times = self._problem.times(values)[list(instances)]
        seconds = np.abs(times)
        gains = [
            ((times > 0) & (seconds < limit)).mean() - np.minimum(seconds, limit).mean()
            for limit in LIMITS
        ]
        return float(LIMITS[int(np.argmax(gains))])

    def score(self, values, end):
        """Score a configuration with both limits, and add the share of a budget that is spent."""
        share = self._budget.spent / end
        later = self._budget.ends[1:]
        self._budget.score(partial(self.recommend, values))
        scores = self._budget.scores.pop()
        self._budget.ends = [0.0]
        self._budget.score(partial(self.recommend_from_runs, values))
        scores.append(self._budget.scores.pop()[0])
        self._budget.scores.append([*scores, round(share, 3)])
        self._budget.ends = later


def config_space(space):
    """Return a space as the JSON of ConfigSpace."""
    entries, conditions = [], []
    for name, table in space.as_json()["parameters"].items():
        entry = {"name": name, "default_value": table["default"], "meta": None}
        if "range" in table:
            low, high = table["range"]
            kind = "uniform_int" if table.get("integer") else "uniform_float"
            entry |= {"type": kind, "lower": low, "upper": high, "log": table.get("log", False)}
        elif "ordinals" in table:
            entry |= {"type": "ordinal", "sequence": table["ordinals"]}
        else:
            entry |= {"type": "categorical", "choices": table["categories"], "weights": None}
        entries.append(entry)
        for parent, value in table.get("when", {}).items():
            conditions.append({"type": "EQ", "child": name, "parent": parent, "value": value})
    data = {"hyperparameters": entries, "conditions": conditions, "forbiddens": []}
    return json.dumps(data | {"name": "space", "format_version": 0.4})


def irace_parameters(space):
    """Return a space as irace's text, and after an empty line its default configuration."""
    tables = space.as_json()["parameters"]
    lines = []
    for name, table in tables.items():
        if "range" in table:
            kind = ("i" if table.get("integer") else "r") + (",log" * table.get("log", False))
            values = table["range"]
        else:
            kind = "o" if "ordinals" in table else "c"
            values = table.get("categories") or table["ordinals"]
        conditions = [f'{parent} == "{value}"' for parent, value in table.get("when", {}).items()]
        domain = f"{kind} ({','.join(map(str, values))})"
        lines.append(" | ".join([f'{name} "" {domain}', *conditions]))
    default = [str(space.default.get(name, "NA")) for name in tables]
    return "\n".join([*lines, "", " ".join(tables), " ".join(default)]) + "\n"


def start(text, command):
    """Start a child; `command` is told the path of a file with a text."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt", delete=False) as file:
        file.write(text)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    return subprocess.Popen(command(file.name), text=True, bufsize=1, **pipes)


def play_smac(problem, seed, budget, *, caps=True, by_number=False):
    """Play SMAC's facade for algorithm configuration."""
    python = os.environ["SMAC_PYTHON"]
    translation = Translation(problem, by_number)
    script = str(FOLDER / "spaces_smac.py")
    arguments = [str(problem.training), str(seed), str(int(caps))]
    child = start(
        config_space(translation.space), lambda path: [python, "-P", script, path, *arguments]
    )
    observations = Observations(problem, budget, translation.decode)
    incumbent = translation.space.default
    while budget.ends:
        values, instance, limit = json.loads(child.stdout.readline())
        print(*observations.run(values, instance, limit), file=child.stdin, flush=True)
        incumbent = json.loads(child.stdout.readline())
        while budget.ends and budget.spent >= budget.ends[0]:
            observations.score(incumbent, budget.ends[0])
    child.kill()
    child.wait()


def play_irace(problem, seed, budget, *, caps=True, by_number=False, strict=False):
    """Play irace once for each budget, from the beginning.

    irace knows no starts: where it spends more than the budget with them, it plays again with as
    much less.
    """
    translation = Translation(problem, by_number)
    for end in budget.ends.copy():
        seconds = end
        for _ in range(_MOST_PLAYS):
            budget.spent, budget.runs, budget.ends = 0.0, 0, [end]
            script = str(FOLDER / "spaces_irace.R")
            arguments = [str(problem.training), str(round(seconds)), str(seed + 1), str(int(caps))]
            child = start(
                irace_parameters(translation.space), partial(irace_command, [script, *arguments])
            )
            observations = Observations(
                problem, budget, translation.decode, caps_are_times=caps and not strict
            )
            best = play_child(translation.space, child, observations)
            if budget.spent <= _TOLERANCE * end:
                break
            seconds = seconds * end / budget.spent
        budget.ends = [min(end, budget.spent)]
        observations.score(best, end)


def irace_command(arguments, path):
    """Return the command of irace for a file of parameters."""
    script, *rest = arguments
    return ["Rscript", script, path, *rest]


def play_child(space, child, observations):
    """Make the runs that irace asks for, and return its best configuration."""
    for line in child.stdout:
        verb, text, instance, limit = line.split()
        values = parse(space, text)
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
    return {
        name: parse_value(tables[name], values[name])
        for name in space.names
        if values[name] != "NA"
    }


def parse_value(table, text):
    """Return the value of a parameter that irace wrote as a text."""
    if "range" in table:
        return int(text) if table.get("integer") else float(text)
    choices = table.get("categories") or table["ordinals"]
    return {str(choice): choice for choice in choices}[text]


for name, player in {"smac": play_smac, "irace": play_irace}.items():
    METHODS |= {
        name: player,
        f"{name}, no caps": partial(player, caps=False),
        f"{name}, numbers": partial(player, by_number=True),
        f"{name}, numbers, no caps": partial(player, by_number=True, caps=False),
    }

METHODS["irace, strict caps"] = partial(play_irace, strict=True)

if __name__ == "__main__":
    main(*sys.argv[1:])
