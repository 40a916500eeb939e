"""The state of a study without its policy: arms, pending decisions, and the codecs of rows."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from copy import copy
from struct import Struct
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from keyhole.contract.kernel_compilation import compiled_policy
from keyhole.contract.setting import Setting
from keyhole.contract.state_arrays import Field, FloatArray, IntArray
from keyhole.play.study_vocabulary import StudyVocabulary, Values
from keyhole.study import events
from keyhole.study.arms import Arms, pack_numbers, unpack_numbers
from keyhole.study.definition import Definition
from keyhole.study.events import ROUND, ROW_HEADER, STREAM
from keyhole.study.storage import Row

Corrections = Mapping[str, Row]
"""The last correction of each decision that was corrected, by the decision's id."""
NO_CORRECTIONS: Final[Corrections] = MappingProxyType({})
_STRUCT_CODES: Final = {"int64": "q", "float64": "d"}
_CELL_BYTES: Final = 8
_ARM_NUMBER: Final = Struct("<q")


class RebuildNeededError(Exception):
    """The whole log must be learnt anew, because of a change of policy or a correction."""


class ValuesCodec:
    """Packs the values of named fields into consecutive numbers of 8 bytes, and unpacks them.

    Attributes
    ----------
    size : int
        The number of bytes.
    """

    def __init__(self, fields: Mapping[str, Field], sizes: Mapping[str, int]) -> None:
        codes = "<"  # little-endian without padding: the same on every machine
        self._columns: list[tuple[str, int, int, bool]] = []  # name, begin, end, is it a scalar
        begin = 0
        for name, field in fields.items():
            end = begin + field.cell_count(sizes)
            codes += f"{end - begin}{_STRUCT_CODES[field.dtype]}"
            self._columns.append((name, begin, end, not field.shape))
            begin = end
        self._struct = Struct(codes)
        self.size = self._struct.size

    def cell_range(self, name: str) -> range:
        """Return the positions of a value's numbers among the packed numbers."""
        return next(range(begin, end) for column, begin, end, _ in self._columns if column == name)

    def pack(self, values: Values) -> bytes:
        """Return the values as bytes."""
        numbers: list[Any] = []
        for name, _, _, is_scalar in self._columns:
            numbers += [values[name]] if is_scalar else values[name]
        # Equal numbers get equal bytes: -0.0 becomes 0.
        return self._struct.pack(*(0 if number == 0 else number for number in numbers))

    def unpack(self, data: bytes, offset: int = 0) -> Values:
        """Return the values that begin at an offset in bytes."""
        numbers = self._struct.unpack_from(data, offset)
        return {
            name: numbers[begin] if is_scalar else list(numbers[begin:end])
            for name, begin, end, is_scalar in self._columns
        }


class FeedbackCodec:
    """Packs the feedback of a decision, followed by notes if there are any.

    Attributes
    ----------
    learnt_size : int
        The number of bytes of the feedback without its notes; the policy does not learn notes.
    """

    def __init__(self, vocabulary: StudyVocabulary, sizes: Mapping[str, int]) -> None:
        self._feedback = ValuesCodec(vocabulary.feedback_fields, sizes)
        self._notes = ValuesCodec(vocabulary.note_fields, sizes)
        self._empty_notes = dict.fromkeys(vocabulary.note_fields, 0)
        self.learnt_size = self._feedback.size

    def pack(self, values: Values) -> bytes:
        """Return feedback and notes as bytes."""
        data = self._feedback.pack(values)
        # Most feedback has no notes; they then take no bytes.
        if any(values.get(name) for name in self._empty_notes):
            data += self._notes.pack(self._empty_notes | values)
        return data

    def unpack(self, data: bytes) -> Values:
        """Return feedback and notes by name."""
        values = self._feedback.unpack(data)
        if len(data) > self.learnt_size:
            values |= self._notes.unpack(data, self.learnt_size)
        return values


