"""Forks in tests: what a child does, and returns."""

import os
import signal
import time
import traceback

ENOUGH = 600  # seconds, after which somebody hangs


def fork():
    """Return what `os.fork` returns, once other threads have forked."""
    while True:
        try:
            return os.fork()
        except RuntimeError as error:  # of filelock, which Ray loads: from Python 3.12 on
            if "filelock" not in str(error):
                raise
            time.sleep(0.001)


def in_child(work):
    """Return what some work returns in a fork, as text."""
    out, into = os.pipe()
    pid = fork()
    if pid == 0:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)  # of the tests' own limits
        signal.alarm(ENOUGH)  # who hangs is ended by the system
        code = 1
        try:
            os.write(into, str(work()).encode())
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(into)
    with os.fdopen(out) as pipe:
        said = pipe.read()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    return said
