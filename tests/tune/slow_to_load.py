"""A function in a file that takes longer to import than the limit of the function."""

import time

time.sleep(0.6)


def works(instance, factor):
    """Return a reward, the size of the instance."""
    return float(instance) * factor
