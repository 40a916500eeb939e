"""Reference program in C++: LSA, if a compiler is found."""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).with_name("lsa.cpp")


@contextlib.contextmanager
def compile_lsa() -> Iterator[Path | None]:
    """Compile the reference program for the duration of a block; None without a compiler."""
    compiler = next(filter(None, map(shutil.which, ("c++", "g++", "clang++"))), None)
    with tempfile.TemporaryDirectory() as folder:
        program = Path(folder, "lsa")
        words = [compiler, "-O3", "-march=native", SOURCE, "-o", program]
        if compiler is None or subprocess.run(words, capture_output=True).returncode != 0:
            program = None
        yield program


def run_lsa(program: Path, horizon: int, replications: int, arms: int = 10) -> tuple[float, float]:
    """Run the program; return nanoseconds per round, and the mean number of wrong labels."""
    words = [program, str(arms), str(horizon), str(replications)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    taken, wrong = map(float, done.stdout.split())
    return taken, wrong
