"""A study's log as a table, as an export in JSON, and replayed with another policy."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Final

from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT
from keyhole.files import decode_text, read_file, write_atomically
from keyhole.play.saved_learner import DAMAGE_ERRORS
from keyhole.play.study_vocabulary import Words
from keyhole.study import events
from keyhole.study.definition import Definition, Policies
from keyhole.study.integrity import rebuild_states
from keyhole.study.log_state import LogState, find_corrections
from keyhole.study.state import State
from keyhole.study.storage import Row
from keyhole.study.storage.store import NO_METADATA
from keyhole.validation import check_choice, check_line

if TYPE_CHECKING:
    import pyarrow as pa

    from keyhole.study.study import Study

_KIND_NUMBERS: Final = {event_kind.name: number for number, event_kind in events.KINDS.items()}
_BATCH_SIZE: Final = 10_000  # events that `LogReader` reads together
_FORMAT: Final = "keyhole-study"
_VERSIONS: Final = (2, 3)  # version 2, of 0.2.0, has no excluded arms, metadata or corrections


class EventFormatter:
    """Converts events of a study's log to named values and back, in the order of the log.

    Attributes
    ----------
    state : LogState
        It converts the bodies of events, and knows all arms added so far, even if they were retired
        since. Decisions are kept in `decision_rows` instead.
    decision_rows : dict of str to bytes
        The rows of all decisions so far, by the ids of the decisions.
    policies : tuple of Policy classes
        Classes in which a policy is looked up first.
    metadata : dict of int to str
        The metadata of events as JSON, by the numbers of the events.
    """

    def __init__(
        self,
        definition: Definition,
        policies: Policies = (),
        metadata: Mapping[int, str] = NO_METADATA,
    ) -> None:
        self.state = LogState(definition)
        self.decision_rows: dict[str, bytes] = {}
        self.policies = tuple(policies)
        self.metadata = metadata

    def format(self, row: Row) -> Words:
        """Return an event as named values.

        Raises
        ------
        EventError
            If no study can have written the event.
        """
        try:
            events.check_time(row.at)
            event_kind = events.KINDS[row.kind]
            event_words: Words = {"seq": row.seq, "at": row.at, "event": event_kind.name}
            columns = {"decision": row.decision, "key": row.key}
            event_words |= {name: value for name, value in columns.items() if value}
            event_words |= event_kind.format_body(self.state, row, self._decision_row(row))
            self._remember_reference(row)
            if row.seq in self.metadata:
                event_words["metadata"] = json.loads(self.metadata[row.seq])
            return event_words
        except (*DAMAGE_ERRORS, struct.error) as error:
            raise events.EventError(row.seq, f"it is malformed ({error!r})") from error

    def parse(self, event_words: Words) -> Row:
        """Return an event from its named values."""
        number = _KIND_NUMBERS[check_choice("event", event_words.get("event"), _KIND_NUMBERS)]
        decision = event_words.get("decision")
        key = event_words.get("key")
        row = Row(event_words["seq"], number, decision, key, float(event_words["at"]), b"")
        if number == events.POLICY_CHANGED:  # "head" has the new definition
            new_definition = json.dumps(event_words["head"]).encode()
            # Refuses a definition that is not valid.
            Definition.from_bytes(new_definition, self.policies, ordered=False)
        event_kind = events.KINDS[number]
        body = event_kind.pack_body(self.state, event_words, self._decision_row(row))
        row = row._replace(body=body)
        self._remember_reference(row)
        return row

    def _decision_row(self, event: Row) -> bytes:
        """Return the row of the decision that an event is about.

        It is empty if the event hands out the decision or is about no decision.
        """
        if event.decision is None or event.kind == events.ASKED:
            return b""
        return self.decision_rows[event.decision]

    def _remember_reference(self, event: Row) -> None:
        """Keep the decision or the arm of an event, since later events may refer to it."""
        if event.kind == events.ASKED:
            self.decision_rows[str(event.decision)] = self.state.decision_row(event)
        elif event.kind == events.ARM_ADDED:
            self.state.arms.add(event.body.decode())


class LogReader:
    """Reader of a study's log as named values, which continues where the last call ended."""

    def __init__(self) -> None:
        self._lock = Lock()
        # None after an error, which may leave the formatter half changed.
        self._formatter: EventFormatter | None = None
        self._last_seq = 0  # the number of the last event that the formatter has read

    def read(self, study: Study, after: int, limit: int) -> list[Words]:
        """Return at most `limit` events after the event with the number `after`."""
        with self._lock:
            formatter = self._formatter
            self._formatter = None
            if formatter is None or after < self._last_seq:
                formatter = EventFormatter(study.definition)
                self._last_seq = 0
            # The formatter must read all earlier events: from them it knows arms and decisions.
            while self._last_seq < after:
                if not self._read_next(formatter, study, min(after - self._last_seq, _BATCH_SIZE)):
                    break
            entries = self._read_next(formatter, study, limit) if self._last_seq == after else []
            self._formatter = formatter
            return entries

    def _read_next(self, formatter: EventFormatter, study: Study, limit: int) -> list[Words]:
        """Return at most `limit` events after the last event that was read."""
        rows = study.log(after=self._last_seq, limit=limit)
        formatter.metadata = study.metadata(self._last_seq, self._last_seq + len(rows))
        self._last_seq += len(rows)
        return [formatter.format(row) for row in rows]


