"""The state of a study in bytes: to open it faster, and never to be believed on its own."""

import hashlib
import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any, Final

from keyhole.contract.policy import Policy
from keyhole.play.saved_learner import DAMAGE
from keyhole.study.definition import Definition
from keyhole.study.policy_state import PolicyState
from keyhole.study.state import State
from keyhole.study.storage import Row
from keyhole.validate import Range, check_integer, short_repr

_CHECK: Final = 32


def make_snapshot(fold: State) -> bytes:
    """Return a fold as bytes, with a checksum before them."""
    mind = fold.arrays_to_save()
    said = {
        "since": fold.since,
        "rounds": fold.rounds,
        "told": fold.told,
        "arms": fold.arms.names,
        "live": fold.arms.live.tolist(),
        "round": fold.round_as_json(),
        "facts": fold.mind.sizes,
        "digest": fold.mind.digest,
        "open": list(fold.open),
        "returned": list(fold.returned),
        "renewed": fold.renewed,
    }
    words = json.dumps(said, allow_nan=False).encode()
    parts = (fold.head.to_bytes(), words, b"".join(fold.open.values()), mind)
    content = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
    return hashlib.sha256(content).digest() + content


def read_snapshot(
    found: tuple[int, bytes], last: Row, policies: Iterable[type[Policy]]
) -> State | None:
    """Return the fold of a snapshot that was taken after event `last`; None if it cannot be used.

    It is not whole, or was made by other code, or holds what no fold can be. That it is of this
    log is for the store to say, which keeps the digest of the event beside it.
    """
    _, data = found
    if hashlib.sha256(data[_CHECK:]).digest() != data[:_CHECK]:
        return None
    try:
        head, words, rows, mind = _parts(data[_CHECK:])
        said: dict[str, Any] = json.loads(words)
        fold = State(Definition.from_bytes(head, policies), said["since"])
        if said["digest"] != fold.mind.digest:
            return None
        _check(fold, said)
        _resume(fold, said, last, rows, mind)
    except (*DAMAGE, struct.error):  # whoever can write to the database can compute checksums
        return None
    return fold


def _resume(fold: State, said: Mapping[str, Any], last: Row, rows: bytes, mind: bytes) -> None:
    """Have a fold be the one of a snapshot that was taken after event `last`."""
    fold.seq, fold.last = last.seq, last
    fold.rounds, fold.told = said["rounds"], said["told"]
    fold.arms.restore(said["arms"], said["live"])
    fold.mind = PolicyState(fold.head, fold.head.facts | said["facts"])
    fold.mind.restore(mind)
    width = fold.decisions.bytes
    cut = [rows[at : at + width] for at in range(0, len(rows), width)]
    for row in cut:
        fold.checker.check_pending(row)
    fold.open = dict(zip(said["open"], cut, strict=True))
    fold.returned, fold.renewed = dict.fromkeys(said["returned"]), said["renewed"]
    fold.waiting = {id: None for id in fold.open if id not in fold.returned}
    fold.restore_round(said["round"])


def _check(fold: State, said: Mapping[str, Any]) -> None:
    """Refuse what no study has written: memory is made as it says."""
    for name in ("rounds", "told"):
        check_integer(name, said[name], Range(ge=0, le=2**53))
    sizes, own = said["facts"], fold.mind.sizes | {"arms": len(said["live"])}
    for name, most in fold.longest_arrays(said["told"]).items():
        own[name] = check_integer(name, sizes[name], Range(ge=own[name], le=most))
    if sizes != own:
        raise ValueError(f"sizes must be {own}, got {sizes}")
    for name in ("returned", "renewed"):
        if missing := set(said[name]) - set(said["open"]):
            raise ValueError(f"{name} must be pending, got {short_repr(min(missing))}")
    for rounds in said["renewed"].values():
        check_integer("renewed", rounds, Range(ge=0, le=said["rounds"]))


def _parts(content: bytes) -> list[bytes]:
    parts, at = [], 0
    while at < len(content):
        end = at + 8 + int.from_bytes(content[at : at + 8], "little")
        parts.append(content[at + 8 : end])
        at = end
    return parts