class DecisionRowCodec:
    """Reads and writes rows of decisions, in which arms have permanent numbers.

    The *cells* of a row are its bytes after the header: context and decision.

    Parameters
    ----------
    setting : Setting
        The fields of context and decision.
    sizes : dict of str to int
        The array lengths, by the names that the shapes of the fields use.
    arms : Arms
        The arms of the study.
    arm_fields : tuple of str
        The fields of the decision that hold arms.

    Attributes
    ----------
    row_size, event_size : int
        The number of bytes of a row, and of the body of a decision's event if no arms are excluded.
    """

    def __init__(
        self, setting: Setting, sizes: dict[str, int], arms: Arms, arm_fields: tuple[str, ...]
    ) -> None:
        self.context = ValuesCodec(setting.context, sizes)
        self.decision = ValuesCodec(setting.decision, sizes)
        self._arms = arms
        self._decision_begin = ROW_HEADER.size + self.context.size
        self.row_size = self._decision_begin + self.decision.size
        self.event_size = ROUND.size + self.row_size - ROW_HEADER.size + STREAM.size
        self._arm_cells = [cell for name in arm_fields for cell in self.decision.cell_range(name)]
        # Offsets are in bytes from the beginning of the decision.
        self._arm_offsets = [_CELL_BYTES * cell for cell in self._arm_cells]

    def event_body(
        self, round: float, cells: bytes, stream: Iterable[int], excluded: Sequence[int] = ()
    ) -> bytes:
        """Return the body of a decision's event, made from the cells of its row."""
        body = ROUND.pack(round) + cells + STREAM.pack(*stream)
        return body + pack_numbers(excluded) if excluded else body

    def cells_of_event(self, body: bytes) -> bytes:
        """Return the cells of a decision's row from the body of its event."""
        return body[ROUND.size : self.event_size - STREAM.size]

    def stream_of_event(self, body: bytes) -> tuple[int, int]:
        """Return counter and key of the random stream after a decision, from its event's body."""
        counter, key = STREAM.unpack_from(body, self.event_size - STREAM.size)
        return counter, key

    def excluded_arm_numbers(self, body: bytes) -> list[int]:
        """Return the numbers of the arms that a decision excluded, from the body of its event."""
        bits = body[self.event_size :]
        return unpack_numbers(bits) if bits else []

    def with_arms(self, arms: Arms) -> "DecisionRowCodec":
        """Return a codec of the same rows, for other arms in use."""
        codec = copy(self)
        codec._arms = arms
        return codec

    def unpack_row(self, row: bytes) -> tuple[Values, Values]:
        """Return the context and the decision of a row."""
        context = self.context.unpack(row, ROW_HEADER.size)
        return context, self.decision.unpack(row, self._decision_begin)

    def split_row(self, row: bytes) -> tuple[bytes, bytes]:
        """Return the bytes of the context and of the decision of a row."""
        return row[ROW_HEADER.size : self._decision_begin], row[self._decision_begin :]

    def are_arms_in_use(self, row: bytes) -> bool:
        """Return whether all arms of a decision are in use."""
        if not self._arms.has_retired_arms:
            return True
        return all(self._arms.is_in_use(number) for number in self.arm_numbers(row))

    def arm_numbers(self, row: bytes) -> list[int]:
        """Return the numbers of the arms of a decision."""
        begin = self._decision_begin
        return [_ARM_NUMBER.unpack_from(row, begin + offset)[0] for offset in self._arm_offsets]

    def with_positions(self, row: bytes) -> bytes | None:
        """Return a row with positions in place of arms' numbers; None if an arm is retired."""
        # If no arm is retired, as in most studies, the numbers are the positions.
        if not self._arms.has_retired_arms:
            return row
        if not self.are_arms_in_use(row):
            return None
        return self._renumber_arms(row, self._decision_begin, self._arms.positions)

    def with_numbers(self, decision: bytes) -> bytes:
        """Return a decision with permanent numbers in place of arms' positions."""
        if not self._arms.has_retired_arms:
            return decision
        return self._renumber_arms(decision, 0, self._arms.numbers_in_use)

    def _renumber_arms(self, row: bytes, begin: int, numbers: IntArray) -> bytes:
        """Return a row with `numbers[arm]` for each arm; its decision begins at byte `begin`."""
        new_row = bytearray(row)
        for offset in self._arm_offsets:
            (arm,) = _ARM_NUMBER.unpack_from(row, begin + offset)
            _ARM_NUMBER.pack_into(new_row, begin + offset, int(numbers[arm]))
        return bytes(new_row)

    def kernel_rows(self, rows: Collection[bytes], now: float, time_unit: float) -> FloatArray:
        """Return the rows that have no retired arm, as the matrix that kernels read.

        A decision's time of asking is replaced by its age in seconds, times `time_unit`.
        """
        # All rows are converted in one step, since some studies impute all pending decisions again
        # for every decision.
        cells = np.frombuffer(bytearray(b"".join(rows)), np.int64).reshape(len(rows), -1)
        times = cells[:, 1].view(np.float64)  # the times of asking, then the ages
        times[:] = np.maximum(0.0, now - times) * time_unit
        if self._arms.has_retired_arms:
            columns = self._decision_begin // _CELL_BYTES + np.array(self._arm_cells)
            positions = self._arms.positions[cells[:, columns]]
            are_in_use = (positions >= 0).all(axis=1)
            cells = cells[are_in_use]
            cells[:, columns] = positions[are_in_use]
        return cells.view(np.float64)


