"""Encoding of decisions and feedback as bytes of a study's log.

A study decides among options for real; feedback is what came of a decision.
"""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any, Final

from keyhole.contract.state_arrays import Field
from keyhole.play.study_vocabulary import StudyVocabulary, Values

_CODES: Final = {"int64": "q", "float64": "d"}


def drop_signs_of_zeros(values: Values) -> Values:
    """Replace -0.0 by 0.0, an equal number with other bits, which a row would keep."""
    return {name: _drop_sign_of_zero(value) for name, value in values.items()}


def _drop_sign_of_zero(value: Any) -> Any:
    if isinstance(value, Iterable) and not isinstance(value, str):
        return [_drop_sign_of_zero(one) for one in value]
    return 0.0 if isinstance(value, float) and value == 0 else value


class RowCodec:
    """Packs named values into consecutive numbers of 8 bytes, and unpacks them."""

    def __init__(self, fields: Mapping[str, Field], sizes: Mapping[str, int]) -> None:
        # Little-endian without padding: the layout of kernels' arrays, the same on every machine.
        codes, self._cuts, at = "<", [], 0
        for name, field in fields.items():
            cells = field.cells(sizes)
            codes += f"{cells}{_CODES[field.dtype]}"
            self._cuts.append((name, at, at + cells, not field.shape))
            at += cells
        self._struct = Struct(codes)
        self.bytes = self._struct.size

    def cells(self, name: str) -> range:
        """Return the positions of a value's numbers."""
        return next(range(begin, end) for found, begin, end, _ in self._cuts if found == name)

    def pack(self, values: Values) -> bytes:
        """Return the values as bytes."""
        flat: list[Any] = []
        for name, _, _, single in self._cuts:
            flat += [values[name]] if single else values[name]
        return self._struct.pack(*flat)

    def unpack(self, data: bytes, at: int = 0) -> Values:
        """Return the values at an offset of some bytes."""
        flat = self._struct.unpack_from(data, at)
        return {
            name: flat[begin] if single else list(flat[begin:end])
            for name, begin, end, single in self._cuts
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
        return values | self._notes.unpack(data, self.bytes) if len(data) > self.bytes else values
