"""A process that says who holds locks of a file, and a list of what Python itself opens."""

import subprocess
import sys

SHARED = (
    0x40000002,
    510,
)  # the bytes of a database that SQLite locks as long as it reads or writes
PRESENT = (
    128,
    1,
)  # the byte of a `-shm` that SQLite locks as long as somebody has the database open

_ASKER = """
import fcntl, sys
for line in sys.stdin:
    path, start, length = line.rstrip("\\n").rsplit(" ", 2)
    with open(path, "r+b") as file:
        try:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, int(length), int(start))
            print("free", flush=True)
        except OSError:
            print("held", flush=True)
"""
_watched = []
opened = []


class Asker:
    """Another process that tries to lock what must be locked."""

    def __init__(self):
        self.process = subprocess.Popen(
            [sys.executable, "-c", _ASKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def is_held(self, path, start, length):
        """Return whether somebody has a lock on some bytes of a file."""
        print(path, start, length, file=self.process.stdin, flush=True)
        return self.process.stdout.readline() == "held\n"

    def close(self):
        """End it."""
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def watch(*paths):
    """Note in `opened` whenever Python opens one of these; with none, no longer."""
    _watched[:] = map(str, paths)
    opened.clear()


def _hear(event, arguments):
    if _watched and event == "open" and str(arguments[0]) in _watched:
        opened.append(arguments[0])


sys.addaudithook(_hear)  # for good: it cannot be taken away
