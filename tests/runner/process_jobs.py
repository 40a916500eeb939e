"""Jobs for the limited process of the tests."""

import os
import signal
import subprocess
import sys
import time
import uuid

SLOW = 1.0
PROCESS = uuid.uuid4().hex
"""Identifies the process."""


def call(request):
    """Call a job by its name, for tests that share a process."""
    name, argument = request
    return globals()[name](argument)


def double(n):
    return 2 * n


def prepare():
    """Prepare nothing."""


def prepare_slowly():
    time.sleep(SLOW)


def fail():
    raise ImportError("no such thing")


def which_process(_):
    return PROCESS


def shout(text):
    sys.stdout.write(text)
    sys.stdout.flush()
    return text.upper()


def invert(n):
    if n == "exit":
        os._exit(3)
    return 1 / n


def give_back(value):
    return value


def a_set(_):
    return {1, 2}


def nested_set(_):
    return {"a": [1, {2}]}


class Trap:
    """Makes a folder when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("sprung",)


def a_trap(_):
    return Trap()


def write_an_answer(answer):
    """Write to the channel of answers, before the answer."""
    os.write(3, answer.encode("latin-1"))


def take(size):
    """Allocate memory in two processes; too much of it is held until they are killed."""
    script = f"kept = b'x' * {size // 2}; print('', flush=True); import time; time.sleep(600)"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE)
    child.stdout.readline()
    kept = b"x" * (size // 2)
    time.sleep(0.5 if size < 100 << 20 else 50)
    child.kill()
    child.wait()
    return len(kept)


def hang():
    time.sleep(600)


def leave(code):
    sys.exit(code)


def kill_itself(_):
    os.kill(os.getpid(), signal.SIGKILL)


def fail_after(seconds):
    time.sleep(seconds)
    raise ValueError("x" * 5000)


def read_all(_):
    return subprocess.run(["cat"], capture_output=True, check=True).stdout.decode()


def modules(_):
    return sorted(name for name in sys.modules if name.split(".")[0] in ("keyhole", "numpy"))


def spawn_elsewhere(path):
    """Start an orphan in its own session; wait until it is one."""
    script = (
        "import os, sys, time\n"
        "if os.fork():\n"
        "    os._exit(0)\n"
        "os.setsid()\n"
        "open(sys.argv[1], 'w').close()\n"
        "time.sleep(600)\n"
    )
    subprocess.run([sys.executable, "-c", script, path], check=True)
    while not os.path.exists(path):
        time.sleep(0.01)
    return PROCESS


def spawn_elsewhere_and_sleep(path):
    spawn_elsewhere(path)
    time.sleep(600)


def spawn_elsewhere_and_crash(path):
    spawn_elsewhere(path)
    os.kill(os.getpid(), signal.SIGKILL)


def hop(program):
    """Start a chain of processes, each in its own session, each of which starts the next."""
    beat = os.path.join(os.path.dirname(program), "beat")
    subprocess.Popen([program, beat, "own"])
    time.sleep(600)


def hold_the_answers(path):
    """Fork into a new session with all open descriptors, and return."""
    if os.fork() == 0:
        os.setsid()
        open(path, "w").close()
        time.sleep(600)
        os._exit(0)
    while not os.path.exists(path):
        time.sleep(0.01)
    return "done"


def sleep_with_a_child(path):
    if not path:
        return "no sleep"
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    open(path, "w").close()
    time.sleep(600)
    return "slept"
