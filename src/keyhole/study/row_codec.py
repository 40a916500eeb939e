"""The bytes of decisions and feedback: rows of numbers of 8 bytes, in states and in events."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from struct import Struct
from typing import Any, Final

import numpy as np

from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, FloatArray, IntArray
from keyhole.play.study_vocabulary import StudyVocabulary, Values
from keyhole.study.arms import Arms, pack_numbers, unpack_numbers
from keyhole.study.events import ROUND, ROW_HEADER, STREAM

_STRUCT_CODES: Final = {"int64": "q", "float64": "d"}
_CELL_BYTES: Final = 8
_NUMBER: Final = Struct("<q")


class RowCodec:
    """Packs named values into consecutive numbers of 8 bytes, and unpacks them."""

    def __init__(self, fields: Mapping[str, Field], sizes: Mapping[str, int]) -> None:
        # Little-endian without padding: the layout of kernels' arrays, the same on every machine.
        codes = "<"
        self._columns: list[tuple[str, int, int, bool]] = []  # name, begin, end, is it a number
        begin = 0
        for name, field in fields.items():
            end = begin + field.cells(sizes)
            codes += f"{end - begin}{_STRUCT_CODES[field.dtype]}"
            self._columns.append((name, begin, end, not field.shape))
            begin = end
        self._struct = Struct(codes)
        self.bytes = self._struct.size

    def cells(self, name: str) -> range:
        """Return the positions of a value's numbers."""
        return next(range(begin, end) for column, begin, end, _ in self._columns if column == name)

    def pack(self, values: Values) -> bytes:
        """Return the values as bytes."""
        flat: list[Any] = []
        for name, _, _, is_scalar in self._columns:
            flat += [values[name]] if is_scalar else values[name]
        return self._struct.pack(*flat)

    def unpack(self, data: bytes, offset: int = 0) -> Values:
        """Return the values that begin at an offset in bytes."""
        flat = self._struct.unpack_from(data, offset)
        return {
            name: flat[begin] if is_scalar else list(flat[begin:end])
            for name, begin, end, is_scalar in self._columns
        }


class FeedbackCodec:
    """Packs the feedback of a decision, followed by notes if there are any."""

    def __init__(self, vocabulary: StudyVocabulary, sizes: Mapping[str, int]) -> None:
        self._feedback = RowCodec(vocabulary.feedback_fields, sizes)
        self._notes = RowCodec(vocabulary.note_fields, sizes)
        self._noted = dict.fromkeys(vocabulary.note_fields, 0)
        self.bytes = self._feedback.bytes  # of what is learnt

    def pack(self, values: Values) -> bytes:
        """Return feedback and notes as bytes."""
        data = self._feedback.pack(values)
        # Feedback mostly has no notes, which then take no bytes.
        if any(values.get(name) for name in self._noted):
            data += self._notes.pack(self._noted | values)
        return data

    def unpack(self, data: bytes) -> Values:
        """Return feedback and notes by name."""
        values = self._feedback.unpack(data)
        if len(data) > self.bytes:
            values |= self._notes.unpack(data, self.bytes)
        return values


class DecisionRowCodec:
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
    bytes, bytes_of_event : int
        The lengths of a row, and of the body of an event that excludes no arm.
    """

    def __init__(
        self, setting: Setting, sizes: dict[str, int], arms: Arms, arm_fields: tuple[str, ...]
    ) -> None:
        self.context = RowCodec(setting.context, sizes)
        self.decision = RowCodec(setting.decision, sizes)
        self._arms = arms
        self._decision = ROW_HEADER.size + self.context.bytes  # where it begins
        self.bytes = self._decision + self.decision.bytes
        self.bytes_of_event = ROUND.size + self.bytes - ROW_HEADER.size + STREAM.size
        self._arm_cells = [cell for name in arm_fields for cell in self.decision.cells(name)]
        self._arm_offsets = [_CELL_BYTES * cell for cell in self._arm_cells]  # in a decision

    def body_of_event(
        self, round: float, cells: bytes, stream: Iterable[int], excluded: Sequence[int] = ()
    ) -> bytes:
        """Return the body of the event of a decision, given as the cells of its row."""
        body = ROUND.pack(round) + cells + STREAM.pack(*stream)
        return body + pack_numbers(excluded) if excluded else body

    def cells_of_event(self, body: bytes) -> bytes:
        """Return the cells of a decision's row from the body of its event."""
        return body[ROUND.size : self.bytes_of_event - STREAM.size]

    def stream_of_event(self, body: bytes) -> tuple[int, int]:
        """Return the policy's random stream after a decision, from the body of its event."""
        first, second = STREAM.unpack_from(body, self.bytes_of_event - STREAM.size)
        return first, second

    def excluded_arms(self, body: bytes) -> list[int]:
        """Return the numbers of the arms that a decision left out, from the body of its event."""
        bits = body[self.bytes_of_event :]
        return unpack_numbers(bits) if bits else []

    def with_arms(self, arms: Arms) -> "DecisionRowCodec":
        """Return a codec of the same rows for other arms in use."""
        codec = copy(self)
        codec._arms = arms
        return codec

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
        return all(self._arms.is_live(number) for number in self.arm_numbers(row))

    def positions(self, row: bytes) -> list[int]:
        """Return the positions of the arms of a decision; -1 for retired ones."""
        return [int(self._arms.positions[number]) for number in self.arm_numbers(row)]

    def arm_numbers(self, row: bytes) -> list[int]:
        """Return the numbers of the arms of a decision."""
        begin = self._decision
        return [_NUMBER.unpack_from(row, begin + offset)[0] for offset in self._arm_offsets]

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

    def _replace_arms(self, row: bytes, begin: int, numbers: IntArray) -> bytes:
        """Return a row with other numbers for its arms; its decision begins at `begin`."""
        new_row = bytearray(row)
        for offset in self._arm_offsets:
            (number,) = _NUMBER.unpack_from(row, begin + offset)
            _NUMBER.pack_into(new_row, begin + offset, int(numbers[number]))
        return bytes(new_row)

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
            columns = self._decision // _CELL_BYTES + np.array(self._arm_cells)
            positions = self._arms.positions[cells[:, columns]]
            are_live = (positions >= 0).all(axis=1)
            cells = cells[are_live]
            cells[:, columns] = positions[are_live]
        return cells.view(np.float64)
