"""Messages through sockets and pipes: two lengths, a text of JSON, and bytes as they are."""

import json
import struct
from collections.abc import Callable
from typing import Any, Final

_LENGTHS: Final = struct.Struct("!QQ")


def encode_frame(words: dict[str, Any], rest: bytes = b"") -> bytes:
    """Return a message as bytes."""
    text = json.dumps(words).encode()
    return _LENGTHS.pack(len(text), len(rest)) + text + rest


def is_frame(data: bytes | bytearray) -> bool:
    """Return whether bytes are a single message, with nothing missing and nothing after it."""
    if len(data) < _LENGTHS.size:
        return False
    size, more = _LENGTHS.unpack_from(data)
    return len(data) == _LENGTHS.size + int(size) + int(more)


def read_frame(read: Callable[[int], bytes]) -> tuple[dict[str, Any], bytes] | None:
    """Return the next message, None if it does not come to its end.

    `read` returns at most so many bytes, none at the end, as `socket.recv` does.
    """
    lengths = _exactly(read, _LENGTHS.size)
    if lengths is None:
        return None
    size, more = _LENGTHS.unpack(lengths)
    text, rest = _exactly(read, size), _exactly(read, more)
    return None if text is None or rest is None else (json.loads(text), rest)


def _exactly(read: Callable[[int], bytes], size: int) -> bytes | None:
    found = bytearray()
    while len(found) < size:
        part = read(min(size - len(found), 1 << 20))
        if not part:
            return None
        found += part
    return bytes(found)
