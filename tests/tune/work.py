"""Functions to be tuned: in a file that imports next to nothing."""

import atexit
import io
import sys
import threading
import time


def works(instance, factor, limit):
    """Succeed at once, by the size of the instance."""
    return float(instance) * factor


def waits(instance):
    """Never return."""
    time.sleep(60)


def prints_at_the_end():
    """Succeed, and print afterwards."""
    atexit.register(print, "bye")
    return 0.7


def replaces_stdout():
    """Succeed, and print to nobody."""
    sys.stdout = io.StringIO()
    return 0.7


def leaves_a_thread():
    """Succeed, while something goes on."""
    threading.Thread(target=time.sleep, args=(60,)).start()
    return 0.7


def says_no():
    """Return what NumPy says of something false."""
    import numpy as np

    return np.bool_(False)


def raises():
    """Fail at once."""
    raise ValueError("no good")
