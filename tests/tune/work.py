"""Functions to be tuned: in a file that imports next to nothing."""

import time


def works(instance, factor, limit):
    """Succeed at once, by the size of the instance."""
    return float(instance) * factor


def waits(instance):
    """Never return."""
    time.sleep(60)
