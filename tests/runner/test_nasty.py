"""No process of a run outlives the run or its runner, whatever it does.

Each program is run by a process of its own, as the present user and as nobody, and looked for in
/proc by what is in its environment; a hopper, which is hardly ever seen, by its heartbeat.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import uuid
from contextlib import suppress
from pathlib import Path

import pytest

from tests.runner.survivors import TAG, beats, clean, helpers_of, parent_of, tagged, until

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="needs Linux's account of processes"
)
HERE = Path(__file__).parent
NOBODY = 65534
LIMIT = 0.3
COMPILER = shutil.which("cc")
WHERE_A_COMPILER_IS = pytest.mark.skipif(COMPILER is None, reason="needs a C compiler")
SLOW = pytest.mark.slow


def hopper(name):
    return pytest.param(name, marks=WHERE_A_COMPILER_IS)


def lesser(name):
    """Return a program of which another one that is always tried does more."""
    return pytest.param(name, marks=SLOW)


PROGRAMS = [
    lesser("sleeper"), "busy", lesser("own_session"), "daemon", "outlive", "outlive_as_daemon",
    "bomb", lesser("tree_bomb"), lesser("hop"), "hop_through_sessions", "respawn",
    "stopped", "read_input", "print_for_ever", "kill_parent", "kill_grandparent",
    hopper("fast_hop"), hopper("fast_hop_through_sessions"),
]  # fmt: skip
WHILE_KILLED = ["busy", "daemon", "bomb", "respawn", "hop", hopper("fast_hop_through_sessions")]
DONE_AT_ONCE = ("outlive", "outlive_as_daemon")
MECHANISMS = ["namespace", "subreaper"]
USERS = [
    pytest.param(None, id="present user"),
    pytest.param(
        NOBODY,
        id="nobody",
        marks=[SLOW, pytest.mark.skipif(os.geteuid() != 0, reason="only root may be another user")],
    ),
]


class Tuners:
    """Starts processes that run nasty programs, as one user (None: the present user)."""

    def __init__(self, user):
        self.user, self.python = user, sys.executable if user is None else python_of(user)
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "tuners.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd="/",
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )

    def start(self, **case):
        """Start a process; return its PID."""
        case |= {"user": self.user, "python": self.python}
        self.process.stdin.write(json.dumps(case) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def python_of(user):
    """Return an interpreter that another user may run."""
    for python in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        with suppress(OSError):
            subprocess.run([python, "-I", "-S", "-c", ""], user=user, cwd="/", check=True)
            return python
    pytest.skip("there is no interpreter that others may run")


@pytest.fixture(scope="module", params=USERS)
def tuners(request):
    starter = Tuners(request.param)
    yield starter
    starter.close()


@pytest.fixture(scope="module")
def hop(tmp_path_factory):
    """Return the fast hopper, None without a compiler."""
    if COMPILER is None:
        return None
    program = tmp_path_factory.mktemp("hop") / "hop"
    subprocess.run([COMPILER, "-O1", "-o", program, HERE / "hop.c"], check=True)
    return program


@pytest.fixture
def folder(hop):
    """Make a folder with the nasty programs that all users may use."""
    path = Path(tempfile.mkdtemp())
    path.chmod(0o777)
    shutil.copy(HERE / "nasty.py", path)
    if hop is not None:
        shutil.copy(hop, path)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@pytest.fixture
def tag():
    word = uuid.uuid4().hex
    yield word
    clean(word)


def start(tuners, mechanism, program, folder, tag, **words):
    """Start a process that runs a program, with a tag in its environment; return its PID."""
    return tuners.start(
        mechanism=mechanism,
        folder=str(folder),
        command=[tuners.python, "-I", "-S", str(folder / "nasty.py"), program, str(folder)],
        words={"environment": {TAG: tag}, "folder": str(folder)} | words,
    )


def answer(folder):
    """Wait for the answer of the runner."""
    said = folder / "answer.json"
    assert until(said.exists)
    words = json.loads(said.read_text())
    if "refused" in words and "namespace" in words["refused"]:
        pytest.skip(words["refused"])
    return words


def kill(tuner):
    """Kill a process that runs commands by SIGKILL."""
    os.kill(tuner, signal.SIGKILL)


def wait_for_life(folder, tag):
    """Wait until a program runs or has failed to start."""
    said = folder / "answer.json"
    assert until(lambda: alive(folder, tag) or said.exists())
    if said.exists():
        answer(folder)


def alive(folder, tag):
    return bool(tagged(tag)) or beats(folder)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_nothing_outlives_its_run(tuners, mechanism, program, folder, tag):
    tuner = start(tuners, mechanism, program, folder, tag, limit=LIMIT)
    run = answer(folder)
    assert not alive(folder, tag)
    if program in DONE_AT_ONCE:
        # (it may not be done by then on a busy machine)
        assert run["outcome"] in ("ok", "out of time")
    elif mechanism == "namespace" or not program.startswith("kill"):
        assert run["outcome"] == "out of time"
    else:
        assert run["outcome"] in ("lost", "out of time")
    kill(tuner)
    assert until(lambda: not helpers_of(tuner))
    assert not alive(folder, tag)


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_run_that_stops_its_supervisors_is_killed_later(tuners, mechanism, folder, tag):
    tuner = start(tuners, mechanism, "stop_parent", folder, tag, limit=LIMIT)
    run = answer(folder)
    assert not alive(folder, tag)
    assert run["outcome"] == "out of time"
    kill(tuner)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("program", WHILE_KILLED)
def test_nothing_outlives_a_runner_that_is_killed(tuners, mechanism, program, folder, tag):
    tuner = start(tuners, mechanism, program, folder, tag, limit=600)
    wait_for_life(folder, tag)
    kill(tuner)
    assert until(lambda: not alive(folder, tag) and not helpers_of(tuner))


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_nothing_outlives_a_runner_that_is_killed_with_its_helper(tuners, mechanism, folder, tag):
    tuner = start(tuners, mechanism, "daemon", folder, tag, limit=600)
    wait_for_life(folder, tag)
    watchers = helpers_of(tuner)
    assert watchers
    if mechanism == "subreaper":  # what is below an init stays if that goes with all above it
        watchers = [pid for pid in watchers if parent_of(pid) == tuner]
    for process in (*watchers, tuner):
        kill(process)
    assert until(lambda: not alive(folder, tag) and not helpers_of(tuner))
