"""CPU times of two SAT solvers for random configurations, recorded for benchmarks.spaces.

``python -m benchmarks.recorded_solvers minisat FOLDER`` makes instances in a folder, runs 80
configurations on them, and writes ``benchmarks/recorded/minisat.jsonl``; ``cadical`` likewise. It
takes some twenty minutes.
"""

import importlib.util
import random
import sys
import tomllib
from functools import partial
from pathlib import Path

from benchmarks.recorded_times import record
from keyhole.runner import CommandRunner

EXAMPLES = Path(__file__).parent.parent / "examples"
CUTOFF = 0.1  # seconds of CPU
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
    """Write 80 instances of four families, and return their paths."""
    make = load_instance_makers()
    rng = random.Random(7)
    families = [
        lambda: make.random_3sat(rng, rng.randint(140, 240), 4.26),
        lambda: make.random_3sat(rng, rng.randint(250, 400), 4.2, hidden=True),
        lambda: make.parity(rng, rng.randint(70, 115)),
        lambda: make.colours(rng, rng.randint(180, 400), 4.65),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"{number:03}.cnf" for number in range(80)]
    for number, path in enumerate(paths):
        count, clauses = families[number % len(families)]()
        lines = [f"p cnf {count} {len(clauses)}"]
        lines += [" ".join(map(str, [*clause, 0])) for clause in clauses]
        path.write_text("\n".join(lines) + "\n")
    return paths


def run_solver(runner, solver, paths, values):
    """Return the CPU seconds of a configuration on each instance."""
    inactive = [f"{{{name}}}" for name in TABLES[solver] if name not in values]
    words = COMMANDS[solver].split()
    words = [word for word in words if not any(name in word for name in inactive)]
    seconds = []
    for path in paths:
        command = [word.format(**values, instance=path) for word in words]
        result = runner.run(command, 10 * CUTOFF, cpu=CUTOFF)
        seconds.append(result.cpu if result.code in (10, 20) else CUTOFF)
    return seconds


def main(solver, folder):
    """Record a solver."""
    paths = make_instances(Path(folder))
    with CommandRunner() as runner:
        record(solver, TABLES[solver], CUTOFF, partial(run_solver, runner, solver, paths))


if __name__ == "__main__":
    main(*sys.argv[1:])
