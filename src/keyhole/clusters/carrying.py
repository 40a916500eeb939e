"""What runs on a worker around every task: its errors travel as words.

An exception of somebody's own class could not be read where that class is not known.
"""

import builtins
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from keyhole.clusters.cluster import Ended


@dataclass(frozen=True)
class Failure:
    """An error, in words."""

    kind: str
    text: str

    def error(self) -> Exception:
        """Return it as an error of the same built-in type; of another one, as a RuntimeError."""
        kind = getattr(builtins, self.kind, None)
        if isinstance(kind, type) and issubclass(kind, Exception):
            return kind(self.text)
        return RuntimeError(f"{self.kind}: {self.text}")


def carry_out(function: Callable[..., Any], *args: Any) -> Any:
    """Return what a function returns, or the `Failure` that stands for what it raised."""
    try:
        return function(*args)
    except Exception as error:
        return Failure(type(error).__name__, str(error))


def ended(ticket: int, value: Any) -> Ended:
    """Return how a task ended, by what `carry_out` returned."""
    if isinstance(value, Failure):
        return Ended(ticket, error=value.error())
    return Ended(ticket, value)


def died(times: int) -> RuntimeError:
    """Return the error of a task that had no luck with its workers."""
    return RuntimeError(
        f"{times} workers died at the same task: each may have run out of memory; "
        "see what they have logged"
    )
