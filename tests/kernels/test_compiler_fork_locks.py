"""The lock under which Numba is imported."""

import os
import subprocess
import sys

import pytest

from tests.forks import ENOUGH

INTERRUPTED = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.typed_passes" and sys.meta_path[0] is self:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from keyhole.kernels.compiler_fork_locks import import_numba
try:
    import_numba()
    print("not interrupted")
except KeyboardInterrupt:
    print(import_numba().core.types.int64)
"""


def test_an_interrupted_import_of_numba_is_completed():
    """Half of it could be imported no more: 'numba' has no attribute 'core'."""
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("int64\n", "")


FIRST_USES = """
import os, sys, threading
from keyhole.kernels import compile_cache
assert "numba" not in sys.modules

def play(name):
    def entry(values):
        values[0] += 1.0
        return len(values)
    code = compile_cache.compile_cached(name, name, lambda: entry, "int64(float64[::1])")
    import numpy
    return code(numpy.zeros(3))

found, begun = [], threading.Barrier(4)

def first_use(name):
    begun.wait()
    found.append(play(name))

threads = [threading.Thread(target=first_use, args=(name,)) for name in ("a", "a", "b")]
for thread in threads:
    thread.start()
begun.wait()
while "numba" not in sys.modules:  # until a thread is in the midst of importing it
    pass
child = os.fork()
if child == 0:
    os._exit(0 if play("c") == 3 else 1)
_, status = os.waitpid(child, 0)
for thread in threads:
    thread.join()
print(found, os.waitstatus_to_exitcode(status))
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks")
def test_a_fork_waits_for_threads_whose_first_use_imports_numba_at_the_same_time(tmp_path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore::DeprecationWarning", "-c", FIRST_USES],
        env=os.environ | {"KEYHOLE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=ENOUGH,
    )
    assert done.stdout == "[3, 3, 3] 0\n", done.stderr
