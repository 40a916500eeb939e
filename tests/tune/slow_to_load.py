"""A function in a file that takes longer to load than the function may."""

import time

time.sleep(0.6)


def works(instance, factor):
    """Succeed at once, by the size of the instance."""
    return float(instance) * factor
