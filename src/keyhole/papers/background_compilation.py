"""Compilation of later policies in a second process, last first, while the first ones run.

A policy is a rule that chooses among options, whose functions are compiled before it is simulated.

Compiling takes seconds for each policy and kind of problem, once per machine, on one core. The
process only fills the compile cache: if it fails, the main process compiles when it needs to.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence

from keyhole.experiment.compile_jobs import spec_jobs
from keyhole.papers.entry import Entry


@contextlib.contextmanager
def background_compilation(entries: Sequence[Entry], *, wanted: bool = True) -> Iterator[None]:
    """Return a context manager: a second process fills the compile cache while its block runs."""
    words = [f"{entry.identifier}:{problem}" for entry in entries for problem in entry.problems]
    quiet = subprocess.DEVNULL
    child = None
    if wanted:
        with contextlib.suppress(OSError):
            child = subprocess.Popen(
                [sys.executable, "-m", "keyhole.papers.background_compilation", *words],
                stdin=quiet,
                stdout=quiet,
                stderr=quiet,
            )
    try:
        yield
    finally:
        if child is not None:
            # A killed compiler leaves no broken file: the cache writes each file under a temporary
            # name and then renames it.
            child.kill()
            child.wait()


def compile_back_to_front(words: Sequence[str]) -> None:
    """Compile the engines of problems, named ``entry:problem`` in the order of their runs."""
    # Last first: the main process compiles in the order of the runs, so that the two meet in the
    # middle and seldom compile the same engine.
    for word in reversed(words):
        name, _, problem = word.rpartition(":")
        spec = Entry.find(name).spec(problem, "quick")
        for _, compile_it in reversed(spec_jobs(spec, learners=False)):
            compile_it()


if __name__ == "__main__":
    compile_back_to_front(sys.argv[1:])