def format_table(
    definition: Definition, rows: Iterable[Row], metadata: Mapping[int, str]
) -> pa.Table:
    """Return a log as a table with a row for each event; a value that an event lacks is null.

    Metadata is one column of JSON, since the fields of metadata may differ between decisions.
    """
    import pyarrow as pa

    text_type = pa.string()
    types = (pa.int64(), pa.timestamp("us", "UTC"), text_type, text_type, text_type, pa.int64())
    column_types = dict(zip(events.COMMON_WORDS, types, strict=True))
    entries = list(map(EventFormatter(definition, metadata=metadata).format, rows))
    for event in entries:
        event["at"] = round(event["at"] * 1e6)
        event.pop("stream", None)
        if "head" in event:
            event["policy"] = event.pop("head")["policy"]
        if "metadata" in event:
            event["metadata"] = metadata[event["seq"]]
    names = dict.fromkeys([*events.COMMON_WORDS, *(name for event in entries for name in event)])
    columns = {name: [event.get(name) for event in entries] for name in names}
    for name, values in columns.items():
        if any(isinstance(value, dict) for value in values):  # numbers by arm
            columns[name] = [None if value is None else list(value.items()) for value in values]
            column_types[name] = pa.map_(text_type, pa.float64())
    try:
        return pa.table({n: pa.array(values, column_types.get(n)) for n, values in columns.items()})
    except (OverflowError, pa.ArrowException) as error:
        raise ValueError(f"the log has values that no study can have written: {error}") from error


def write_export(
    path: Path,
    name: str,
    definition: Definition,
    rows: Sequence[Row],
    metadata: Mapping[int, str],
) -> None:
    """Write a log as lines of JSON: a header with the study's definition, then all events."""
    # Rewards are written in [0, 1], since in other units a parsed value may differ in its last bit.
    formatter = EventFormatter(replace(definition, scale=UNIT), metadata=metadata)
    header = {
        "format": _FORMAT,
        "version": _VERSIONS[-1],
        "name": name,
        "events": len(rows),
        "head": json.loads(definition.to_bytes()),
    }
    lines = [header, *map(formatter.format, rows)]
    write_atomically(path, "".join(json.dumps(line) + "\n" for line in lines).encode())


