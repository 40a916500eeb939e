"""What a study's log says by itself: the rows of decisions, which are pending, and the arms.

Values are packed into rows of 8 bytes each: round, time, context and decision, and feedback.
"""

from collections.abc import Collection, Iterable, Mapping
from struct import Struct
from typing import Any, Final

import numpy as np

from keyhole.contract.compiled_class import compiled_policy
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, FloatArray, IntArray
from keyhole.play.study_vocabulary import StudyVocabulary, Values
from keyhole.study.arms import Arms
from keyhole.study.definition import Definition
from keyhole.study.events import ROUND, ROW_HEADER, STREAM, TIME, ValueChecker
from keyhole.study.storage import Row

_CODES: Final = {"int64": "q", "float64": "d"}
_CELL: Final = 8
_NUMBER: Final = Struct("<q")


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

    def body_of_event(self, round: float, cells: bytes, stream: Iterable[int]) -> bytes:
        """Return the body of the event of a decision, given as the cells of its row."""
        return ROUND.pack(round) + cells + STREAM.pack(*stream)

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


class LogState:
    """What the events of a log say by themselves: the arms, and the pending decisions.

    A decision is kept as a row: round, time of asking, context, decision. Rows hold permanent arm
    numbers. Heirs add what they make of feedback: `State` lets the policy learn it, and
    `DecisionCounts` counts it.

    Attributes
    ----------
    pending : dict of str to bytes
        Rows of the pending decisions by id, oldest first.
    to_ask_again : dict of str to None
        Pending decisions that expired and are to be handed out once more.
    awaiting_feedback : dict of str to None
        All other pending decisions.
    asked_again_after : dict of str to int
        Rounds at the time at which a decision was handed out again.
    rounds, feedback_count : int
        How many decisions there are, and of how many the feedback is learnt: told in time or late,
        or assumed at a timeout.
    seq : int
        The number of the last event.

    Parameters
    ----------
    definition : Definition
        The definition of the study.
    since : int, default 0
        The event at which the definition came into force.
    """

    def __init__(self, definition: Definition, since: int = 0) -> None:
        self.definition, self.since = definition, since
        policy = definition.policy
        sizes = compiled_policy(type(policy)).sizes(policy.numbers() | definition.facts)
        self.arms = Arms(definition.arms)
        self.vocabulary = definition.vocabulary(self.arms.names)
        arm_fields = self.vocabulary.find_arm_fields()
        self.decisions = DecisionBytes(policy.setting, sizes, self.arms, arm_fields)
        self.feedback = FeedbackCodec(self.vocabulary, sizes)
        self.sums = RowCodec(self.vocabulary.sum_fields, sizes)
        self.checker = ValueChecker(self)
        self.seq = self.rounds = self.feedback_count = 0
        self.pending: dict[str, bytes] = {}
        self.to_ask_again: dict[str, None] = {}
        self.awaiting_feedback: dict[str, None] = {}
        self.asked_again_after: dict[str, int] = {}

    # What a row says.

    def row(self, asked: Row) -> bytes:
        """Return the row of a decision, from the event that handed it out."""
        return self.decisions.row_of_event(asked)

    def values(self, row: bytes) -> tuple[Values, Values]:
        """Return context and decision of a row."""
        return self.decisions.values(row)

    def split_late(self, body: bytes) -> tuple[bytes, bytes]:
        """Return the row and the feedback in the body of an event of late feedback."""
        return body[: self.decisions.bytes], body[self.decisions.bytes :]

    def is_live(self, id: str) -> bool:
        """Return whether the arm of a pending decision is in use."""
        return self.decisions.is_live(self.pending[id])

    def is_allowed(self, row: bytes, *, retired: bool = False) -> bool:
        """Return whether the setting allows a decision, or `retired` if its arm is retired."""
        raise NotImplementedError  # only a policy's kernels know

    def pack_sum(self, values: Values) -> bytes:
        """Return the body of an event for anonymous feedback."""
        return self.sums.pack(values)

    # What happens: see `events`.

    def add_decision(self, id: str, row: bytes) -> None:
        """Add a decision that was handed out."""
        self.rounds += 1
        if self.vocabulary.has_feedback:
            self.pending[id] = row
            self.awaiting_feedback[id] = None

    def remove_pending(self, id: str) -> bytes:
        """Remove a pending decision and return its row."""
        # This runs for every feedback, and both are empty in most studies.
        if self.asked_again_after or self.to_ask_again:
            self.to_ask_again.pop(id, None)
            self.asked_again_after.pop(id, None)
        self.awaiting_feedback.pop(id, None)
        return self.pending.pop(id)

    def learn(self, event: Row, row: bytes, feedback: bytes) -> None:
        """Learn the feedback of a decision."""
        self.feedback_count += 1

    def add_sum(self, body: bytes) -> None:
        """Learn anonymous feedback."""

    def prepare_arms_change(self) -> None:
        """Prepare for other arms."""
        self.checker.forget()

    def change_policy(self, event: Row) -> None:
        """Replace the policy."""
