"""Output capture: drain the output of a command, and keep its start and its end."""

import os
from typing import Final

_CHUNK: Final = 1 << 16
_CHUNKS_PER_CALL: Final = 16  # then limits are checked: endless output must not delay that


class OutputCapture:
    """A pipe, and up to `size` bytes of its data: half from the start, half from the end."""

    def __init__(self, size: int) -> None:
        self._first, self._last, self._half = bytearray(), bytearray(), size // 2
        self._all = 0
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)

    def drain(self) -> bool:
        """Read what the pipe holds; return False at the end of the stream."""
        for _ in range(_CHUNKS_PER_CALL):
            try:
                data = os.read(self.reading, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._all += len(data)
            free = self._half - len(self._first)
            self._first += data[:free]
            self._last += data[free:]
            if len(self._last) > self._half:
                del self._last[: len(self._last) - self._half]
        return True

    def kept_bytes(self) -> bytes:
        """Return what was kept; a line between start and end says how many bytes are missing."""
        more = self._all - len(self._first) - len(self._last)
        left_out = b"\n... %d bytes ...\n" % more if more and self._half else b""
        return bytes(self._first + left_out + self._last)
