"""Make the table of houses in the package from the raw one.

The raw file, ``ames.parquet``, has one row per house. The output has its numeric columns. Usage::

    python tools/reduce_ames.py RAW_FOLDER [--out FOLDER]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

SHIPPED: Final = Path(__file__).parents[1] / "src" / "keyhole" / "data" / "ames"


def reduce(table: pa.Table) -> pa.Table:
    """Return the numeric columns, as 32-bit floats.

    Parameters
    ----------
    table : pyarrow.Table
        One row per house.

    Returns
    -------
    pyarrow.Table
        The same rows, in the same order.
    """
    kept = [
        name
        for name in table.column_names
        if pa.types.is_integer(table[name].type) or pa.types.is_floating(table[name].type)
    ]
    return pa.table({name: table[name].cast(pa.float32()) for name in kept})


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the reduced table.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process if left out.
    """
    parser = argparse.ArgumentParser(description="Make the shipped table of houses.")
    parser.add_argument("raw", type=Path, help="folder with ames.parquet")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write into")
    folders = parser.parse_args(arguments)
    table = reduce(pq.read_table(folders.raw / "ames.parquet"))
    pq.write_table(table, folders.out / "houses.parquet", compression="zstd")


if __name__ == "__main__":
    main()
