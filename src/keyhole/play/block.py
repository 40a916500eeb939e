"""Blocks: some replications of one policy, as a file and as what a worker sends back.

Both are a stream of Arrow: a column for each metric, a row for each replication at each checkpoint,
and beside them what it is, of which plan, with a checksum. One that differs in a single bit from
what it must be is as good as none.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.contract.state_memory import FloatArray
from keyhole.play.plan import Plan
from keyhole.play.plan_fingerprint import json_digest, plan_parts

_FORMAT: Final = b"keyhole-block"


def plan_digest(plan: Plan) -> str:
    """Return a digest of all that decides what a plan's replications yield."""
    return json_digest([plan.seed, plan.horizon, plan.details, plan.checked, plan_parts(plan)])


@dataclass(frozen=True)
class Block:
    """A policy's replications from `first` on: of a plan, by its digest."""

    plan: str
    label: str
    first: int
    metrics: tuple[str, ...]
    checkpoints: int
    replications: int

    @property
    def stop(self) -> int:
        """The first replication that is not in it."""
        return self.first + self.replications

    @property
    def shape(self) -> tuple[int, int, int]:
        """Checkpoints, metrics, replications."""
        return self.checkpoints, len(self.metrics), self.replications

    def to_bytes(self, values: FloatArray) -> bytes:
        """Return values of its shape, with what they are."""
        import pyarrow as pa

        columns = [np.ascontiguousarray(values[:, m]).ravel() for m in range(len(self.metrics))]
        checksum = hashlib.sha256(b"".join(column.tobytes() for column in columns)).hexdigest()
        what = json.dumps([self.plan, self.label, self.first, self.shape, checksum])
        batch = pa.record_batch(columns, names=self.metrics)
        schema = batch.schema.with_metadata({_FORMAT: what.encode()})
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, schema) as stream:
            stream.write_batch(batch.replace_schema_metadata(schema.metadata))
        data: bytes = sink.getvalue().to_pybytes()
        return data

    def read(self, data: bytes) -> FloatArray:
        """Return the values of bytes that must be this block, whole."""
        values = self.from_bytes(data)
        if values is None:
            raise ValueError(
                f"replications {self.first} to {self.stop - 1} of {self.label} "
                "did not come back as they were sent"
            )
        return values

    def from_bytes(self, data: bytes) -> FloatArray | None:
        """Return the values, or None if the bytes are not this block, whole."""
        import pyarrow as pa

        try:
            stream = pa.ipc.open_stream(data)
            if set(stream.schema.types) - {pa.float64()}:
                return None
            (batch,) = stream
            columns = [column.to_numpy() for column in batch.columns]
            values = np.stack(columns, axis=1) if columns else np.empty((len(batch), 0))
            values = values.reshape(self.checkpoints, self.replications, len(columns))
        except (pa.ArrowException, ValueError, OSError):
            return None
        values = np.ascontiguousarray(values.transpose(0, 2, 1), np.float64)
        same = values.shape == self.shape and self.to_bytes(values) == data
        return values if same else None
