"""The rows in which a study keeps its decisions: round, time, context and decision."""

from collections.abc import Collection
from typing import Final

import numpy as np

from keyhole.contract.memory import FloatArray
from keyhole.contract.setting import Setting
from keyhole.play.study_vocabulary import Values
from keyhole.study.arms import Arms
from keyhole.study.events import AT, HEAD, ROUND, STREAM
from keyhole.study.form import Form
from keyhole.study.storage import Row

_CELL: Final = 8


class DecisionRows:
    """Reads and writes the rows of decisions, in which an arm has its number for good.

    Parameters
    ----------
    setting : Setting
        The fields of context and decision.
    sizes : dict of str to int
        The lengths that their shapes refer to.
    arms : Arms
        The arms of the study.

    Attributes
    ----------
    bytes : int
        The length of a row.
    """

    def __init__(self, setting: Setting, sizes: dict[str, int], arms: Arms) -> None:
        self.context, self.decision = Form(setting.context, sizes), Form(setting.decision, sizes)
        self._arms = arms
        self._decision = HEAD.size + self.context.bytes  # where it begins
        self.bytes = self._decision + self.decision.bytes

    def of_event(self, asked: Row) -> bytes:
        """Return the row of a decision that was handed out, from its event."""
        body, begin = asked.body, ROUND.size
        end = begin + self.bytes - HEAD.size
        return body[:begin] + AT.pack(asked.at) + body[begin:end]

    def stream_of_event(self, body: bytes) -> tuple[int, int]:
        """Return the policy's stream after a decision, from the body of its event."""
        first, second = STREAM.unpack_from(body, ROUND.size + self.bytes - HEAD.size)
        return first, second

    def values(self, row: bytes) -> tuple[Values, Values]:
        """Return context and decision of a row."""
        return self.context.unpack(row, HEAD.size), self.decision.unpack(row, self._decision)

    def context_of(self, row: bytes) -> bytes:
        """Return the context of a row as it lies there."""
        return row[HEAD.size : self._decision]

    def is_live(self, row: bytes) -> bool:
        """Return whether the arm of a decision is in use."""
        if not self._arms.have_moved:
            return True
        return self._arms.is_live(self.decision.unpack(row, self._decision)["arm"])

    def placed(self, row: bytes) -> bytes | None:
        """Return a row with the position of its arm; None for an arm that is retired."""
        if not self._arms.have_moved:
            return row
        decision = self.decision.unpack(row, self._decision)
        decision["arm"] = int(self._arms.positions[decision["arm"]])
        if decision["arm"] < 0:
            return None
        return row[: self._decision] + self.decision.pack(decision) + row[self.bytes :]

    def numbered(self, decision: bytes) -> bytes:
        """Return a decision of the policy with the number of its arm."""
        if not self._arms.have_moved:
            return decision
        values = self.decision.unpack(decision)
        values["arm"] = int(self._arms.live[values["arm"]])
        return self.decision.pack(values)

    def as_cells(self, rows: Collection[bytes], now: float, second: float) -> FloatArray:
        """Return many rows as kernels read them, one a line, without those of retired arms.

        All at once, since a policy is shown all its pending decisions again and again. The time
        gives way to the age, of which a `second` has so many units: none where it consumes nothing.
        """
        cells = np.frombuffer(bytearray(b"".join(rows)), np.int64).reshape(len(rows), -1)
        times = cells[:, 1].view(np.float64)
        times[:] = np.maximum(0.0, now - times) * second
        if self._arms.have_moved:
            column = self._decision // _CELL + self.decision.cell("arm")
            positions = self._arms.positions[cells[:, column]]
            cells = cells[positions >= 0]
            cells[:, column] = positions[positions >= 0]
        return cells.view(np.float64)
