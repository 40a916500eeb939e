"""HTTP protocol for Uvicorn, with a deadline of ten seconds for the headers of a request."""

import asyncio
from math import inf
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class HeaderDeadlineProtocol(HttpToolsProtocol):
    """A connection that is closed when the headers of its next request are late.

    Without the deadline a few hundred silent connections would keep all others out.
    """

    header_seconds: ClassVar[float] = 10.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._waiting_since = self.loop.time()
        self._check_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Read data; wait for headers until they are complete, and again after the response."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._waiting_since = inf
        elif self._waiting_since == inf:
            self._waiting_since = self.loop.time()

    def _check_deadline(self) -> None:
        # One check every ten seconds takes less time than a timer for each request.
        seconds_left = self._waiting_since + self.header_seconds - self.loop.time()
        if seconds_left > 0.0:
            seconds = min(seconds_left, self.header_seconds)
            self._timer = self.loop.call_later(seconds, self._check_deadline)
        else:
            self.transport.close()
