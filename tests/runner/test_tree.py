import os
import subprocess
import sys

import pytest

from keyhole.runner.helper import tree
from tests.runner.survivors import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc")


@pytest.mark.parametrize("listed", [True, False], ids=["lists of children", "all processes"])
def test_all_that_is_below_is_found(monkeypatch, listed):
    if listed and not tree._LISTED:
        pytest.skip("a kernel without lists of children")
    monkeypatch.setattr(tree, "_LISTED", listed)
    before = {process.pid for process in tree.below()}
    child = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
    try:

        def new():
            return [process for process in tree.below() if process.pid not in before]

        assert until(lambda: len(new()) == 2)
        first, second = new()
        assert (first.pid, first.parent, second.parent) == (child.pid, os.getpid(), child.pid)
        assert first.alive
        assert until(lambda: 0 < tree.proportional(second) < 1 << 30)
    finally:
        os.killpg(child.pid, 9)
        child.wait()


def test_a_bomb_is_not_looked_at_to_its_end(monkeypatch):
    monkeypatch.setattr(tree, "_MOST", 1)
    child = subprocess.Popen(["sh", "-c", "sleep 600 & wait"], start_new_session=True)
    try:
        assert until(lambda: len(tree.below()) == 1)
    finally:
        os.killpg(child.pid, 9)
        child.wait()
