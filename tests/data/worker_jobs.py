"""What the worker of the tests is given to do."""

import os
import subprocess
import sys
import time

SLOW = 1.0


def double(n):
    return 2 * n


def prepare():
    """Prepare nothing."""


def prepare_slowly():
    time.sleep(SLOW)


def fail():
    raise ImportError("no such thing")


def own_pid(_):
    return os.getpid()


def shout(text):
    sys.stdout.write(text)
    sys.stdout.flush()
    return text.upper()


def invert(n):
    if n == "exit":
        os._exit(3)
    return 1 / n


def sleep_with_a_child(path):
    if not path:
        return "no sleep"
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    with open(path, "w") as file:
        file.write(f"{os.getpid()} {child.pid}")
    time.sleep(600)
    return "slept"
