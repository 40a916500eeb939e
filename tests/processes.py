"""Processes for tests, at the cost of a fork.

`python` runs a command as `subprocess.run` would, in a process of its own, which is a fork of one
that has imported what takes seconds. How a new interpreter starts, and what it imports, this cannot
show. What forks cost is counted when the tests have ended, and for none of them.
"""

import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

ENOUGH = 600.0  # seconds, after which somebody hangs
PRELOADED = (
    "keyhole.cli.error_handling", "keyhole.experiment.report", "keyhole.experiment.forecast",
    "keyhole.papers", "keyhole.study", "keyhole.testing", "keyhole.tune",
    "keyhole.delayed", "keyhole.resource", "keyhole.semibandit", "keyhole.stochastic",
    "keyhole.threshold", "keyhole.thresholding", "matplotlib.backends.backend_pdf",
    "matplotlib.backends.backend_svg", "pytest",
    "llvmlite.binding", "pandas",  # which cached code and Arrow import when they are first used
)  # fmt: skip


def python(*words, cwd, env=None, out=None):
    """Run `python WORDS`: ``-m MODULE ...`` or ``-c CODE ...``; return what it came to.

    Standard output may go to a file of the caller's.
    """
    with Forked(*words, cwd=cwd, env=env, out=out) as process:
        return process.finish()


class Forked:
    """A process that runs; one at a time."""

    def __init__(self, *words, cwd, env=None, out=None):
        self.args, self.returncode = list(map(str, words)), None
        self._folder, self._server = TemporaryDirectory(), _server()
        self._texts = [Path(self._folder.name, name) for name in ("out", "error")]
        request = [self.args, str(cwd), dict(os.environ if env is None else env)]
        with self._texts[0].open("wb") as mine, self._texts[1].open("wb") as error:
            self._server.send(request, [out or mine, error])
        self.pid = self._server.number()

    def poll(self):
        """Return how it ended, None if it has not."""
        if self.returncode is None and self._server.has_said():
            self.returncode = self._server.number()
        return self.returncode

    def send_signal(self, kind):
        if self.poll() is None:
            with suppress(ProcessLookupError):  # it has just ended: the server says so next
                os.kill(self.pid, kind)

    def finish(self):
        """Wait for its end; return its exit code and what it wrote."""
        if self.returncode is None:
            self.returncode = self._server.number()
        texts = [path.read_bytes().decode() for path in self._texts]
        return subprocess.CompletedProcess(self.args, self.returncode, *texts)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Kill it, if it is still there."""
        with self._folder:
            self.send_signal(signal.SIGKILL)
            self.finish()


class _Server:
    """The process that forks."""

    def __init__(self):
        self._here, there = socket.socketpair()
        with there:
            number = there.fileno()
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(number)], pass_fds=[number], start_new_session=True
            )
        self._here.settimeout(ENOUGH)

    def send(self, request, files):
        data = json.dumps(request).encode()
        socket.send_fds(self._here, [len(data).to_bytes(4)], [file.fileno() for file in files])
        self._here.sendall(data)

    def has_said(self):
        return bool(select.select([self._here], [], [], 0.0)[0])

    def number(self):
        return int.from_bytes(_received(self._here, 4), signed=True)

    def close(self):
        self._here.close()
        self._process.wait()


@cache
def _server():
    return _Server()


def end_server():
    """End the process that forks, if there is one: its tests have ended."""
    if _server.cache_info().currsize:
        _server().close()
        _server.cache_clear()


def _received(connection, size):
    data = b""
    while len(data) < size:
        more = connection.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def _serve(connection):
    """Fork for each request; return one in the fork."""
    while True:
        length, files, _, _ = socket.recv_fds(connection, 4, 2)
        if not length:
            sys.exit()
        request = json.loads(_received(connection, int.from_bytes(length)))
        if (pid := os.fork()) == 0:
            connection.close()
            return request, files
        for file in files:
            os.close(file)
        connection.sendall(pid.to_bytes(4))
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        connection.sendall(code.to_bytes(4, signed=True))


def _begin(request, files):
    """Be as an interpreter is that was called with these words."""
    (kind, what, *words), cwd, env = request
    for file, number in zip(files, (1, 2), strict=True):
        os.dup2(file, number)
        os.close(file)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    places = [os.path.abspath(place) for place in env.get("PYTHONPATH", "").split(os.pathsep)]
    sys.path[:] = [cwd, *places, *(one for one in sys.path if one not in places)]
    if kind == "-m":
        sys.argv = [what, *words]
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        sys.argv = ["-c", *words]
        exec(compile(what, "<string>", "exec"), {"__name__": "__main__"})


if __name__ == "__main__":
    sys.path.pop(0)
    for name in PRELOADED:
        __import__(name)
    gc.freeze()  # else each fork looks at all that was imported when it ends, which takes longest
    _begin(*_serve(socket.socket(fileno=int(sys.argv[1]))))
