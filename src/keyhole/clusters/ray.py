"""A cluster under Ray's scheduler.

Where Ray is used it takes the signals of the process, prints on its terminal, and ends it when the
head is gone. So it has a process of its own, `keyhole.clusters.ray_driver`, beside this one.
"""

import os
import pickle
import sys
from contextlib import suppress
from itertools import count
from queue import Empty, SimpleQueue
from secrets import token_hex
from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired
from threading import Lock, Thread
from typing import IO, Any, Final, Self, cast

import ray

from keyhole.clusters.carrying import ended
from keyhole.clusters.cluster import Ended, GoneError
from keyhole.clusters.ray_driver import AGAIN, START, Shared

_BOOT: Final = (
    "import sys; sys.argv[0], *sys.path[:] = sys.argv[1:]; "
    "from keyhole.clusters.ray_driver import main; main()"
)
_TO_START: Final = 90.0
_TO_END: Final = 20.0


def start(on: str, address: str | None, workers: int | None) -> "Ray":
    """Return the cluster at an address, or one of so many processes of this machine.

    Without an address it is the one that this process has initialised, as it is, if it has.
    """
    if address is None and ray.is_initialized():
        address = ray.get_runtime_context().gcs_address
    return Ray(on, address, workers)


class Ray:
    """The workers of Ray, by way of its driver's process.

    What a driver is asked for are tuples of a ticket, what is done under it, and what is shared
    with it; it answers with tickets and what became of them, and with the number of slots.
    """

    def __init__(self, name: str, address: str | None, workers: int | None) -> None:
        self.name = name
        self._tickets, self._slots = count(START + 1), 0
        self._asking, self._came = Lock(), SimpleQueue[tuple[int, Any] | None]()
        self._driver = _started(address is None)
        self._listener = Thread(target=self._listen, daemon=True)
        self._listener.start()
        self._ask(START, (address, workers))
        try:
            [begun] = self.ended(_TO_START) or [Ended(START, error=self._gone())]
            if begun.error is not None:
                raise begun.error
        except BaseException as error:
            self.close()
            if isinstance(error, ConnectionError):
                raise GoneError(str(error)) from None
            raise

    def slots(self) -> int:
        """Return how many processors all nodes have, as of some seconds ago."""
        return self._slots

    def share(self, data: bytes) -> Shared:
        """Put the bytes into Ray's store."""
        shared = Shared(next(self._tickets))
        self._ask(shared.ticket, data)
        return shared

    def submit(self, function: Any, *args: Any) -> int:
        """Hand out a task."""
        ticket = next(self._tickets)
        shared = [one for one in args if isinstance(one, Shared)]
        self._ask(ticket, pickle.dumps((function, args)), shared)
        return ticket

    def _ask(self, *request: Any) -> None:
        """Tell the driver, unless it has ended: who waits for an answer hears of that."""
        with self._asking, suppress(OSError):
            pickle.dump(request, self._to)
            self._to.flush()

    def _listen(self) -> None:
        """Take in what the driver says, and None at last."""
        with suppress(EOFError, OSError, ValueError, pickle.UnpicklingError):
            while True:
                ticket, value = pickle.load(self._from)
                if ticket is None:
                    self._slots = value
                else:
                    self._came.put((ticket, value))
        self._came.put(None)

    def ended(self, seconds: float) -> list[Ended]:
        """Wait for a task to end."""
        found: list[Ended] = []
        with suppress(Empty):
            came = self._came.get(timeout=seconds)
            while came is not None:
                ticket, value = came
                found.append(
                    ended(ticket, pickle.loads(value) if isinstance(value, bytes) else value)
                )
                came = self._came.get_nowait()
            self._came.put(None)  # for who asks next
            if not found:
                raise self._gone()
        return found

    def _gone(self) -> GoneError:
        return GoneError(f"the head of {self.name} does not answer any more")

    def close(self) -> None:
        """End the driver, and with it what is at work."""
        with suppress(OSError):
            self._to.close()
        try:
            self._driver.wait(_TO_END)
        except TimeoutExpired:
            self._driver.kill()
            self._driver.wait()
        self._listener.join(_TO_END)
        self._from.close()

    @property
    def _to(self) -> IO[bytes]:
        return cast(IO[bytes], self._driver.stdin)

    @property
    def _from(self) -> IO[bytes]:
        return cast(IO[bytes], self._driver.stdout)

    def __enter__(self) -> Self:
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def _started(local: bool) -> Popen[bytes]:
    """Start a driver; it looks for modules where this process does, and Ctrl-C is not for it."""
    words = [sys.executable, "-c", _BOOT, sys.argv[0], *sys.path]
    settings = {"RAY_task_oom_retries": str(AGAIN)}  # else without end
    if local and "RAY_AUTH_MODE" not in os.environ:  # else a token is left in the home folder
        settings |= {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": token_hex()}
    return Popen(
        words,
        stdin=PIPE,
        stdout=PIPE,
        stderr=DEVNULL,
        env=os.environ | settings,
        start_new_session=True,
    )
