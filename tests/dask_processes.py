"""Schedulers and workers of Dask for tests, at the cost of a fork.

Each is a fork of one process that has imported Dask, which takes most of their start.
"""

import gc
import json
import os
import signal
import subprocess
import sys
from functools import cache


class DaskProcess:
    """A process that runs the command `dask` with these words: a scheduler or a worker."""

    def __init__(self, *words, cwd, env):
        log = os.path.join(cwd, "log")
        self.pid = _server().call("start", words, str(cwd), dict(env), log)

    def send_signal(self, kind):
        os.kill(self.pid, kind)  # until it is killed, its parent does not reap it

    def kill(self):
        """Kill it, if it was not, and wait for its end."""
        if self.pid is not None:
            _server().call("kill", self.pid)
            self.pid = None


class _Server:
    """The process that forks."""

    def __init__(self):
        self._process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def call(self, *request):
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return int(self._process.stdout.readline())

    def close(self):
        self._process.communicate()


@cache
def _server():
    return _Server()


def end_dask_server():
    """End the process that forks, if there is one: its tests have ended."""
    if _server.cache_info().currsize:
        _server().close()
        _server.cache_clear()


def _serve():
    """Fork and kill as requested; in a fork, return the request's words."""
    for line in sys.stdin:
        what, *rest = json.loads(line)
        if what == "kill":
            (pid,) = rest
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        elif (pid := os.fork()) == 0:
            return rest
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    return None


def _begin(words, cwd, env, log):
    """Be as an interpreter is that was called with ``-m dask`` and these words."""
    with open(log, "a") as file, open(os.devnull) as nothing:
        for number, it in enumerate((nothing, file, file)):
            os.dup2(it.fileno(), number)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    sys.path.insert(0, cwd)
    sys.argv = ["dask", *words]
    run_cli()


if __name__ == "__main__":
    sys.path.pop(0)
    import distributed.cli.dask_scheduler
    import distributed.cli.dask_worker  # noqa: F401
    from dask.cli import run_cli

    gc.freeze()
    if (request := _serve()) is not None:
        _begin(*request)
