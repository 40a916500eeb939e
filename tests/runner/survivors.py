"""Find processes by a tag in their environment, and the helpers that run them."""

import os
import signal
import time
from contextlib import suppress
from pathlib import Path

TAG = "KEYHOLE_TEST_TAG"
TIMEOUT = 60.0  # seconds that a slow machine may take for anything


def tagged(tag):
    """Return living processes with the tag."""
    return [pid for pid, _ in _processes() if f"{TAG}={tag}".encode() in _read(pid, "environ")]


def helpers_of(tuner):
    """Return the living helpers of a process, and their inits."""
    return [pid for pid, _ in _processes() if _is_helper(_read(pid, "cmdline"), str(tuner))]


def parent_of(pid):
    return int(Path("/proc", str(pid), "stat").read_bytes().rpartition(b")")[2].split()[1])


def _is_helper(words, tuner):
    return any(b"helper.server" in word for word in words) and tuner.encode() in words


def _processes():
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError):
                state = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()[0]
                if state not in (b"Z", b"X"):
                    yield int(name), state


def _read(pid, what):
    try:
        return Path("/proc", str(pid), what).read_bytes().split(b"\0")
    except OSError:
        return []


def beats(folder):
    """Return whether a chain of short-lived processes continues."""
    beat = Path(folder, "beat")
    if not beat.exists():
        return False
    before = beat.read_bytes()
    time.sleep(0.1)
    return beat.read_bytes() != before


def until(condition):
    """Wait for a condition; return whether it came true."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def clean(tag):
    """Kill processes that a test has left."""
    end = time.monotonic() + TIMEOUT
    while (left := tagged(tag)) and time.monotonic() < end:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
