"""Uvicorn's protocol, which waits for the headers of a request for ten seconds."""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class HeaderDeadlineProtocol(HttpToolsProtocol):
    """A connection that is closed when the headers of its next request are late.

    Without it a few hundred silent connections would keep all others out.
    """

    header_seconds: ClassVar[float] = 10.0
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for the first request."""
        super().connection_made(transport)
        self._set_deadline()

    def data_received(self, data: bytes) -> None:
        """Read data; wait no longer once headers are complete."""
        super().data_received(data)
        self._set_deadline()

    def _set_deadline(self) -> None:
        is_in_request = self.cycle is not None and not self.cycle.response_complete
        if is_in_request and self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        elif not is_in_request and self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self.transport.close)
