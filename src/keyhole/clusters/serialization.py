"""What travels between client and workers: tasks pickled, what they return, their errors in words.

An exception of somebody's own class could not be read where that class is not known.
"""

import builtins
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from keyhole.clusters.cluster import TaskResult
from keyhole.interrupts import delayed_interrupts

AGAIN: Final = 3
"""Times that a task is begun again whose worker has died."""


@dataclass(frozen=True)
class Shared:
    """Stands for bytes that were shared under a ticket."""

    ticket: int


@dataclass(frozen=True)
class Failure:
    """An error, in words."""

    kind: str
    text: str

    def error(self) -> Exception:
        """Return it as an error of the same built-in type; of another one, as a RuntimeError."""
        kind = getattr(builtins, self.kind, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            with suppress(TypeError):  # some are made of more than a text
                return kind(self.text)
        return RuntimeError(f"{self.kind}: {self.text}")


def serialize_task(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[bytes, list[int]]:
    """Return a task as it travels, and the tickets of what is shared among its arguments."""
    tickets = [one.ticket for one in args if isinstance(one, Shared)]
    return pickle.dumps((function, args)), tickets


def run_serialized(task: bytes, *shared: bytes) -> bytes:
    """Return what a packed task returns, or a `Failure`, pickled; this is what a worker runs."""
    try:
        with delayed_interrupts():  # Ray cancels a task so, and this may import
            function, args = pickle.loads(task)
        left = iter(shared)
        found = function(*(next(left) if isinstance(one, Shared) else one for one in args))
        return pickle.dumps(found)
    except Exception as error:
        return pickle.dumps(Failure(type(error).__name__, str(error)))


def unpack_result(ticket: int, value: bytes | Failure) -> TaskResult:
    """Return how a task ended, by what `run_serialized` returned, or by why it was not carried."""
    found = pickle.loads(value) if isinstance(value, bytes) else value
    if isinstance(found, Failure):
        return TaskResult(ticket, error=found.error())
    return TaskResult(ticket, found)


def missing_package_message(kind: str) -> Failure:
    """Return what workers fail with that cannot import what a task runs."""
    return Failure(
        "ImportError", f"the workers of {kind} cannot import keyhole: it must be installed there"
    )


def lost_workers_message(times: int = AGAIN + 1) -> Failure:
    """Return what a task fails with that had no luck with so many workers."""
    return Failure(
        "RuntimeError",
        f"{times} workers died at the same task: each may have run out of memory; "
        "see what they have logged",
    )
