"""What a task may ask where it runs."""

import sys
from collections.abc import Callable
from typing import Final

_ENDING: Final = ("closing", "closed", "failed")


def wanting() -> Callable[[], bool]:
    """Return what says whether anybody still wants the task that this thread runs.

    Dask ends no task that has begun, and forgets it when its client is gone; Ray ends it.
    """
    try:
        worker = sys.modules["distributed"].get_worker()
    except (KeyError, ValueError):  # not in a task of Dask
        return lambda: True
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return not (task is None or task.state == "cancelled" or worker.status.name in _ENDING)

    return wanted
