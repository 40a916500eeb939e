"""Blocks: the replications that a run has played so far, some to a file.

A file is a line of JSON (what it holds, of which run, its checksum), then the values as float64,
lowest byte first. One that differs in a single bit from what it must be is as good as none.
"""

import hashlib
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from keyhole.contract.memory import FloatArray
from keyhole.drivers.engine import LANES
from keyhole.files import write_atomically
from keyhole.play.progress import Report
from keyhole.play.simulation import Plan

# Rounds in a block: about half a second of work, which is what a killed run loses.
_BLOCK_ROUNDS: Final = 30_000_000
_FORMAT: Final = "keyhole-block"
_NUMBER: Final = "<f8"


@dataclass(frozen=True)
class Block:
    """What one file holds: of a run, by its digest, a policy's replications from `first` on."""

    run: str
    label: str
    first: int
    shape: tuple[int, int, int]
    """Checkpoints, metrics, replications."""

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
        """Return the values that a file holds, or None if it is not this block, whole."""
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
        """Write the file in one step."""
        data = np.ascontiguousarray(values, _NUMBER).tobytes()
        write_atomically(path, self._head(data) + data)


def play_in_blocks(
    folder: Path,
    name: str,
    plan: Plan,
    label: str,
    replications: int,
    *,
    digest: str,
    threads: int | None,
    report: Report | None,
) -> FloatArray:
    """Return one policy's values, playing the blocks that are not in the folder yet.

    The folder is made if need be; the blocks' files begin with `name`. `digest` is that of all
    that decides the results, and `report` is told the progress over all blocks.
    """
    folder.mkdir(exist_ok=True)
    rounds = plan.rounds(plan.policies[label])
    parts = []
    for part in _ranges(replications, rounds):
        path = folder / f"{name}-{part.start:08d}.block"
        shape = (len(plan.checkpoints), len(plan.metrics), len(part))
        block = Block(digest, label, part.start, shape)
        values = block.read(path)
        if values is None:
            values = plan.play(
                label, part, threads=threads, report=_shifted(report, part, replications, rounds)
            )
            block.write(path, values)
        parts.append(values)
    return np.concatenate(parts, axis=2)


def _ranges(replications: int, rounds: int) -> Iterator[range]:
    size = max(1, _BLOCK_ROUNDS // (rounds * LANES)) * LANES
    for first in range(0, replications, size):
        yield range(first, min(first + size, replications))


def _shifted(report: Report | None, part: range, replications: int, rounds: int) -> Report | None:
    """Return a report for one block that speaks of all of them."""
    if report is None:
        return None
    return lambda label, played, _: report(
        label, part.start * rounds + played, replications * rounds
    )
