"""Instances, the inputs of commands (files, names, rows), and the order in which they are run."""

import csv
import glob
import io
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from keyhole.data.csv_rows import read_text
from keyhole.spec_values import unknown_name_error
from keyhole.tune.arms import RUN_FIELDS
from keyhole.tune.trial_log import TrialRecord
from keyhole.validate import check_distinct, check_line, short_repr

_SEED_RANGE: Final = 2**31


@dataclass(frozen=True)
class Instance:
    """One input of the commands.

    Attributes
    ----------
    name : str
        Value of the field ``{instance}``.
    columns : mapping of str to str
        Further fields, if instances are rows of a table.
    """

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)


class InstanceOrder:
    """The instance of each run: each arm has its own random permutation of all, then another one.

    Sampling without replacement has a smaller variance. If all arms had the same order, arms with
    few runs would share the same few instances, and look as good or bad as these are.

    Parameters
    ----------
    instances : sequence of Instance
        All instances.
    seed : int
        Seed of the permutations.
    records : iterable of TrialRecord
        The runs of earlier calls.

    Examples
    --------
    >>> order = InstanceOrder([Instance("x"), Instance("y")], seed=1)
    >>> sorted(order.take("arm").name for _ in range(4))
    ['x', 'x', 'y', 'y']
    """

    def __init__(
        self, instances: Sequence[Instance], seed: int, records: Iterable[TrialRecord] = ()
    ) -> None:
        self._seed, self._instances = seed, {one.name: one for one in instances}
        self._runs: dict[str, Counter[str]] = defaultdict(lambda: Counter(self._zero_counts()))
        self._orders: dict[tuple[str, int], list[str]] = {}
        for record in records:
            self._runs[record.arm][record.instance] += 1

    def _zero_counts(self) -> dict[str, int]:
        return dict.fromkeys(self._instances, 0)

    def take(self, arm: str) -> Instance:
        """Return the next instance of an arm."""
        runs = self._runs[arm]
        # The first of the permutation that had fewest runs: after `put_back`, or in a resumed tune,
        # that may be any instance.
        least = min(runs.values())
        name = next(name for name in self._order(arm, least) if runs[name] == least)
        runs[name] += 1
        return self._instances[name]

    def put_back(self, arm: str, instance: Instance) -> None:
        """Return an instance to the order, since its run does not count."""
        self._runs[arm][instance.name] -= 1

    def _order(self, arm: str, time: int) -> list[str]:
        """Return the permutation of an arm for its first, second, ... pass."""
        if (arm, time) not in self._orders:
            names = list(self._instances)
            # `Random` hashes a text by SHA-512, so that the order is the same in every process.
            random.Random(f"{self._seed} {time} {arm}").shuffle(names)
            # Only the current permutation of each arm is kept: there may be 10,000 arms.
            self._orders = {key: kept for key, kept in self._orders.items() if key[0] != arm}
            self._orders[arm, time] = names
        return self._orders[arm, time]


def command_seed(seed: int, round: int) -> int:
    """Return the value of the field ``{seed}``, a function of the number of the run."""
    return random.Random(f"{seed} {round}").randrange(_SEED_RANGE)


def parse_instances(value: Any, folder: Path) -> tuple[Instance, ...]:
    """Return the instances of an entry: a file pattern, a list of names, or a table.

    Files are relative to the folder of the spec. Without the entry there is one, named "-".
    """
    if value is None:
        return (Instance("-"),)
    if isinstance(value, str):
        return _find_files(value, folder)
    if isinstance(value, Mapping):
        for entry in value:
            if entry != "csv":
                raise unknown_name_error(f"instances.{entry}", ["csv"])
        if not isinstance(value.get("csv"), str):
            raise TypeError(f"instances.csv must be the name of a file, got {short_repr(value)}")
        return _read_table(folder / value["csv"])
    if isinstance(value, Sequence) and value:
        return tuple(map(Instance, _check_distinct_names([check_line(f"instances[{i}]", v)
                                              for i, v in enumerate(value)])))  # fmt: skip
    raise TypeError(
        "instances must be a pattern of files such as 'cnf/*.cnf', a list of names, or "
        f"{{ csv = 'FILE' }}, got {short_repr(value)}"
    )


def _find_files(pattern: str, folder: Path) -> tuple[Instance, ...]:
    found = sorted(glob.glob(pattern, root_dir=folder, recursive=True))
    found = [name for name in found if (folder / name).is_file()]
    if not found:
        raise ValueError(f"instances must be at least one file, got none for {pattern!r}")
    return tuple(Instance(check_line("instances", name)) for name in found)


def _read_table(path: Path) -> tuple[Instance, ...]:
    rows = csv.reader(io.StringIO(_read_text(path), newline=""), skipinitialspace=True)
    try:
        return _parse_rows(path, rows)
    except csv.Error as error:
        raise ValueError(f"{path}, line {rows.line_num}: {error}") from None


def _read_text(path: Path) -> str:
    try:
        return read_text(path)
    except IsADirectoryError:
        raise ValueError(f"instances.csv must be a file, got the folder {path}") from None


def _parse_rows(path: Path, rows: Any) -> tuple[Instance, ...]:
    header = [name.strip() for name in next(rows, [])]
    if "instance" not in header:
        raise ValueError(f"{path}: the header must have a column instance, got {header}")
    for name in check_distinct("columns", header):
        if name != "instance" and (not name.isidentifier() or name in RUN_FIELDS):
            raise ValueError(
                f"{path}: the column {name!r} must be an identifier other than "
                f"{', '.join(RUN_FIELDS)}"
            )
    found = []
    for row in filter(None, rows):
        if len(row) != len(header):
            raise ValueError(
                f"{path}, line {rows.line_num}: the row must have {len(header)} fields, "
                f"got {len(row)}"
            )
        columns = dict(zip(header, map(str.strip, row), strict=True))
        if "\0" in "".join(row):
            raise ValueError(f"{path}, line {rows.line_num}: the row must have no NUL character")
        name = check_line(f"{path}, line {rows.line_num}: instance", columns.pop("instance"))
        found.append(Instance(name, columns))
    if not found:
        raise ValueError(f"instances must be at least one, got none in {path}")
    _check_distinct_names([one.name for one in found])
    return tuple(found)


def _check_distinct_names(names: Sequence[str]) -> Sequence[str]:
    return check_distinct("instances", names)
