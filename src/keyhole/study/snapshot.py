"""Snapshots: a study's state as bytes, to open it without replaying the log.

A study is a policy (a rule that chooses among options) that decides for real; its log grows.
"""

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

from keyhole.contract.policy import Policy, check_settled
from keyhole.play.saved_learner import DAMAGE
from keyhole.study.definition import Definition
from keyhole.study.policy_state import PolicyState
from keyhole.study.state import State
from keyhole.study.storage import Row
from keyhole.validate import Range, check_integer, short_repr

_CHECK: Final = 32


def make_snapshot(state: State) -> bytes:
    """Return a state as bytes, after their checksum."""
    policy_state = state.arrays_to_save()
    # The keys belong to the format of snapshots: they stay when attributes are renamed.
    fields = {
        "since": state.since,
        "rounds": state.rounds,
        "told": state.feedback_count,
        "arms": state.arms.names,
        "live": state.arms.live.tolist(),
        "round": state.round and state.round.to_json(),
        "facts": state.policy_state.sizes,
        "digest": state.policy_state.digest,
        "open": list(state.pending),
        "returned": list(state.to_ask_again),
        "renewed": state.asked_again_after,
    }
    header = json.dumps(fields, allow_nan=False).encode()
    parts = (state.definition.to_bytes(), header, b"".join(state.pending.values()), policy_state)
    content = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.sha256(content).digest() + content


def read_snapshot(
    found: tuple[int, bytes], last: Row, policies: Iterable[type[Policy]]
) -> State | None:
    """Return the state of a snapshot taken after event `last`, or None if it cannot be used.

    It is damaged, was made by other code, or holds values that no state can have. The store has
    already compared the digest of its event: it is of this log.
    """
    _, data = found
    if hashlib.sha256(data[_CHECK:]).digest() != data[:_CHECK]:
        return None
    try:
        definition, header, rows, policy_state = _split_parts(data[_CHECK:])
        fields: dict[str, Any] = json.loads(header)
        state = State(Definition.from_bytes(definition, policies), fields["since"])
        # The code of the policy has changed: its arrays may have another meaning now.
        if fields["digest"] != state.policy_state.digest:
            return None
        _check_sizes(state, fields)
        _resume(state, fields, last, rows, policy_state)
    # A checksum proves no origin: whoever can write to the database can compute it. So every
    # value is checked, and the log is replayed if one is wrong.
    except (*DAMAGE, struct.error):
        return None
    return state


def _resume(
    state: State, fields: Mapping[str, Any], last: Row, rows: bytes, policy_state: bytes
) -> None:
    """Fill a new state from a snapshot taken after event `last`."""
    state.seq, state.last = last.seq, last
    state.rounds, state.feedback_count = fields["rounds"], fields["told"]
    state.arms.restore(fields["arms"], fields["live"])
    state.policy_state = PolicyState(state.definition, state.definition.facts | fields["facts"])
    state.policy_state.restore(policy_state)
    check_settled(state.definition.policy, state.policy_state.state)
    width = state.decisions.bytes
    cut = [rows[at : at + width] for at in range(0, len(rows), width)]
    for row in cut:
        state.checker.check_pending(row)
    state.pending = dict(zip(fields["open"], cut, strict=True))
    state.to_ask_again, state.asked_again_after = (
        dict.fromkeys(fields["returned"]),
        fields["renewed"],
    )
    state.awaiting_feedback = {id: None for id in state.pending if id not in state.to_ask_again}
    if state.round is not None:
        state.round.restore(fields["round"])


def _check_sizes(state: State, fields: Mapping[str, Any]) -> None:
    """Refuse sizes and counts that no study can have: arrays are allocated from them."""
    for name in ("rounds", "told"):
        check_integer(name, fields[name], Range(ge=0, le=2**53))
    sizes, own = fields["facts"], state.policy_state.sizes | {"arms": len(fields["live"])}
    longest = state.round.longest_arrays(fields["told"]) if state.round is not None else {}
    for name, most in longest.items():
        own[name] = check_integer(name, sizes[name], Range(ge=own[name], le=most))
    if sizes != own:
        raise ValueError(f"sizes must be {own}, got {sizes}")
    for name in ("returned", "renewed"):
        if missing := set(fields[name]) - set(fields["open"]):
            raise ValueError(f"{name} must be pending, got {short_repr(min(missing))}")
    for rounds in fields["renewed"].values():
        check_integer("renewed", rounds, Range(ge=0, le=fields["rounds"]))


def _split_parts(content: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(content):
        end = at + 8 + int.from_bytes(content[at : at + 8], "little")
        parts.append(content[at + 8 : end])
        at = end
    return parts
