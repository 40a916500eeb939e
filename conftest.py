"""Every test ends: a time limit, and a watchdog for what the limit cannot interrupt."""

import faulthandler
import os
import sys

import pytest

# Tests say what is interpreted; nothing else is, however little there is to do. Processes that they
# start inherit it.
os.environ.setdefault("KEYHOLE_INTERPRET", "0")

pytest_plugins = ["tools.cpu_times"]

SLOW = 3600  # seconds a test that is marked slow may take
GRACE = 60  # seconds for a test to end after its limit

_terminal = pytest.StashKey[int]()


def pytest_configure(config):
    """Keep the terminal's standard error: a test's own is captured."""
    config.stash[_terminal] = os.dup(sys.__stderr__.fileno())


def pytest_unconfigure(config):
    """Let it go."""
    os.close(config.stash[_terminal])


def pytest_collection_modifyitems(items):
    """Give slow tests more time."""
    for item in items:
        if item.get_closest_marker("slow") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(SLOW))


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_runtest_protocol(item):
    """End the process if a test outlives its limit, as an endless loop of compiled code does.

    Such a loop may hold the interpreter's lock, so that neither a signal's handler nor another
    thread of Python can run. The watchdog is a thread of C; it prints where all threads are. Under
    xdist the test then counts as failed, and another process goes on with the rest.
    """
    marker = item.get_closest_marker("timeout")
    limit = float(marker.args[0] if marker else item.config.getini("timeout"))
    faulthandler.dump_traceback_later(limit + GRACE, exit=True, file=item.config.stash[_terminal])
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()
