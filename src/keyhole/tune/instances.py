"""Instances, the inputs of commands (files, names, rows), and the order in which they are run."""

import glob
import os
import random
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from keyhole.data import csv_rows
from keyhole.spec_values.error_messages import check_entries
from keyhole.tune.arms import check_field_name
from keyhole.tune.trial_log import TrialRecord
from keyhole.validation import check_distinct, check_line, short_repr

_SEED_RANGE: Final = 2**31
_LIST_SUFFIXES: Final = (".txt", ".csv", ".lst", ".list")  # of files that mostly list instances
_NON_UTF_8: Final = re.compile("[\udc80-\udcff]")
_COMMENT: Final = re.compile(r"(?:^|(?<=\s))#.*")


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
    """Order in which an arm is run on instances: a random permutation of all, then another one.

    Sampling without replacement has a smaller variance. Each arm has an order of its own. With one
    order for all arms, arms with few runs would share their few instances: all of these arms would
    look better, or all worse, than they are. One order is a little worse for a tune, but better for
    a method that runs all arms equally often (docs/tune.md).

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
        self._seed = seed
        self._instances = {instance.name: instance for instance in instances}
        self._run_counts: dict[str, Counter[str]] = defaultdict(
            lambda: Counter(dict.fromkeys(self._instances, 0))
        )
        self._orders: dict[str, tuple[int, list[str]]] = {}
        for record in records:
            self._run_counts[record.arm][record.instance] += 1

    def take(self, arm: str) -> Instance:
        """Return the next instance of an arm."""
        counts = self._run_counts[arm]
        # Of the instances with the fewest runs, the first in the permutation is taken. It need not
        # be the next one: after `put_back`, or in a resumed tune, any instance may lack a run.
        fewest_runs = min(counts.values())
        name = next(name for name in self._shuffle(arm, fewest_runs) if counts[name] == fewest_runs)
        counts[name] += 1
        return self._instances[name]

    def put_back(self, arm: str, instance: Instance) -> None:
        """Put an instance back into the order: its run does not count."""
        self._run_counts[arm][instance.name] -= 1

    def _shuffle(self, arm: str, repetition: int) -> list[str]:
        """Return an arm's permutation for a repetition; repetition 0 is its first pass over all."""
        last_repetition, names = self._orders.get(arm, (-1, []))
        if repetition != last_repetition:
            names = list(self._instances)
            # `Random` hashes a text by SHA-512, so that the order is the same in every process.
            random.Random(f"{self._seed} {repetition} {arm}").shuffle(names)
            # Only the last permutation of an arm is kept: there may be 10,000 arms.
            self._orders[arm] = repetition, names
        return names


def command_seed(seed: int, round: int) -> int:
    """Return the value of ``{seed}``, given the seed of the tune and the number of the run."""
    return random.Random(f"{seed} {round}").randrange(_SEED_RANGE)


def parse_instances(value: object, folder: Path) -> tuple[Instance, ...]:
    """Return the instances of an entry: a file pattern, a list of names, or a file of instances.

    Files are relative to `folder`, that of the spec. Without the entry (None) there is one
    instance, with the name "-".
    """
    if value is None:
        return (Instance("-"),)
    if isinstance(value, str):
        instances = _match_instance_files(value, folder)
    elif isinstance(value, Mapping):
        instances = _read_instance_file(value, folder)
    elif isinstance(value, Sequence) and value:
        instances = [Instance(_check_name(f"instances[{i}]", name)) for i, name in enumerate(value)]
    else:
        raise TypeError(
            "instances must be a pattern of files such as 'cnf/*.cnf', a list of names, "
            f"{{ file = 'FILE' }} or {{ csv = 'FILE' }}, got {short_repr(value)}"
        )
    # Names are normalized, since a file with two names, a.cnf and ./a.cnf, would count twice.
    check_distinct("instances", [os.path.normpath(instance.name) for instance in instances])
    return tuple(instances)


def _check_name(path: str, name: object) -> str:
    """Return a name; refuse one that is not a line of text. Names of files need not be UTF-8."""
    # Python replaces each byte that is not UTF-8 by a surrogate, which counts as a character here.
    check_line(path, _NON_UTF_8.sub("?", name) if isinstance(name, str) else name)
    return str(name)


def _match_instance_files(pattern: str, folder: Path) -> list[Instance]:
    matches = sorted(glob.glob(pattern, root_dir=folder, recursive=True))
    if not (names := [name for name in matches if (folder / name).is_file()]):
        raise ValueError(f"instances must be at least one file, got none for {pattern!r}")
    if names == [pattern] and Path(pattern).suffix.lower() in _LIST_SUFFIXES:
        warnings.warn(
            f"1 instance: {pattern}; for the instances that it lists write instances = "
            f"{{ file = {pattern!r} }}, for this one alone instances = [{pattern!r}]",
            stacklevel=2,
        )
    return [Instance(_check_name("instances", name)) for name in names]


def _read_instance_file(table: Mapping[str, object], folder: Path) -> list[Instance]:
    """Return the instances of a file: a name on each line, or a table."""
    check_entries("instances", table, _READERS)
    entry, name = next(iter(table.items()), ("", None))
    if len(table) != 1 or not isinstance(name, str):
        raise TypeError(f"instances must have the name of one file, got {short_repr(table)}")
    try:
        return _READERS[entry](folder / name, csv_rows.read_text(folder / name), folder)
    except IsADirectoryError:
        raise ValueError(
            f"instances.{entry} must be a file, got the folder {folder / name}"
        ) from None


def _parse_instance_list(path: Path, text: str, folder: Path) -> list[Instance]:
    """Return the instances of a file with a name on each line, and comments that begin with #."""
    instances = []
    for number, line in enumerate(text.split("\n"), 1):
        if name := _COMMENT.sub("", line).strip():
            # Files are relative to the folder of the list, but commands run in the spec's folder.
            if (path.parent / name).is_file() and not os.path.isabs(name):
                name = os.path.relpath(path.parent / name, folder)
            instances.append(Instance(check_line(f"{path}, line {number}: instance", name)))
    if not instances:
        raise ValueError(f"instances must be at least one, got none in {path}")
    return instances


def _parse_instance_csv(path: Path, text: str, folder: Path) -> list[Instance]:
    """Return the instances of a CSV file with a column `instance`; other columns are fields."""
    instances: list[Instance] = []
    rows = csv_rows.make_row_reader(text)
    with csv_rows.add_line_to_errors(path, rows):
        header = [name.strip() for name in next(rows, [])]
        header = ["instance" if name.lower() == "instance" else name for name in header]
        if "instance" not in header:
            raise ValueError(
                f"the header must have a column instance, got {header}"
                f"{csv_rows.hint_at_delimiter(header)}"
            )
        for name in check_distinct("columns", header):
            if name != "instance":
                check_field_name(f"the column {name!r}", name)

    def add_row(row: list[str]) -> None:
        if "\0" in "".join(row):
            raise ValueError("the row must have no NUL character")
        columns = dict(zip(header, map(str.strip, row), strict=True))
        instances.append(Instance(check_line("instance", columns.pop("instance")), columns))

    csv_rows.for_each_row(path, rows, len(header), add_row)
    return instances


_READERS: Final = {"file": _parse_instance_list, "csv": _parse_instance_csv}
