"""What commands are run on: names, files, or rows of a table; drawn by the number of a run."""

import csv
import glob
import io
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from keyhole.data.rows import read_text
from keyhole.reading import unknown
from keyhole.tune.command import OF_THE_RUN
from keyhole.validate import distinct, line, shown

_SEEDS: Final = 2**31


@dataclass(frozen=True)
class Instance:
    """One thing to run commands on.

    Attributes
    ----------
    name : str
        What stands for ``{instance}``.
    columns : mapping of str to str
        Further fields, where instances are rows of a table.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)


def drawn(instances: Sequence[Instance], seed: int, round: int) -> tuple[Instance, int]:
    """Return the instance of a run, and a seed for its command: by the run's number alone.

    Examples
    --------
    >>> some = [Instance("a"), Instance("b")]
    >>> drawn(some, 1, 7) == drawn(some, 1, 7)
    True
    """
    rng = random.Random(f"{seed} {round}")
    return instances[rng.randrange(len(instances))], rng.randrange(_SEEDS)


def instances_of(value: Any, folder: Path) -> tuple[Instance, ...]:
    """Return the instances that an entry describes: a pattern of files, a list, or a table.

    Files are named from the folder of the spec. Without the entry there is one, without a name.
    """
    if value is None:
        return (Instance("-"),)
    if isinstance(value, str):
        return _files(value, folder)
    if isinstance(value, Mapping):
        for entry in value:
            if entry != "csv":
                raise unknown(f"instances.{entry}", ["csv"])
        if not isinstance(value.get("csv"), str):
            raise TypeError(f"instances.csv must be the name of a file, got {shown(value)}")
        return _rows(folder / value["csv"])
    if isinstance(value, Sequence) and value:
        return tuple(map(Instance, _different([line(f"instances[{i}]", v)
                                              for i, v in enumerate(value)])))  # fmt: skip
    raise TypeError(
        "instances must be a pattern of files such as 'cnf/*.cnf', a list of names, or "
        f"{{ csv = 'FILE' }}, got {shown(value)}"
    )


def _files(pattern: str, folder: Path) -> tuple[Instance, ...]:
    found = sorted(glob.glob(pattern, root_dir=folder, recursive=True))
    found = [name for name in found if (folder / name).is_file()]
    if not found:
        raise ValueError(f"instances must be at least one file, got none for {pattern!r}")
    return tuple(Instance(line("instances", name)) for name in found)


def _rows(path: Path) -> tuple[Instance, ...]:
    rows = csv.reader(io.StringIO(_text(path), newline=""), skipinitialspace=True)
    try:
        return _instances(path, rows)
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}") from None


def _text(path: Path) -> str:
    try:
        return read_text(path)
    except IsADirectoryError:
        raise ValueError(f"instances.csv must be a file, got the folder {path}") from None


def _instances(path: Path, rows: Any) -> tuple[Instance, ...]:
    header = [name.strip() for name in next(rows, [])]
    if "instance" not in header:
        raise ValueError(f"{path}: the header must have a column instance, got {header}")
    for name in distinct("columns", header):
        if name != "instance" and (not name.isidentifier() or name in OF_THE_RUN):
            raise ValueError(f"{path}: the column {name!r} must have a name of letters of its own")
    found = []
    for row in filter(None, rows):
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {rows.line_num}: the row must have {len(header)} fields, "
                f"got {len(row)}"
            )
        columns = dict(zip(header, map(str.strip, row), strict=True))
        if "\0" in "".join(row):
            raise ValueError(f"{path}, line {rows.line_num}: the row must have no character 0")
        name = line(f"{path}, line {rows.line_num}: instance", columns.pop("instance"))
        found.append(Instance(name, columns))
    if not found:
        raise ValueError(f"instances must be at least one, got none in {path}")
    _different([one.name for one in found])
    return tuple(found)


def _different(names: Sequence[str]) -> Sequence[str]:
    return distinct("instances", names)
