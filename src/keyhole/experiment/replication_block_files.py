"""Files with finished parts of a simulation, from which an interrupted one is resumed."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.files import write_atomically
from keyhole.play.policy_simulation_job import ReplicationBlock, SimulationJob

_RANGE: Final = re.compile(r"(\d+)-(\d+)\.block")

StoredBlock = tuple[range, FloatArray]
"""Some replications and their values."""


def write_block(folder: Path, name: str, block: ReplicationBlock, data: bytes) -> None:
    """Write a block atomically to a file whose name begins with `name`."""
    write_atomically(folder / f"{name}-{block.first:010d}-{block.stop:010d}.block", data)


def read_blocks(folder: Path, name: str, job: SimulationJob) -> list[StoredBlock]:
    """Return the blocks of a job in a folder, in order; skip damaged and foreign files."""
    found: list[StoredBlock] = []
    for path in sorted(folder.glob(f"{name}-*.block")):
        written = _RANGE.fullmatch(path.name.removeprefix(f"{name}-"))
        # Later, when its block is to be written, this would fail after the simulation.
        if path.is_dir():
            raise ValueError(f"{path} must be a file, got a folder; remove it")
        if written is None or not path.is_file():
            continue
        # The name gives the range, but only `from_bytes` decides: it compares plan, range and
        # checksum in the file, so that renamed or exchanged files are simulated again.
        part = range(*map(int, written.groups()))
        # Sorted by name, blocks are in order of their first replication. One that overlaps the
        # block before it is skipped: merged values must have each replication once.
        end = found[-1][0].stop if found else 0
        if not end <= part.start < part.stop <= job.replications:
            continue
        values = job.block(part).from_bytes(path.read_bytes())
        if values is not None:
            found.append((part, values))
    return found


def missing_replications(parts: Iterable[range], replications: int) -> list[range]:
    """Return the replications that sorted ranges leave out.

    Examples
    --------
    >>> missing_replications([range(0, 8), range(16, 20)], 24)
    [range(8, 16), range(20, 24)]
    """
    missing, end = [], 0
    for part in parts:
        missing.append(range(end, part.start))
        end = part.stop
    return [gap for gap in (*missing, range(end, replications)) if gap]


def merge_blocks(found: Sequence[StoredBlock], replications: int) -> FloatArray:
    """Return the values of all replications; refuse if some are missing."""
    if missing := missing_replications([part for part, _ in found], replications):
        raise ValueError(
            f"the block of replication {missing[0].start} was changed by another program; run the "
            "spec again"
        )
    return np.concatenate([values for _, values in found], axis=2)
