"""Compiling what comes later while the first policies play: a second process, back to front.

Compiling takes some seconds for every policy and kind of problem, once a machine, and occupies
one processor. The second process only fills the compile cache: without it, or if it fails, the
same is compiled later.
"""

import contextlib
import subprocess
import sys
from collections.abc import Iterator, Sequence

from keyhole.experiment.compile_jobs import spec_jobs
from keyhole.papers.entry import Entry


@contextlib.contextmanager
def background_compilation(entries: Sequence[Entry], *, wanted: bool = True) -> Iterator[None]:
    """Fill the compile cache from another process, as long as the block runs."""
    words = [f"{entry.called}:{problem}" for entry in entries for problem in entry.problems]
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
            child.kill()
            child.wait()


def compile_back_to_front(words: Sequence[str]) -> None:
    """Compile the engines of some problems, ``entry:problem``, given in the order of their runs."""
    for word in reversed(words):
        name, _, problem = word.rpartition(":")
        spec = Entry.find(name).spec(problem, "quick")
        for _, compile_it in reversed(spec_jobs(spec, learners=False)):
            compile_it()


if __name__ == "__main__":
    compile_back_to_front(sys.argv[1:])
