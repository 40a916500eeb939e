"""Times of two SAT solvers, recorded for random configurations, as problems of benchmarks.spaces.

``python -m benchmarks.recorded_solvers minisat FOLDER`` makes instances in a folder, runs 100
configurations on them, and writes ``benchmarks/minisat_times.json``; ``cadical`` likewise. It takes
some twenty minutes. Times of other configurations are what a forest of scikit-learn says.
"""

import importlib.util
import json
import random
import sys
import tomllib
import zlib
from pathlib import Path

import numpy as np

from keyhole.runner import Runner
from keyhole.tune.parameter_space import ParameterSpace, configuration_key

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
CUTOFF = 0.2  # seconds of CPU
CONFIGURATIONS = 100
TRAINING = 40
SWITCH = {"categories": ["true", "false"], "default": "true"}
MINISAT = tomllib.loads((EXAMPLES / "tune-space/minisat.toml").read_text())
COMMANDS = {
    "minisat": MINISAT["arm"][0]["command"],
    "cadical": "cadical -q -n --chrono={chrono} --elim={elim} --phase={phase} "
    "--restartint={restartint} --restartmargin={restartmargin} --stabilize={stabilize} "
    "--target={target} --walk={walk} {instance}",
}
TABLES = {
    "minisat": MINISAT["parameters"],
    "cadical": {
        "chrono": {"ordinals": [0, 1, 2], "default": 1},
        "elim": SWITCH,
        "phase": SWITCH,
        "restartint": {"range": [1, 1000], "integer": True, "log": True, "default": 2},
        "restartmargin": {"range": [0, 60], "integer": True, "default": 10},
        "stabilize": SWITCH,
        "target": {"ordinals": [0, 1, 2], "default": 1, "when": {"stabilize": "true"}},
        "walk": SWITCH,
    },
}


def load_instance_makers():
    """Return the script of the example that makes instances, as a module."""
    spec = importlib.util.spec_from_file_location("make", EXAMPLES / "tune-sat/make.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def make_instances(folder):
    """Write 100 instances of four families, in random order, and return their paths."""
    make = load_instance_makers()
    rng = random.Random(7)
    families = [
        lambda: make.random_3sat(rng, rng.randint(160, 280), 4.26),
        lambda: make.random_3sat(rng, rng.randint(300, 480), 4.2, hidden=True),
        lambda: make.parity(rng, rng.randint(80, 135)),
        lambda: make.colours(rng, rng.randint(200, 500), 4.65),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:03}.cnf" for number in range(100)]
    for number, path in enumerate(paths):
        count, clauses = families[number % len(families)]()
        lines = [f"p cnf {count} {len(clauses)}"]
        lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
        path.write_text("\n".join(lines) + "\n")
    rng.shuffle(paths)
    return paths


def record(solver, folder):
    """Run random configurations on all instances, and write their CPU seconds."""
    space = ParameterSpace.from_table(TABLES[solver])
    rng = np.random.default_rng(11)
    sample = [space.default, *(space.sample(rng) for _ in range(CONFIGURATIONS - 1))]
    paths = make_instances(Path(folder))
    rows = []
    with Runner() as runner:
        for values in sample:
            words = COMMANDS[solver].split()
            words = [word for word in words if not names_inactive(word, space, values)]
            seconds = []
            for path in paths:
                command = [word.format(**values, instance=path) for word in words]
                result = runner.run(command, 10 * CUTOFF, cpu=CUTOFF)
                is_solved = result.code in (10, 20)
                seconds.append(round(min(result.cpu, CUTOFF), 4) if is_solved else CUTOFF)
            rows.append({"parameters": values, "seconds": seconds})
    lines = ",\n".join(json.dumps(row) for row in rows)
    (HERE / f"{solver}_times.json").write_text(f"[{lines}]\n")


def names_inactive(word, space, values):
    """Return whether a word of a command has a parameter that is not active."""
    return any(f"{{{name}}}" in word and name not in values for name in space.names)


class RecordedProblem:
    """A recorded solver: 40 instances to tune on, 60 to score on, times in full cut-offs.

    The logarithm of the time of a configuration on an instance is what a forest predicts, and a
    normal rest, whose deviation is that of the instance's recorded times from predictions out of
    the bag. The seed says which instances are tuned on.
    """

    start = 0.01

    def __init__(self, kind, seed):
        from sklearn.ensemble import RandomForestRegressor

        self.kind = kind
        self.seed = seed
        self.space = ParameterSpace.from_table(TABLES[kind])
        self.training = TRAINING
        rows = json.loads((HERE / f"{kind}_times.json").read_text())
        seconds = np.array([row["seconds"] for row in rows])
        order = np.random.default_rng(50 + seed).permutation(seconds.shape[1])
        log_times = np.log(np.maximum(seconds[:, order], 0.001) / CUTOFF)
        self._forest = RandomForestRegressor(60, max_features=0.5, oob_score=True, random_state=0)
        self._forest.fit([self._encode(row["parameters"]) for row in rows], log_times)
        self._deviations = (log_times - self._forest.oob_prediction_).std(axis=0)

    def _encode(self, values):
        return [self._encode_value(name, values) for name in self.space.names]

    def _encode_value(self, name, values):
        table = TABLES[self.kind][name]
        if name not in values:
            return -1.0
        if "range" in table:
            return np.log(values[name]) if table.get("log") else float(values[name])
        return float((table.get("categories") or table["ordinals"]).index(values[name]))

    def times(self, values):
        """Return times on all instances; from 1 on the full cut-off is reached."""
        rng = np.random.default_rng([zlib.crc32(configuration_key(values).encode()), self.seed])
        rests = self._deviations * rng.standard_normal(len(self._deviations))
        return np.exp(self._forest.predict([self._encode(values)])[0] + rests)


if __name__ == "__main__":
    record(*sys.argv[1:])
