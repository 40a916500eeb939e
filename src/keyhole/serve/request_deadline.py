"""Uvicorn's protocol with a deadline for requests, and a limit on the size of their headers."""

import asyncio
from math import inf
from typing import ClassVar, Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_ANSWER: Final = "HTTP/1.1 {}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
_MAX_HEADERS: Final = 1 << 16  # bytes, the first line included


class RequestDeadlineProtocol(HttpToolsProtocol):
    """A connection that is closed if its next request comes too late, or has too long headers.

    A request, with its body, must come within `request_seconds`. Without this deadline, a few
    hundred silent connections would keep all others out. Headers are limited, since the parser
    takes time that is quadratic in their length.
    """

    request_seconds: ClassVar[float] = 20.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._header_size = 0
        self._waiting_since = self.loop.time()  # infinite while no request is awaited
        self._check_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer."""
        super().connection_lost(exc)
        self._timer.cancel()

    def data_received(self, data: bytes) -> None:
        """Read data; stop waiting at the end of a request, and wait again at the next data."""
        super().data_received(data)
        if self.cycle is not None and not (self.cycle.more_body or self.cycle.response_complete):
            self._waiting_since = inf
        elif self._waiting_since == inf:
            self._waiting_since = self.loop.time()
        self._header_size += len(data)
        if self.cycle is not None and not self.cycle.response_complete:  # the headers are complete
            self._header_size = 0
        if self._header_size > _MAX_HEADERS:
            self._end("431 Request Header Fields Too Large")

    def _check_deadline(self) -> None:
        # One timer serves all requests: one for each would take a tenth of their processor time.
        seconds_left = self._waiting_since + self.request_seconds - self.loop.time()
        if seconds_left > 0.0:
            seconds = min(seconds_left, self.request_seconds)
            self._timer = self.loop.call_later(seconds, self._check_deadline)
        else:
            self._end("408 Request Timeout")

    def _end(self, status: str) -> None:
        """Answer with a status and close the connection."""
        self.transport.write(_ANSWER.format(status).encode())
        self.transport.close()
