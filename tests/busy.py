"""Waiting for a process by the processor's time that it takes: load makes no difference."""

import os
import time
from pathlib import Path

import pytest

TIMEOUT = 240.0  # seconds


def wait_until_busy(process, seconds=1.0):
    """Wait until a process has computed for so long from now on; or has ended."""
    if not Path("/proc/self/stat").exists():
        pytest.skip("looks into /proc")
    goal, end = _computed(process) + seconds, time.monotonic() + TIMEOUT
    while process.poll() is None and _computed(process) < goal:
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def _computed(process):
    """Return for how many seconds all threads of a process have computed."""
    try:
        words = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")
