"""Framing of messages on sockets: a frame is two lengths, a JSON object, and raw bytes."""

import json
import struct
from collections.abc import Callable
from typing import Any, Final

_LENGTHS: Final = struct.Struct("!QQ")


def encode_frame(fields: dict[str, object], payload: bytes = b"") -> bytes:
    """Return the frame of a message: its fields, as JSON, and its raw bytes."""
    text = json.dumps(fields).encode()
    return _LENGTHS.pack(len(text), len(payload)) + text + payload


def is_frame(data: bytes | bytearray) -> bool:
    """Return whether bytes are exactly one complete frame."""
    if len(data) < _LENGTHS.size:
        return False
    json_size, payload_size = _LENGTHS.unpack_from(data)
    return len(data) == _LENGTHS.size + int(json_size) + int(payload_size)


def read_frame(read: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return the fields and the raw bytes of the next message; None if the stream ends first.

    `read` is a function like `socket.recv`: it returns at most as many bytes as its argument says.
    """
    lengths = _read_exactly(read, _LENGTHS.size)
    if lengths is None:
        return None
    text, payload = [_read_exactly(read, length) for length in _LENGTHS.unpack(lengths)]
    if text is None or payload is None:
        return None
    return json.loads(text), payload


def _read_exactly(read: Callable[[int], bytes], size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        chunk = read(min(size - len(data), 1 << 20))
        if not chunk:
            return None
        data += chunk
    return bytes(data)
