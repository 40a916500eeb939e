"""The rows in which a study keeps its decisions: round, time, context and decision.

A study is a policy (a rule that chooses among options) that decides for real; the context is what
it is shown before a decision.
"""

from collections.abc import Collection
from struct import Struct
from typing import Final

import numpy as np

from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import FloatArray, IntArray
from keyhole.play.study_vocabulary import Values
from keyhole.study.arms import Arms
from keyhole.study.events import ROUND, ROW_HEADER, STREAM, TIME
from keyhole.study.row_codec import RowCodec
from keyhole.study.storage import Row

_CELL: Final = 8
_NUMBER: Final = Struct("<q")


class DecisionBytes:
    """Reads and writes rows of decisions, in which arms have permanent numbers.

    Parameters
    ----------
    setting : Setting
        The fields of context and decision.
    sizes : dict of str to int
        The lengths that their shapes refer to.
    arms : Arms
        The arms of the study.
    arm_fields : tuple of str
        The fields of the decision that hold arms.

    Attributes
    ----------
    bytes : int
        The length of a row.
    """

    def __init__(
        self, setting: Setting, sizes: dict[str, int], arms: Arms, arm_fields: tuple[str, ...]
    ) -> None:
        self.context = RowCodec(setting.context, sizes)
        self.decision = RowCodec(setting.decision, sizes)
        self._arms = arms
        self._decision = ROW_HEADER.size + self.context.bytes  # where it begins
        self.bytes = self._decision + self.decision.bytes
        self._cells = [cell for name in arm_fields for cell in self.decision.cells(name)]
        self._places = [_CELL * cell for cell in self._cells]  # offsets of arms in a decision

    def row_of_event(self, asked: Row) -> bytes:
        """Return the row of a decision, from the event that handed it out."""
        # The time is no part of the body: it is a column of the log.
        body, begin = asked.body, ROUND.size
        end = begin + self.bytes - ROW_HEADER.size
        return body[:begin] + TIME.pack(asked.at) + body[begin:end]

    def stream_of_event(self, body: bytes) -> tuple[int, int]:
        """Return the policy's random stream after a decision, from the body of its event."""
        first, second = STREAM.unpack_from(body, ROUND.size + self.bytes - ROW_HEADER.size)
        return first, second

    def values(self, row: bytes) -> tuple[Values, Values]:
        """Return context and decision of a row."""
        return self.context.unpack(row, ROW_HEADER.size), self.decision.unpack(row, self._decision)

    def context_of(self, row: bytes) -> bytes:
        """Return the context of a row, packed."""
        return row[ROW_HEADER.size : self._decision]

    def is_live(self, row: bytes) -> bool:
        """Return whether all arms of a decision are in use."""
        if not self._arms.has_retired_arms:
            return True
        return all(self._arms.is_live(number) for number in self._numbers(row))

    def positions(self, row: bytes) -> list[int]:
        """Return the positions of the arms of a decision; -1 for retired ones."""
        return [int(self._arms.positions[number]) for number in self._numbers(row)]

    def _numbers(self, row: bytes) -> list[int]:
        return [_NUMBER.unpack_from(row, self._decision + place)[0] for place in self._places]

    def with_positions(self, row: bytes) -> bytes | None:
        """Return a row with positions for arm numbers; None if an arm is retired."""
        # As long as no arm is retired, as in most studies, numbers are positions.
        if not self._arms.has_retired_arms:
            return row
        if not self.is_live(row):
            return None
        return self._replace_arms(row, self._decision, self._arms.positions)

    def with_numbers(self, decision: bytes) -> bytes:
        """Return a decision of the policy with permanent numbers for its arms."""
        if not self._arms.has_retired_arms:
            return decision
        return self._replace_arms(decision, 0, self._arms.live)

    def _replace_arms(self, row: bytes, begin: int, other: IntArray) -> bytes:
        """Return a row with other numbers for its arms; its decision begins at `begin`."""
        found = bytearray(row)
        for place in self._places:
            (number,) = _NUMBER.unpack_from(row, begin + place)
            _NUMBER.pack_into(found, begin + place, int(other[number]))
        return bytes(found)

    def as_cells(self, rows: Collection[bytes], now: float, second: float) -> FloatArray:
        """Return rows as kernels read them, one a line, without rows of retired arms.

        The time of asking is replaced by the decision's age, times `second`.
        """
        # All rows at once: the pending decisions are imputed again for every decision of some
        # studies.
        cells = np.frombuffer(bytearray(b"".join(rows)), np.int64).reshape(len(rows), -1)
        # The second number of a row is the time of the decision; kernels get its age instead.
        times = cells[:, 1].view(np.float64)
        times[:] = np.maximum(0.0, now - times) * second
        if self._arms.has_retired_arms:
            columns = self._decision // _CELL + np.array(self._cells)
            positions = self._arms.positions[cells[:, columns]]
            are_live = (positions >= 0).all(axis=1)
            cells = cells[are_live]
            cells[:, columns] = positions[are_live]
        return cells.view(np.float64)
