"""Functions to be tuned, in a file with few imports."""

import atexit
import io
import sys
import threading
import time


def works(instance, factor, limit):
    """Return a reward, the size of the instance."""
    return float(instance) * factor


def waits(instance):
    """Never return."""
    time.sleep(60)


def prints_at_the_end():
    """Succeed, with an exit handler that prints."""
    atexit.register(print, "bye")
    return 0.7


def replaces_stdout():
    """Succeed with a replaced sys.stdout."""
    sys.stdout = io.StringIO()
    return 0.7


def leaves_a_thread():
    """Succeed, and leave a thread running."""
    threading.Thread(target=time.sleep, args=(60,)).start()
    return 0.7


def says_no():
    """Return False as NumPy's bool."""
    import numpy as np

    return np.bool_(False)


def raises():
    """Raise an exception."""
    raise ValueError("no good")


def needs(low, seed, high=None):
    """Succeed if the second argument is there where the first one needs it."""
    return (high is not None) == (low == 2)
