"""Runners in containers that allow less than the machine; such containers are made here."""

import json
import os
import shutil
import subprocess
import sys

import pytest

UNSHARE = shutil.which("unshare")
pytestmark = pytest.mark.skipif(
    UNSHARE is None or subprocess.run([UNSHARE, "-Urpfm", "--mount-proc", "true"]).returncode != 0,
    reason="needs unshare(1) and user namespaces",
)
SCRIPT = """if True:
    import json, sys
    from keyhole.runner import CommandRunner

    take = "import time; kept = b'x' * (50 << 20); time.sleep(0.3)"
    with CommandRunner() as runner:
        command = f'sleep 600 & {sys.executable} -S -c "{take}"'
        run = runner.run(["sh", "-c", command], limit=60)
        print(json.dumps([runner.description, run.outcome, run.left, run.memory, run.cpu]))
"""


def inside(*container):
    """Run a script in a container; return the description of its runner."""
    done = subprocess.run(
        [UNSHARE, *container, sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        timeout=600,
    )
    if done.returncode != 0:
        pytest.skip(f"no such container here: {done.stderr[-200:]}")
    words, outcome, left, memory, cpu = json.loads(done.stdout)
    assert (outcome, left) == ("ok", 1)
    assert memory > 50 << 20
    assert cpu > 0
    return words


def test_without_namespaces_the_subreaper_is_used():
    script = 'echo 0 > /proc/sys/user/max_pid_namespaces && exec "$@"'
    words = inside("-Ur", "sh", "-c", script, "sh")
    assert words.startswith("subreaper: ")
    assert "; not available: namespace (clone: " in words
