"""What became of every run: a line of JSON each, durable before the study is told of it.

A record is written under the id of its decision, and flushed, before the study hears what came of
it. Whatever moment a process is killed at: a decision without a record is run again, one with a
record that the study has not heard of is told from the record, and none is counted twice.
"""

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Self, get_type_hints

from keyhole.files import flush_folder
from keyhole.validate import check_choice, short_repr

EXPIRED: Final = "expired"
OUTCOMES: Final = ("ok", "failed", "out of time", "out of memory", EXPIRED)


@dataclass(frozen=True)
class TrialRecord:
    """What became of a run.

    Attributes
    ----------
    id : str
        Of its decision.
    round : int
        The decision's number.
    arm, limit, instance, seed
        What was run, and until when.
    outcome : str
        ok, failed, out of time, out of memory; lapsed if it counts for nothing, and is done again.
    reward : float or None
        Of one that is ok.
    seconds, cpu, memory
        What it used: time, seconds of processors, bytes.
    code, signal : int or None
        How it ended.
    reason : str
        Why, in words.
    output : str
        The end of what it wrote, of one that failed.
    at : float
        When it began, in seconds since 1970.
    elapsed : float
        For how long the tuner had been at work when it ended, all its stays together.
    others : float
        Seconds in which its cores worked for somebody else.
    """

    id: str
    round: int
    arm: str
    limit: float
    instance: str
    seed: int
    outcome: str
    reward: float | None
    seconds: float
    cpu: float
    memory: int
    code: int | None
    signal: int | None
    reason: str
    output: str
    at: float
    elapsed: float
    others: float

    @property
    def is_counted(self) -> bool:
        """Whether the study is told of it."""
        return self.outcome != EXPIRED

    def to_feedback(self) -> dict[str, Any]:
        """Return it in the words of the room."""
        if self.outcome == "out of time":
            return {"exceeded": True}
        used = min(self.seconds, self.limit)
        if self.outcome == "ok":
            return {"reward": self.reward, "consumption": used}
        return {"consumption": used, "failed": True}


class TrialLog:
    """The file of all records, which one process may add to."""

    def __init__(self, path: Path, arms: Collection[str]) -> None:
        self.path = path
        self.all: list[TrialRecord] = list(read(path, arms)) if path.exists() else []
        self.by_id = {one.id: one for one in self.all if one.is_counted}
        self._file = path.open("ab")
        flush_folder(path.parent)
        self._cut()

    def _cut(self) -> None:
        """Drop a line that a killed process had not written to its end."""
        data = self.path.read_bytes()
        whole = data.rfind(b"\n") + 1
        if whole < len(data):
            self._file.truncate(whole)
            self._file.seek(0, os.SEEK_END)

    def add(self, record: TrialRecord) -> None:
        """Add a record, and return once it is durable."""
        self._file.write(json.dumps(asdict(record), allow_nan=False).encode() + b"\n")
        self._file.flush()
        os.fsync(self._file.fileno())
        self.all.append(record)
        if record.is_counted:
            self.by_id[record.id] = record

    def close(self) -> None:
        """Let go of the file."""
        self._file.close()

    def __enter__(self) -> Self:
        """Return it."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def read(path: Path, arms: Collection[str]) -> Iterator[TrialRecord]:
    """Yield the records of a file; not a last line that was not written to its end."""
    lines, arms = path.read_bytes().split(b"\n"), frozenset(arms)
    for number, text in enumerate(lines[:-1], 1):
        try:
            said = json.loads(text)
            if said.get("outcome") == "lapsed":  # as earlier versions called it
                said["outcome"] = EXPIRED
            yield _checked(TrialRecord(**said), arms)
        except (ValueError, TypeError, AttributeError) as error:
            raise ValueError(f"{path}, line {number}, is no record of a run: {error}") from None


_KINDS: Final = get_type_hints(TrialRecord)


def _checked(record: TrialRecord, arms: Collection[str]) -> TrialRecord:
    for name, kind in _KINDS.items():
        value = getattr(record, name)
        if not isinstance(value, kind) and not (isinstance(0.0, kind) and type(value) is int):
            raise TypeError(f"{name} is {short_repr(value)}")
    check_choice("outcome", record.outcome, OUTCOMES)
    if record.arm not in arms:
        raise ValueError(f"there is no arm {short_repr(record.arm)}")
    return record
