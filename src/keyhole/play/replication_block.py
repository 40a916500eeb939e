"""Blocks: some replications (simulated histories) of a policy, encoded for files and networks.

A block is an Arrow stream with a column for each metric and a row for each replication at each
checkpoint. Its metadata have the digest of the plan and a checksum: a block that differs in a
single bit is discarded.
"""

import hashlib
import json
from dataclasses import dataclass
from typing import Final

import numpy as np

from keyhole.contract.state_arrays import FloatArray
from keyhole.extras import require_extra
from keyhole.play.plan import Plan
from keyhole.play.plan_fingerprint import json_digest, plan_parts

_FORMAT: Final = b"keyhole-block"


def plan_digest(plan: Plan) -> str:
    """Return a digest of all that determines the values of a plan's replications."""
    return json_digest([plan.seed, plan.horizon, plan.details, plan.checked, plan_parts(plan)])


@dataclass(frozen=True)
class ReplicationBlock:
    """Some replications of a policy from `first` on; `plan` is the digest of its plan."""

    plan: str
    label: str
    first: int
    metrics: tuple[str, ...]
    checkpoints: int
    replications: int

    @property
    def stop(self) -> int:
        """The first replication after the block."""
        return self.first + self.replications

    @property
    def shape(self) -> tuple[int, int, int]:
        """Checkpoints, metrics, replications."""
        return self.checkpoints, len(self.metrics), self.replications

    def to_bytes(self, values: FloatArray) -> bytes:
        """Encode values of the block's shape."""
        require_extra("files", "a block of results")
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
        """Decode the values of this block; refuse damaged bytes."""
        values = self.from_bytes(data)
        if values is None:
            raise ValueError(
                f"replications {self.first} to {self.stop - 1} of {self.label} "
                "were damaged on their way from the worker"
            )
        return values

    def from_bytes(self, data: bytes) -> FloatArray | None:
        """Decode the values; return None if the bytes are damaged or of another block."""
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
        # Rows of the table are replications within checkpoints, and columns metrics.
        values = np.ascontiguousarray(values.transpose(0, 2, 1), np.float64)
        # Encoding is deterministic, so comparing the bytes checks metadata, checksum, schema and
        # padding at once.
        same = values.shape == self.shape and self.to_bytes(values) == data
        return values if same else None