class LogState:
    """The arms and the pending decisions after some event, without a policy.

    A decision is kept as a *row* of bytes: round, time of asking, context, decision. (A `Row` is an
    event of the log.) Rows hold permanent arm numbers. Subclasses add the effect of feedback:
    `State` lets the policy learn it, and `DecisionCounts` counts it.

    Attributes
    ----------
    pending : dict of str to bytes
        The rows of the pending decisions, by id, oldest first.
    to_ask_again : dict of str to None
        The ids of pending decisions that expired and are to be handed out once more.
    awaiting_feedback : dict of str to None
        The ids of all other pending decisions.
    rounds_when_asked_again : dict of str to int
        By the id of a pending decision that was handed out again: how many decisions there were
        when this last happened.
    rounds, feedback_count : int
        The number of decisions, and the number of decisions whose feedback was learnt: it was told,
        in time or late, or was assumed when the decision expired.
    seq : int
        The number of the last event.
    assumes_no_reward : bool
        Whether a decision that expires counts as a decision with a reward of 0.

    Parameters
    ----------
    definition : Definition
        The definition of the study.
    definition_seq : int, default 0
        The number of the event at which the definition came into force.
    corrections : dict of str to Row, optional
        The result of `find_corrections`. The feedback of a correction is learnt in place of what
        was told.
    """

    def __init__(
        self,
        definition: Definition,
        definition_seq: int = 0,
        corrections: Corrections = NO_CORRECTIONS,
    ) -> None:
        self.definition = definition
        self.definition_seq = definition_seq
        self.corrections = corrections
        self._last_correction_seq = max((event.seq for event in corrections.values()), default=0)
        policy = definition.policy
        sizes = compiled_policy(type(policy)).sizes(policy.numbers() | definition.facts)
        self.arms = Arms(definition.arms)
        self.vocabulary = definition.vocabulary(self.arms.names)
        arm_fields = self.vocabulary.find_arm_fields()
        self.decisions = DecisionRowCodec(policy.setting, sizes, self.arms, arm_fields)
        self.feedback = FeedbackCodec(self.vocabulary, sizes)
        self.sums = ValuesCodec(self.vocabulary.sum_fields, sizes)
        self.checker = events.ValueChecker(self)
        self.seq = self.rounds = self.feedback_count = 0
        self.pending: dict[str, bytes] = {}
        self.to_ask_again: dict[str, None] = {}
        self.awaiting_feedback: dict[str, None] = {}
        self.rounds_when_asked_again: dict[str, int] = {}
        self.assumes_no_reward = definition.rule.assumes_no_reward

    @property
    def unlearnt_count(self) -> int:
        """The number of decisions that expired for good and of which no feedback was learnt."""
        if not self.vocabulary.has_feedback:
            return 0
        return self.rounds - self.feedback_count - len(self.pending)

    def decision_row(self, event: Row) -> bytes:
        """Return the row of a decision from the event that handed it out."""
        (round_number,) = ROUND.unpack_from(event.body)
        cells = self.decisions.cells_of_event(event.body)
        return ROW_HEADER.pack(round_number, event.at) + cells

    def split_late_body(self, body: bytes) -> tuple[bytes, bytes]:
        """Return the row and the feedback in the body of a correction or of late feedback."""
        return body[: self.decisions.row_size], body[self.decisions.row_size :]

    def corrected_feedback(self, id: str | None, feedback: bytes) -> bytes:
        """Return a decision's feedback as last corrected; without a correction, `feedback`."""
        correction = self.corrections.get(str(id))
        return feedback if correction is None else self.split_late_body(correction.body)[1]

    def apply(self, event: Row) -> None:
        """Change the state as an event says."""
        if event.decision is not None:
            self._apply_to_decision(event, event.decision)
            return
        match event.kind:
            case events.SUM_TOLD:
                self.add_sum(event.body)
            case events.ARM_ADDED:
                self.prepare_arms_change()
                self.arms.add(event.body.decode())
            case events.ARM_RETIRED:
                self.prepare_arms_change()
                self.arms.retire(event.body.decode())
                # Decisions on this arm are not asked again, since nobody could act on them.
                for id in list(self.to_ask_again):
                    if not self.decisions.are_arms_in_use(self.pending[id]):
                        self.remove_pending(id)
            case events.POLICY_CHANGED:
                self.apply_policy_change(event)
            case _:
                raise ValueError(f"its kind is {event.kind}, which no event without a decision has")

    def _apply_to_decision(self, event: Row, id: str) -> None:
        """Change the state as an event about a decision says."""
        asks_again = self.definition.rule.on_timeout == "ask_again"
        match event.kind:
            case events.ASKED:
                self.add_decision(id, self.decision_row(event))
            case events.TOLD:
                row = self.remove_pending(id)
                self.learn(event, row, self.corrected_feedback(id, event.body))
            case events.TOLD_LATE:
                row, feedback = self.split_late_body(event.body)
                self.learn(event, row, self.corrected_feedback(id, feedback))
            # A decision about a retired arm is not asked again, since nobody could act on it.
            case events.EXPIRED if asks_again and self.decisions.are_arms_in_use(self.pending[id]):
                self.to_ask_again[id] = None
                self.awaiting_feedback.pop(id, None)
            case events.EXPIRED:
                row = self.remove_pending(id)
                if event.body:
                    self.learn(event, row, event.body)
            case events.ASKED_AGAIN:
                # The timeout begins anew: seconds count from the new time in the row, decisions
                # from `rounds_when_asked_again`.
                row = self.remove_pending(id)
                header = ROW_HEADER.pack(ROW_HEADER.unpack_from(row)[0], event.at)
                self.pending[id] = header + row[ROW_HEADER.size :]
                self.awaiting_feedback[id] = None
                self.rounds_when_asked_again[id] = self.rounds
            case events.CORRECTED:
                self.require_known_correction(event)
            case events.TOLD_TOO_LATE:
                pass  # the policy learnt a reward of 0 when the decision expired
            case _:
                raise ValueError(f"its kind is {event.kind}, which no event about a decision has")

    def add_decision(self, id: str, row: bytes) -> None:
        """Add a decision that was handed out."""
        self.rounds += 1
        if self.vocabulary.has_feedback:
            self.pending[id] = row
            self.awaiting_feedback[id] = None

    def remove_pending(self, id: str) -> bytes:
        """Remove a pending decision and return its row."""
        # In most studies both dictionaries are empty, and `if` takes less time than `pop`.
        if self.rounds_when_asked_again or self.to_ask_again:
            self.to_ask_again.pop(id, None)
            self.rounds_when_asked_again.pop(id, None)
        self.awaiting_feedback.pop(id, None)
        return self.pending.pop(id)

    def learn(self, event: Row, row: bytes, feedback: bytes) -> None:
        """Count the feedback of a decision; subclasses do more."""
        self.feedback_count += 1

    def add_sum(self, body: bytes) -> None:
        """Ignore anonymous feedback; subclasses use it."""

    def check_sum(self, values: Values) -> None:
        """Refuse anonymous feedback that is impossible at this time."""

    def guard_allows(self, row: bytes, *, may_be_retired: bool) -> bool:
        """Return whether the setting allows a decision; only `State` has the kernel for it."""
        raise NotImplementedError

    def prepare_arms_change(self) -> None:
        """Prepare for a change of the arms in use."""
        self.checker.clear_caches()

    def apply_policy_change(self, event: Row) -> None:
        """Ignore a change of policy; subclasses do not."""

    def require_known_correction(self, event: Row) -> None:
        """Raise `RebuildNeededError` at a correction that `corrections` does not have."""
        if event.seq > self._last_correction_seq:
            raise RebuildNeededError


def find_corrections(rows: Iterable[Row]) -> Corrections:
    """Return the last correction of each decision that a log corrects, by the decision's id."""
    return {str(row.decision): row for row in rows if row.kind == events.CORRECTED}
