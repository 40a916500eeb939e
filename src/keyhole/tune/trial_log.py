"""Log of all trials: one line of JSON per run, stored durably before the study learns the run.

A record has the id of its decision, and is flushed to disk before the study is told. Therefore no
run counts twice, whenever the process is killed: a decision without a record is run again, and if
the study lacks an outcome that has a record, it is told this outcome.
"""

import json
import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError

from keyhole.files import add_path_to_errors, flush_folder, read_results_file
from keyhole.spec_values.error_messages import error_message
from keyhole.tune.arms import Scalar
from keyhole.tune.run_arrays import Trial
from keyhole.validation import short_repr

RUNS_FILE: Final = "runs.jsonl"
EXPIRED: Final = "expired"
_Seconds = Annotated[float, Field(ge=0, lt=2.5e11)]  # up to a time in the year 9892


@dataclass(frozen=True)
class TrialRecord:
    """Record of a run.

    Attributes
    ----------
    id : str
        Id of the decision, which makes telling idempotent.
    round : int
        Number of the decision.
    arm, limit, instance, seed
        Command, time limit, instance and seed of the run.
    outcome : str
        ok, failed, out of time, out of memory; expired if it does not count and is repeated.
    reward : float or None
        Reward of a run with the outcome ok.
    seconds, cpu, memory
        Wall time (s), CPU time (s) and peak memory (bytes).
    code, signal : int or None
        Exit code or signal.
    reason : str
        Why the run has this outcome.
    output : str
        End of the output of a run without success. It is "" if the run was killed at its limit and
        its output was not judged.
    at : float
        When the run started, in seconds since 1970.
    elapsed : float
        Seconds that the tuner had worked when the run ended, including earlier calls.
    others : float
        CPU seconds that the cores of the run spent on other processes.
    configuration, parameters : int and dict, optional
        Number and active parameters of the configuration, in a tune of a parameter space.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    id: str
    round: int
    arm: str
    limit: _Seconds
    instance: str
    seed: int
    outcome: Literal["ok", "failed", "out of time", "out of memory", "expired"]
    reward: float | None
    seconds: _Seconds
    cpu: _Seconds
    memory: int
    code: int | None
    signal: int | None
    reason: str
    output: str
    at: _Seconds
    elapsed: _Seconds
    others: _Seconds
    configuration: int | None = None
    parameters: dict[str, Scalar] | None = None

    @property
    def is_counted(self) -> bool:
        """Whether the run counts; an expired run does not."""
        return self.outcome != EXPIRED

    def as_trial(self, instance_numbers: Mapping[str, int]) -> Trial:
        """Return the run as a trial of a configuration.

        The number -1 stands for no configuration, and for an instance that has no number.
        """
        configuration = -1 if self.configuration is None else self.configuration
        instance = instance_numbers.get(self.instance, -1)
        return Trial(self.round, configuration, self.parameters or {}, instance, self.limit)

    @property
    def label(self) -> str:
        """Name of the arm, or in a parameter space the number of the configuration."""
        return self.arm if self.configuration is None else f"configuration {self.configuration}"

    def to_feedback(self) -> dict[str, Any]:
        """Return the keyword arguments of `Study.tell`."""
        if self.outcome == "out of time":
            return {"exceeded": True}
        # A run may end a moment after its limit, but the study takes no more than the limit.
        consumption = min(self.seconds, self.limit)
        if self.outcome == "ok":
            return {"reward": self.reward, "consumption": consumption}
        return {"consumption": consumption, "failed": True}


_FORMAT: Final = TypeAdapter(TrialRecord)


class TrialLog:
    """Append-only file of all records; only one process may write to it at a time."""

    def __init__(self, path: Path, arms: Collection[str]) -> None:
        self.path = path
        self.all = list(read_records(path, arms))
        # Only the records that count.
        self.by_id = {record.id: record for record in self.all if record.is_counted}
        self._file = path.open("ab")
        flush_folder(path.parent)  # fsync of the file does not make its directory entry durable
        # The last line is removed if a killed process has written only a part of it: otherwise the
        # next record would be appended to this part. The study was not told of the run, so its
        # decision is pending and is run again.
        data = path.read_bytes()
        complete_size = data.rfind(b"\n") + 1
        if complete_size < len(data):
            self._file.truncate(complete_size)
            self._file.seek(0, os.SEEK_END)

    def add(self, record: TrialRecord) -> None:
        """Append a record; return when it is durable (fsync)."""
        # Without a parameter space, `configuration` and `parameters` are left out, as in 0.2.0.
        data = _FORMAT.dump_python(record, exclude_defaults=True, warnings=False)
        with add_path_to_errors(self.path):
            self._file.write(json.dumps(data, allow_nan=False).encode() + b"\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        self.all.append(record)
        if record.is_counted:
            self.by_id[record.id] = record

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def describe_error(error: Exception) -> str:
    """Return the message of an error in a saved file; a message of pydantic is rewritten."""
    return error_message(error).strip() if isinstance(error, ValidationError) else str(error)


def read_records(path: Path, arms: Collection[str]) -> Iterator[TrialRecord]:
    """Yield the records of a file if it is there; an incomplete last line is left out."""
    if not path.exists():
        return
    names = frozenset(arms)
    # The text after the last line end is empty, or a part of a record, whose run is made again.
    for number, text in enumerate(read_results_file(path).split(b"\n")[:-1], 1):
        try:
            record = _FORMAT.validate_python(json.loads(text))
            if record.arm not in names:
                raise ValueError(f"arm {short_repr(record.arm)} is not in the spec")
        except (ValueError, RecursionError) as error:
            raise ValueError(
                f"{path}, line {number}, is not a record of a run: {describe_error(error)}"
            ) from None
        yield record
