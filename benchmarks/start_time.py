"""CPU time of a process up to its first result, with an empty and with a warm compile cache.

``python -m benchmarks.start_time [--against SRC] [--repeats N]``

The times are medians over processes; `import numpy` is the reference. With `--against` and the
folder of another version's sources, the two versions take turns.
"""

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

SPEC = """
name = "small"
seed = 1
replications = 20
horizon = 100
checkpoints = [100]
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
"""
ASK = (
    "from keyhole.thresholding import LSA\n"
    "learner = LSA().learner(arms=3, threshold=0.5)\n"
    "for n in range(10):\n"
    "    learner.ask()\n"
    "    learner.tell(n % 2)\n"
)
SIMULATE = (
    "from keyhole import simulate\n"
    "from keyhole.thresholding import LSA, Problem\n"
    "problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)\n"
    "simulate(problem, [LSA()], horizon=100, replications=20, threads=1)\n"
)
KEYHOLE = ("-m", "keyhole")


@dataclass(frozen=True)
class Case:
    """Process to time: its arguments after Python's name, and whether the cache is warm."""

    what: str
    words: tuple[str, ...]
    kept: bool = True


YARDSTICK = Case("import numpy", ("-c", "import numpy"))
CASES = (
    Case("import keyhole", ("-c", "import keyhole")),
    Case("ten asks, empty cache", ("-c", ASK), kept=False),
    Case("ten asks, kept code", ("-c", ASK)),
    Case("simulate 2,000 rounds, empty cache", ("-c", SIMULATE), kept=False),
    Case("simulate 2,000 rounds, kept code", ("-c", SIMULATE)),
    Case("keyhole --help", (*KEYHOLE, "--help")),
    Case(
        "keyhole run, 2,000 rounds, empty cache",
        (*KEYHOLE, "run", "small.toml", "--out", "out"),
        kept=False,
    ),
    Case("keyhole run, 2,000 rounds, kept code", (*KEYHOLE, "run", "small.toml", "--out", "out")),
    Case("keyhole demo, empty cache", (*KEYHOLE, "demo"), kept=False),
    Case("keyhole demo, kept code", (*KEYHOLE, "demo")),
)


def processor_seconds(case, sources, cache):
    """Return the CPU time of one process with its children."""
    # With bytecode of the modules, as in an installed package.
    unset = ("PYTHONDONTWRITEBYTECODE", "KEYHOLE_INTERPRET")
    variables = {name: value for name, value in os.environ.items() if name not in unset}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "small.toml").write_text(SPEC)
        process = subprocess.Popen(
            [sys.executable, *case.words],
            cwd=folder,
            env=variables | {"PYTHONPATH": str(sources), "KEYHOLE_CACHE_DIR": str(cache)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        said = process.stderr.read()
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        process.stderr.close()
    if process.returncode:
        raise RuntimeError(f"{case.what}: {said.decode()}")
    return used.ru_utime + used.ru_stime


def median_times(case, sources, repeats):
    """Return the median CPU times of a case for each folder of sources, which take turns."""
    with tempfile.TemporaryDirectory() as folder:
        spent = {source: [] for source in sources}
        for number in range(repeats + 1):
            for i, source in enumerate(sources):
                own = "kept" if case.kept else f"empty {number}"
                spent[source].append(processor_seconds(case, source, Path(folder, f"{i} {own}")))
    return [statistics.median(spent[source][1:]) for source in sources]  # the first one compiles


def main():
    """Print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.start_time")
    parser.add_argument("--against", type=Path, help="sources of another version: its `src`")
    parser.add_argument("--repeats", type=int, default=5)
    options = parser.parse_args()
    sources = [Path(__file__).parents[1] / "src"]
    if options.against:
        sources.insert(0, options.against.resolve())
    for case in (YARDSTICK, *CASES):
        values = median_times(case, sources, options.repeats)
        print(f"{case.what:40}", *(f"{value:8.2f}" for value in values), "CPU s", flush=True)


if __name__ == "__main__":
    main()
