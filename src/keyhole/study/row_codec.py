"""Encoding of named values as the bytes of a log row."""

from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Any, Final

from keyhole.contract.state_memory import Field
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

    def __init__(self, words: StudyVocabulary, sizes: Mapping[str, int]) -> None:
        self._feedback = RowCodec(words.feedback_fields, sizes)
        self._notes = RowCodec(words.note_fields, sizes)
        self._noted = dict.fromkeys(words.note_fields, 0)
        self.bytes = self._feedback.bytes  # of what is learnt

    def pack(self, heard: Values) -> bytes:
        """Return feedback and notes as bytes."""
        told = self._feedback.pack(heard)
        if any(heard.get(name) for name in self._noted):
            told += self._notes.pack(self._noted | heard)
        return told

    def unpack(self, told: bytes) -> Values:
        """Return feedback and notes by name."""
        heard = self._feedback.unpack(told)
        return heard | self._notes.unpack(told, self.bytes) if len(told) > self.bytes else heard
