"""A study's log in readable form: as a table, as an export, and replayed with another policy.

A study is a policy (a rule that chooses among options) that decides for real; to *replay* its log
is to ask what another policy would have decided.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from keyhole.contract.policy import Policy
from keyhole.contract.reward_units import UNIT
from keyhole.files import decode_text, read_file, write_atomically
from keyhole.play.saved_learner import DAMAGE
from keyhole.play.study_vocabulary import Words
from keyhole.study import events
from keyhole.study.definition import Definition
from keyhole.study.events import COMMON_WORDS, KINDS, EventError
from keyhole.study.integrity import rebuild_states
from keyhole.study.state import LogState, State
from keyhole.study.storage import Row
from keyhole.validate import check_choice, check_line

if TYPE_CHECKING:
    import pyarrow as pa

_NUMBERS: Final = {kind.name: number for number, kind in KINDS.items()}
_FORMAT: Final = "keyhole-study"
_VERSION: Final = 2


class EventFormatter:
    """Converts rows of a study's log to named values and back, in the order of the log.

    Attributes
    ----------
    state : LogState
        Arms and codecs; other events are not applied to it.
    asked : dict of str to bytes
        The rows of all decisions so far, by id.
    policies : tuple of Policy classes
        Classes in which a policy is looked up first.
    """

    def __init__(self, definition: Definition, policies: Iterable[type[Policy]] = ()) -> None:
        self.state = LogState(definition)
        self.asked: dict[str, bytes] = {}
        self.policies = tuple(policies)

    def words(self, row: Row) -> Words:
        """Return an event as named values.

        Raises
        ------
        EventError
            If no study can have written it.
        """
        try:
            events.check_time(row.at)
            kind = KINDS[row.kind]
            words: Words = {"seq": row.seq, "at": row.at, "event": kind.name}
            words |= {n: getattr(row, n) for n in ("decision", "key") if getattr(row, n)}
            return words | kind.words(self, row)
        except (*DAMAGE, struct.error) as error:
            raise EventError(row.seq, f"it is malformed ({error!r})") from error

    def row(self, words: Words) -> Row:
        """Return the row of an event given as named values."""
        number = _NUMBERS[check_choice("event", words.get("event"), _NUMBERS)]
        decision, key = words.get("decision"), words.get("key")
        row = Row(words["seq"], number, decision, key, float(words["at"]), b"")
        return row._replace(body=KINDS[number].pack(self, row, words))


def format_table(definition: Definition, rows: Iterable[Row]) -> pa.Table:
    """Return a log as a table, a row for each event; what an event does not have is null."""
    import pyarrow as pa

    text, by_arm = pa.string(), pa.map_(pa.string(), pa.float64())
    types = (pa.int64(), pa.timestamp("us", "UTC"), text, text, text, pa.int64())
    kinds = dict(zip(COMMON_WORDS, types, strict=True))
    formatter = EventFormatter(definition)
    entries = [formatter.words(row) for row in rows]
    for event in entries:
        event["at"] = round(event["at"] * 1e6)
        event.pop("stream", None)
        if "head" in event:
            event["policy"] = event.pop("head")["policy"]
    names = dict.fromkeys([*COMMON_WORDS, *(name for event in entries for name in event)])
    columns = {name: [event.get(name) for event in entries] for name in names}
    for name, values in columns.items():
        if any(isinstance(value, dict) for value in values):  # by arm: each has its place
            columns[name] = [None if value is None else list(value.items()) for value in values]
            kinds[name] = by_arm
    try:
        return pa.table({name: pa.array(v, kinds.get(name)) for name, v in columns.items()})
    except (OverflowError, pa.ArrowException) as error:
        raise ValueError(f"the log has values that no study can have written: {error}") from error


def write_export(path: Path, name: str, definition: Definition, rows: Sequence[Row]) -> None:
    """Write a log as lines of JSON: a header, then a line for each event."""
    # In unit scale: in the units of users a reward might not read back to the bit.
    formatter = EventFormatter(replace(definition, scale=UNIT))
    first = {
        "format": _FORMAT,
        "version": _VERSION,
        "name": name,
        "events": len(rows),
        "head": json.loads(definition.to_bytes()),
    }
    lines = [first, *map(formatter.words, rows)]
    write_atomically(path, "".join(json.dumps(line) + "\n" for line in lines).encode())


def read_export(path: Path, policies: Iterable[type[Policy]]) -> tuple[str, Definition, list[Row]]:
    """Return name, definition and rows of an export, checked."""
    try:
        text = decode_text(read_file(path, "an exported study"), path)
        first, *rest = text.splitlines() or [""]
        with _errors_with_line(1):
            header = json.loads(first)
            if header.get("format") != _FORMAT or header.get("version") != _VERSION:
                raise ValueError(f"it is not an export of version {_VERSION}")
            definition = Definition.from_bytes(
                json.dumps(header["head"]).encode(), policies, ordered=False
            )
            name, count = check_line("name", header["name"]), header["events"]
        formatter, rows = EventFormatter(replace(definition, scale=UNIT), policies), []
        for number, text in enumerate(rest, 2):
            with _errors_with_line(number):
                event = json.loads(text)
                rows.append(formatter.row(event))
        if len(rows) != count:
            raise ValueError(f"it had {count} events, and has {len(rows)}")
        # Replayed, since many errors show only against the state before an event.
        for _ in rebuild_states(definition, rows, policies):
            pass
    except DAMAGE as error:
        raise ValueError(f"{path} is not an exported study, or damaged: {error}") from error
    return name, definition, rows


@contextmanager
def _errors_with_line(number: int) -> Iterator[None]:
    """Name the line in errors."""
    try:
        yield
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number} is not JSON: {error}") from error
    except (*DAMAGE, struct.error) as error:
        why = str(error) if isinstance(error, ValueError) else repr(error)
        raise ValueError(f"line {number}: {why}") from error


@dataclass(frozen=True)
class Replay:
    """The decisions of another policy that learnt the same feedback.

    A log has feedback only of the decisions that were taken: what another policy would have earned,
    or which labels it would have got right, cannot be read from it; how often the two agree, and
    where they differ, can.

    Attributes
    ----------
    policy : Policy
        The other one.
    asked, agreed : int
        The number of decisions, and of those that the other policy would have taken as well, each
        after learning what had been told by then.
    decisions : pyarrow.Table
        A row for each decision: ``decision``, ``round``, ``asked`` and ``would_ask``, as JSON.
    """

    policy: Policy
    asked: int
    agreed: int
    decisions: pa.Table

    def __repr__(self) -> str:
        """Return how often the two policies agree."""
        return f"{self.policy} would have taken {self.agreed:,} of {self.asked:,} decisions"


def replay_policy(definition: Definition, rows: Iterable[Row]) -> Replay:
    """Replay a log with the policy of a definition."""
    import pyarrow as pa

    rows = list(rows)
    if any(row.kind in (events.ARM_ADDED, events.ARM_RETIRED) for row in rows):
        definition.check_arms_change()
    # In force since the last event: changes of policy in the log are then ignored.
    state = State(definition, rows[-1].seq if rows else 0)
    found: dict[str, list[Any]] = {"decision": [], "round": [], "asked": [], "would_ask": []}
    for row in rows:
        events.check_event(state, row)
        if row.kind == events.ASKED:
            context, _ = state.values(asked := state.row(row))
            other = state.decide(context, row.at)
            would = state.row(row._replace(body=other))
            words = (
                json.dumps(state.vocabulary.format_decision(*state.values(one)))
                for one in (asked, would)
            )
            entries = (row.decision, int(events.ROW_HEADER.unpack_from(asked)[0]), *words)
            for column, entry in zip(found.values(), entries, strict=True):
                column.append(entry)
        # The decision of the log is applied, whatever this policy would have decided.
        state.apply(row)
    agreed = sum(a == b for a, b in zip(found["asked"], found["would_ask"], strict=True))
    return Replay(definition.policy, len(found["asked"]), agreed, pa.table(found))
