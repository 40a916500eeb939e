"""Message framing for sockets: two lengths, a JSON object, and raw bytes."""

import json
import struct
from collections.abc import Callable
from typing import Any, Final

_LENGTHS: Final = struct.Struct("!QQ")


def encode_frame(fields: dict[str, object], rest: bytes = b"") -> bytes:
    """Return a message as bytes: its fields as JSON, then `rest`."""
    text = json.dumps(fields).encode()
    return _LENGTHS.pack(len(text), len(rest)) + text + rest


def is_frame(data: bytes | bytearray) -> bool:
    """Return whether bytes are exactly one complete message."""
    if len(data) < _LENGTHS.size:
        return False
    size, rest_size = _LENGTHS.unpack_from(data)
    return len(data) == _LENGTHS.size + int(size) + int(rest_size)


def read_frame(read: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return the next message; None if the stream ends before the message does.

    `read` takes a number of bytes and returns at most so many, as `socket.recv` does.
    """
    lengths = _read_exactly(read, _LENGTHS.size)
    if lengths is None:
        return None
    size, rest_size = _LENGTHS.unpack(lengths)
    text, rest = _read_exactly(read, size), _read_exactly(read, rest_size)
    if text is None or rest is None:
        return None
    return json.loads(text), rest


def _read_exactly(read: Callable[[int], bytes], size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        chunk = read(min(size - len(data), 1 << 20))
        if not chunk:
            return None
        data += chunk
    return bytes(data)
