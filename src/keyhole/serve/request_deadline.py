"""Uvicorn's protocol with a deadline for requests."""

import asyncio
from math import inf
from typing import ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_LATE_ANSWER: Final = (
    b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
)


class RequestDeadlineProtocol(HttpToolsProtocol):
    """A connection that is closed when its next request, with its body, takes too long to arrive.

    Without a deadline a few hundred silent connections would keep all others out.
    """

    request_seconds: ClassVar[float] = 20.0

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
        """Read data; stop waiting once a request is complete, and begin again with later data."""
        super().data_received(data)
        if self.cycle is not None and not (self.cycle.more_body or self.cycle.response_complete):
            self._waiting_since = inf
        elif self._waiting_since == inf:
            self._waiting_since = self.loop.time()

    def _check_deadline(self) -> None:
        # A timer for each request would take a tenth of the processor time of the request.
        seconds_left = self._waiting_since + self.request_seconds - self.loop.time()
        if seconds_left > 0.0:
            seconds = min(seconds_left, self.request_seconds)
            self._timer = self.loop.call_later(seconds, self._check_deadline)
        else:
            self.transport.write(_LATE_ANSWER)
            self.transport.close()
