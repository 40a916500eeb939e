"""Snapshots: the state of a study as bytes, to open the study without replaying its log."""

import hashlib
import json
import struct
from typing import Final

from keyhole.contract.policy import check_saved_state
from keyhole.play.saved_learner import DAMAGE_ERRORS
from keyhole.study.definition import Definition, JsonObject, Policies
from keyhole.study.state import PolicyState, State
from keyhole.study.storage import Row
from keyhole.validation import Range, check_integer, short_repr

_CHECKSUM_SIZE: Final = 32


def make_snapshot(state: State) -> bytes:
    """Return a state as bytes, which begin with the checksum of the rest."""
    policy_bytes = state.arrays_to_save()
    # These names belong to the format of snapshots, and stay when attributes are renamed.
    fields = {
        "since": state.definition_seq,
        "rounds": state.rounds,
        "told": state.feedback_count,
        "arms": state.arms.names,
        "live": state.arms.numbers_in_use.tolist(),
        "round": state.study_round and state.study_round.to_json(),
        "facts": state.policy_state.sizes,
        "digest": state.policy_state.kernel_digest,
        "open": list(state.pending),
        "returned": list(state.to_ask_again),
        "renewed": state.rounds_when_asked_again,
    }
    header = json.dumps(fields, allow_nan=False).encode()
    sections = (state.definition.to_bytes(), header, b"".join(state.pending.values()), policy_bytes)
    content = b"".join(len(section).to_bytes(8, "little") + section for section in sections)
    return hashlib.sha256(content).digest() + content


def read_snapshot(data: bytes, last_event: Row, policies: Policies) -> State | None:
    """Return the state of a snapshot that was taken after an event, or None if it cannot be used.

    A snapshot cannot be used if it is damaged, was made by other code, or holds values that no
    state can have. The store has checked that it is of this log, by the digest of the event.
    """
    if hashlib.sha256(data[_CHECKSUM_SIZE:]).digest() != data[:_CHECKSUM_SIZE]:
        return None
    try:
        definition_bytes, header, rows, policy_bytes = _split_sections(data[_CHECKSUM_SIZE:])
        fields: JsonObject = json.loads(header)
        state = State(Definition.from_bytes(definition_bytes, policies), fields["since"])
        # If the code of the policy has changed, its arrays may have another meaning now.
        if fields["digest"] != state.policy_state.kernel_digest:
            return None
        _refuse_impossible_sizes(state, fields)
        _restore_state(state, fields, last_event, rows, policy_bytes)
    # Whoever can write to the database can also compute the checksum. So every value is checked,
    # and the log is replayed if a value is wrong.
    except (*DAMAGE_ERRORS, struct.error):
        return None
    return state


def _restore_state(
    state: State, fields: JsonObject, last_event: Row, rows: bytes, policy_bytes: bytes
) -> None:
    """Write the values of a snapshot that was taken after `last_event` into a new state."""
    state.seq = last_event.seq
    state.last_event = last_event
    state.rounds = fields["rounds"]
    state.feedback_count = fields["told"]
    state.arms.restore(fields["arms"], fields["live"])
    state.policy_state = PolicyState(state.definition, state.definition.facts | fields["facts"])
    state.policy_state.restore(policy_bytes)
    check_saved_state(state.definition.policy, state.policy_state.state)
    row_size = state.decisions.row_size
    pending_rows = [rows[offset : offset + row_size] for offset in range(0, len(rows), row_size)]
    for row in pending_rows:
        state.checker.check_pending_row(row)
    state.pending = dict(zip(fields["open"], pending_rows, strict=True))
    state.to_ask_again = dict.fromkeys(fields["returned"])
    state.rounds_when_asked_again = fields["renewed"]
    state.awaiting_feedback = {id: None for id in state.pending if id not in state.to_ask_again}
    if state.study_round is not None:
        state.study_round.restore(fields["round"])


def _refuse_impossible_sizes(state: State, fields: JsonObject) -> None:
    """Refuse sizes and counts that no study can have, since they say how much is allocated."""
    for name in ("rounds", "told"):
        check_integer(name, fields[name], Range(ge=0, le=2**53))
    sizes = fields["facts"]
    expected_sizes = state.policy_state.sizes | {"arms": len(fields["live"])}
    if state.study_round is not None:
        for name, max_size in state.study_round.longest_arrays(fields["told"]).items():
            size_range = Range(ge=expected_sizes[name], le=max_size)
            expected_sizes[name] = check_integer(name, sizes[name], size_range)
    if sizes != expected_sizes:
        raise ValueError(f"sizes must be {expected_sizes}, got {sizes}")
    for name in ("returned", "renewed"):
        if missing_ids := set(fields[name]) - set(fields["open"]):
            raise ValueError(f"{name} must be pending, got {short_repr(min(missing_ids))}")
    for rounds in fields["renewed"].values():
        check_integer("renewed", rounds, Range(ge=0, le=fields["rounds"]))


def _split_sections(content: bytes) -> list[bytes]:
    """Return the sections of a snapshot, each of which begins with its length in 8 bytes."""
    sections = []
    offset = 0
    while offset < len(content):
        end = offset + 8 + int.from_bytes(content[offset : offset + 8], "little")
        sections.append(content[offset + 8 : end])
        offset = end
    return sections
