import os
import subprocess
import sys

import pytest

from keyhole.runner.helper import process_tree
from tests.runner.survivors import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.mark.parametrize("listed", [True, False], ids=["lists of children", "all processes"])
def test_all_descendants_are_found(monkeypatch, listed):
    if listed and not process_tree._HAS_CHILDREN_FILES:
        pytest.skip("a kernel without lists of children")
    monkeypatch.setattr(process_tree, "_HAS_CHILDREN_FILES", listed)
    before = {process.pid for process in process_tree.list_descendants()}
    child = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
    try:

        def new():
            return [
                process for process in process_tree.list_descendants() if process.pid not in before
            ]

        assert until(lambda: len(new()) == 2)
        first, second = new()
        assert (first.pid, first.parent, second.parent) == (child.pid, os.getpid(), child.pid)
        assert first.alive
        assert until(lambda: 0 < process_tree.read_proportional_size(second) < 1 << 30)
    finally:
        os.killpg(child.pid, 9)
        child.wait()


def test_a_fork_bomb_is_read_up_to_a_maximum(monkeypatch):
    monkeypatch.setattr(process_tree, "_MAX_PROCESSES", 1)
    child = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
    try:
        assert until(lambda: len(process_tree.list_descendants()) == 1)
    finally:
        os.killpg(child.pid, 9)
        child.wait()


def test_children_that_may_not_be_signalled_are_left_after_a_wait():
    """A child may become root by a setuid program."""
    script = """if True:
        import os, signal, sys
        from keyhole.runner.helper import process_tree

        def refuse(*_):
            refused.append(1)
            raise PermissionError

        refused, kill, process_tree._WAIT_SECONDS = [], os.kill, 0.1
        os.kill = os.killpg = refuse
        heard, said = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(said)
            os.read(heard, 1)
            os._exit(0)
        first = process_tree.kill_descendants()
        few = len(refused) < 100
        os.kill = kill
        print(first, few, process_tree.kill_descendants())
    """
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-S", "-c", script]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600)
    assert run.stdout.split() == ["False", "True", "True"], run.stderr
