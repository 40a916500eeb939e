"""Checks on a cluster worker: its versions, and whether the client still wants a task."""

import socket
import sys
from collections.abc import Callable, Mapping
from typing import Final

_ENDING: Final = ("closing", "closed", "failed")


def check_versions(there: Mapping[str, str], here: Mapping[str, str]) -> None:
    """Refuse a worker whose versions, by name, differ from those of its client."""
    for name, version in there.items():
        if here.get(name) != version:
            raise ValueError(
                f"the worker on {socket.gethostname()} has {name} {version}, and this client has "
                f"{name} {here.get(name)}: install the same version on both"
            )


def make_wanted_check() -> Callable[[], bool]:
    """Return a function that says whether the client still wants the task of this thread.

    Dask cannot end a task that has begun, and forgets it when its client is gone; Ray ends it.
    """
    try:
        # Not imported: in a task of Dask it is loaded already, and elsewhere it may not be
        # installed.
        worker = sys.modules["distributed"].get_worker()
    except (KeyError, ValueError):  # not in a task of Dask
        return lambda: True
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return not (task is None or task.state == "cancelled" or worker.status.name in _ENDING)

    return wanted
