"""The import of Numba."""

import subprocess
import sys

INTERRUPTED = """
import signal, sys

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "numba.core.typed_passes" and sys.meta_path[0] is self:
            sys.meta_path.remove(self)
            signal.raise_signal(signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
from keyhole.kernels.lock import import_numba
try:
    import_numba()
    print("not interrupted")
except KeyboardInterrupt:
    print(import_numba().core.types.int64)
"""


def test_an_import_of_numba_that_is_interrupted_leaves_it_whole():
    """Half of it could be imported no more: 'numba' has no attribute 'core'."""
    command = [sys.executable, "-c", INTERRUPTED]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.stdout, ended.stderr) == ("int64\n", "")
