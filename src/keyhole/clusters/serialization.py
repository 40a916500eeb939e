"""Serialisation of tasks, results and errors between client and workers.

Errors are sent as text, since the client may not have the class of a worker's exception.
"""

import builtins
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from keyhole.clusters.cluster import TaskResult
from keyhole.interrupts import delayed_interrupts

RETRIES: Final = 3
"""How often a task is retried whose worker has died."""


@dataclass(frozen=True)
class SharedBytes:
    """A reference to bytes that were broadcast under a ticket."""

    ticket: int


@dataclass(frozen=True)
class TaskFailure:
    """The name and message of an exception."""

    kind: str
    text: str

    def error(self) -> Exception:
        """Return an exception of the same built-in type, or a RuntimeError for any other."""
        kind = getattr(builtins, self.kind, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            with suppress(TypeError):  # some constructors need several arguments
                return kind(self.text)
        return RuntimeError(f"{self.kind}: {self.text}")


def serialize_task(function: Callable[..., Any], args: tuple[Any, ...]) -> tuple[bytes, list[int]]:
    """Return a pickled task, and the tickets of the broadcast bytes among its arguments."""
    tickets = [one.ticket for one in args if isinstance(one, SharedBytes)]
    return pickle.dumps((function, args)), tickets


def run_serialized(task: bytes, *shared: bytes) -> bytes:
    """Run a pickled task on a worker; return its value or a `TaskFailure`, pickled."""
    try:
        # Ray cancels a task by an interrupt, which must not stop an import half-way.
        with delayed_interrupts():
            function, args = pickle.loads(task)
        left = iter(shared)
        found = function(*(next(left) if isinstance(one, SharedBytes) else one for one in args))
        return pickle.dumps(found)
    except Exception as error:
        return pickle.dumps(TaskFailure(type(error).__name__, str(error)))


def unpack_result(ticket: int, value: bytes | TaskFailure) -> TaskResult:
    """Return the result of a task from the bytes of `run_serialized`, or from a `TaskFailure`."""
    found = pickle.loads(value) if isinstance(value, bytes) else value
    if isinstance(found, TaskFailure):
        return TaskResult(ticket, error=found.error())
    return TaskResult(ticket, found)


def missing_package_message(kind: str) -> TaskFailure:
    """Return the failure of workers that cannot import Keyhole."""
    return TaskFailure(
        "ImportError", f"the workers of {kind} cannot import keyhole: it must be installed there"
    )


def lost_workers_message(times: int = RETRIES + 1) -> TaskFailure:
    """Return the failure of a task whose workers died so many times."""
    return TaskFailure(
        "RuntimeError",
        f"{times} workers died at the same task: each may have run out of memory; "
        "see what they have logged",
    )
