"""Killing a session, whose processes may be in groups of their own."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from keyhole.clusters.process_termination import kill_session

LEADER = """
import os, subprocess, sys, time
child = subprocess.Popen(["sleep", "600"], process_group=0)
print(child.pid, flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks into /proc")
def test_processes_in_groups_of_their_own_are_killed_too():
    words = [sys.executable, "-c", LEADER]
    with subprocess.Popen(
        words, stdout=subprocess.PIPE, text=True, start_new_session=True
    ) as leader:
        child = int(leader.stdout.readline())
        assert os.getpgid(child) == child
        kill_session(leader.pid)
        assert leader.wait() == -9
    assert not is_alive(child)


def test_a_session_that_has_ended_is_left_alone():
    with subprocess.Popen(["true"], start_new_session=True) as leader:
        leader.wait()
    kill_session(leader.pid)


def is_alive(pid):
    """Return whether a process has not ended, whoever is to reap it."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
