"""What all tests stand on."""

import signal

from hypothesis import settings

from tests.processes import end_server

# How long an example takes says of a busy machine that it is busy.
settings.register_profile("keyhole", deadline=None)
settings.load_profile("keyhole")


def pytest_configure(config):
    # Started in the background of a script, a process ignores Ctrl-C, and so do its children: the
    # tests that interrupt one would wait for ever.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_unconfigure():
    end_server()