def read_export(
    path: Path, policies: Policies
) -> tuple[str, Definition, list[Row], dict[int, str]]:
    """Check an export; return the study's name, definition, rows, and metadata by event number."""
    try:
        text = decode_text(read_file(path, "an exported study"), path)
        header_line, *event_lines = text.splitlines() or [""]
        with _add_line_to_errors(1):
            header = json.loads(header_line)
            if header.get("format") != _FORMAT or header.get("version") not in _VERSIONS:
                raise ValueError(f"it is not an export of version {_VERSIONS[-1]} or before")
            definition_bytes = json.dumps(header["head"]).encode()
            definition = Definition.from_bytes(definition_bytes, policies, ordered=False)
            name = check_line("name", header["name"])
            event_count = header["events"]
        formatter = EventFormatter(replace(definition, scale=UNIT), policies)
        rows = []
        metadata: dict[int, str] = {}
        for number, line in enumerate(event_lines, 2):
            with _add_line_to_errors(number):
                event_words = json.loads(line)
                values = event_words.pop("metadata", None)
                rows.append(formatter.parse(event_words))
                if values is not None:
                    metadata[rows[-1].seq] = events.format_metadata(values)
        if len(rows) != event_count:
            raise ValueError(f"it must have {event_count} events, as line 1 says, got {len(rows)}")
        # The log is replayed, since many errors show only against the state before an event.
        for _ in rebuild_states(definition, rows, policies):
            pass
    except DAMAGE_ERRORS as error:
        raise ValueError(f"{path} is not an exported study, or damaged: {error}") from error
    return name, definition, rows, metadata


@contextmanager
def _add_line_to_errors(number: int) -> Iterator[None]:
    """Make errors name the line in which they occur."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number} is not JSON: {error}") from error
    except (*DAMAGE_ERRORS, struct.error) as error:
        raise ValueError(f"line {number}: {events.error_reason(error)}") from error


@dataclass(frozen=True)
class Replay:
    """The decisions of another policy that learnt the same feedback.

    A log has feedback only of the decisions that were taken, so it does not show what the other
    policy would have earned. It shows how often the two policies agree, and where they differ.

    Attributes
    ----------
    policy : Policy
        The other policy.
    asked, agreed : int
        The number of decisions, and the number of decisions that the other policy would have taken
        as well. Before each decision it has learnt all earlier feedback.
    decisions : pyarrow.Table
        A row for each decision: its id ``decision`` and its ``round``; as JSON, what was decided
        (``asked``) and what the other policy would have decided (``would_ask``).
    """

    policy: Policy
    asked: int
    agreed: int
    decisions: pa.Table

    def __repr__(self) -> str:
        """Return how often the two policies agree."""
        return f"{self.policy} would have taken {self.agreed:,} of {self.asked:,} decisions"


def replay_policy(definition: Definition, rows: Iterable[Row]) -> Replay:
    """Replay a log with the policy of a definition, which may differ from the log's policy."""
    import pyarrow as pa

    rows = list(rows)
    if any(row.kind in (events.ARM_ADDED, events.ARM_RETIRED) for row in rows):
        definition.check_arms_change()
    # The given policy learns the whole log. The log's changes of policy are not applied, since the
    # definition is said to be in force from the last event on.
    state = State(definition, rows[-1].seq if rows else 0, find_corrections(rows))
    columns: dict[str, list[object]] = {"decision": [], "round": [], "asked": [], "would_ask": []}
    for row in rows:
        events.check_event(state, row)
        if row.kind == events.ASKED:
            context, decision = state.decisions.unpack_row(state.decision_row(row))
            body = state.decide(context, row.at, state.decisions.excluded_arm_numbers(row.body))
            other_values = state.decisions.unpack_row(state.decision_row(row._replace(body=body)))
            columns["decision"].append(row.decision)
            columns["round"].append(int(events.ROUND.unpack_from(row.body)[0]))
            columns["asked"].append(json.dumps(state.vocabulary.format_decision(context, decision)))
            columns["would_ask"].append(json.dumps(state.vocabulary.format_decision(*other_values)))
        # The decision of the log is applied, not the decision of this policy.
        state.apply(row)
    match_count = sum(a == b for a, b in zip(columns["asked"], columns["would_ask"], strict=True))
    return Replay(definition.policy, len(columns["asked"]), match_count, pa.table(columns))
