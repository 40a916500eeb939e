"""What a command prints: all of it is taken, the first and the last of it kept."""

import os
from typing import Final

_CHUNK: Final = 1 << 16
_CHUNKS: Final = 16  # at a time, so that somebody who prints for ever keeps nobody from looking


class Output:
    """A pipe, and up to `size` bytes of what comes through it: the first and the last half."""

    def __init__(self, size: int) -> None:
        self._first, self._last, self._half = bytearray(), bytearray(), size // 2
        self._all = 0
        self.reading, self.writing = os.pipe()
        os.set_blocking(self.reading, False)

    def take(self) -> bool:
        """Take what there is; return whether there may be more some day."""
        for _ in range(_CHUNKS):
            try:
                data = os.read(self.reading, _CHUNK)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._all += len(data)
            room = self._half - len(self._first)
            self._first += data[:room]
            self._last += data[room:]
            if len(self._last) > self._half:
                del self._last[: len(self._last) - self._half]
        return True

    def kept(self) -> bytes:
        """Return what was kept, and in between how much was not."""
        more = self._all - len(self._first) - len(self._last)
        left_out = b"\n... %d bytes ...\n" % more if more and self._half else b""
        return bytes(self._first + left_out + self._last)
