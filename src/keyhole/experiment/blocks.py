"""Blocks: the replications that a run has played so far, one file each.

A block is a line of JSON, which says what it holds, of which run, and its checksum; then the
values, as float64 with the lowest byte first. It is read by one who knows what it must be: a file
that differs in a single bit, or belongs to another run, policy or range, is as good as none.
"""

import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from keyhole.contract.memory import FloatArray
from keyhole.files import write_atomically

_FORMAT: Final = "keyhole-block"
_NUMBER: Final = "<f8"


@dataclass(frozen=True)
class Block:
    """What one file holds.

    Parameters
    ----------
    run : str
        The digest of the run.
    label : str
        The policy.
    first : int
        The first replication.
    shape : tuple of int
        How many checkpoints, metrics and replications.
    """

    run: str
    label: str
    first: int
    shape: tuple[int, int, int]

    def _head(self, values: bytes) -> bytes:
        content = {
            "format": _FORMAT,
            "run": self.run,
            "policy": self.label,
            "first": self.first,
            "shape": self.shape,
            "checksum": hashlib.sha256(values).hexdigest(),
        }
        return json.dumps(content).encode() + b"\n"

    def read(self, path: Path) -> FloatArray | None:
        """Return the values that a file holds, or None if it is not this block, whole.

        Raises
        ------
        ValueError
            If a folder is in the file's place.
        """
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            return None
        except IsADirectoryError:
            raise ValueError(f"{path} must be a file, got a folder; remove it") from None
        size = math.prod(self.shape) * np.dtype(_NUMBER).itemsize
        head, values = data[:-size], data[-size:]
        if head != self._head(values):
            return None
        return np.frombuffer(values, _NUMBER).astype(np.float64).reshape(self.shape)

    def write(self, path: Path, values: FloatArray) -> None:
        """Write the file in one step.

        Raises
        ------
        OSError
            If it cannot be written.
        """
        data = np.ascontiguousarray(values, _NUMBER).tobytes()
        write_atomically(path, self._head(data) + data)
