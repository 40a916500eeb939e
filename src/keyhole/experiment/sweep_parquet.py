"""Parquet files of a sweep's results, with a column for each entry that varies."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from keyhole.files import open_draft

Sweep = Mapping[str, Sequence[Any]]
Write = Callable[[Mapping[str, Any], pa.Table], int]

CURVES_SCHEMA: Final = pa.schema(
    [
        ("policy", pa.string()),
        ("round", pa.int64()),
        ("metric", pa.string()),
        ("mean", pa.float64()),
        ("std_error", pa.float64()),
        ("replications", pa.int64()),
    ]
)
"""The schema of `Curves.to_arrow`."""

_MOST_ROWS: Final = 2**26  # of a row group: Arrow's limit
_INT64_LIMIT: Final = 2**63
_EXACT_LIMIT: Final = 2**53  # a float represents every integer below


def values_schema(metrics: Iterable[str]) -> pa.Schema:
    """Return the schema of `keyhole.experiment.run_folder.policy_values_to_table`."""
    keys = [("policy", pa.string()), ("round", pa.int64()), ("replication", pa.int64())]
    return pa.schema([*keys, *((metric, pa.float64()) for metric in metrics)])


def column_type(values: Sequence[Any]) -> tuple[pa.DataType, Callable[[Any], Any]]:
    """Return the type of the column of a varied entry, and the function that encodes a value.

    If all values are numbers, or texts, or booleans, they are stored as they are. Otherwise all are
    stored as JSON, and so are numbers if a column of numbers cannot hold one of the integers.

    Examples
    --------
    >>> for values in ([0.5, 1], ["a", "b"], [[0.2, 0.7], [0.5]]):
    ...     arrow_type, encode = column_type(values)
    ...     print(arrow_type, [encode(value) for value in values])
    double [0.5, 1.0]
    string ['a', 'b']
    string ['[0.2, 0.7]', '[0.5]']
    """
    types = {type(value) for value in values}
    if types == {bool}:
        return pa.bool_(), bool
    if types == {int} and all(-_INT64_LIMIT <= value < _INT64_LIMIT for value in values):
        return pa.int64(), int
    if types <= {int, float} and all(isinstance(v, float) or abs(v) < _EXACT_LIMIT for v in values):
        return pa.float64(), float
    return pa.string(), str if types == {str} else json.dumps


@contextmanager
def open_points_writer(path: Path, sweep: Sweep, schema: pa.Schema) -> Iterator[Write]:
    """Yield a function that writes the table of the next point, and returns its row group count.

    Varied entries are the first columns. If a varied entry is also a column of the results, such as
    `replications`, the column of the results is left out. If a table lacks a column of the schema,
    the column is null at its point.
    """
    columns = {name: column_type(values) for name, values in sweep.items()}
    sweep_fields = [pa.field(name, arrow_type) for name, (arrow_type, _) in columns.items()]
    schema = pa.schema([*sweep_fields, *(field for field in schema if field.name not in sweep)])

    def write(values: Mapping[str, Any], table: pa.Table) -> int:
        rows: int = table.num_rows
        encoded_values = {name: encode(values[name]) for name, (_, encode) in columns.items()}
        arrays = []
        for field in schema:
            if field.name in encoded_values:
                arrays.append(pa.repeat(pa.scalar(encoded_values[field.name], field.type), rows))
            elif field.name in table.column_names:
                arrays.append(table[field.name])
            else:
                arrays.append(pa.nulls(rows, field.type))
        writer.write_table(pa.table(arrays, schema=schema), row_group_size=_MOST_ROWS)
        return max(1, math.ceil(rows / _MOST_ROWS))

    with open_draft(path) as file, pq.ParquetWriter(file, schema, compression="zstd") as writer:
        yield write


def read_point(path: Path, groups: range, sweep: Sweep) -> pa.Table:
    """Return the table of a point, without the columns of the sweep."""
    with pq.ParquetFile(path) as file:
        if groups.stop > file.num_row_groups:
            raise ValueError(f"{path.name} has {file.num_row_groups} row groups")
        table = file.read_row_groups(list(groups))
    # The file has the metrics of all points: those that this point lacks are columns of nulls.
    null_columns = [name for name in table.column_names if table[name].null_count == table.num_rows]
    return table.drop_columns([*sweep, *null_columns])
