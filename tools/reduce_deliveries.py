"""Make the package's table of delivery times from the raw orders.

The raw file, ``deliveries.parquet``, has one row per order. The output has its columns ``day``,
``hour``, ``distance`` and ``time_to_delivery``. Usage::

    python tools/reduce_deliveries.py RAW_FOLDER [--out FOLDER]
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

SHIPPED: Final = Path(__file__).parents[1] / "src" / "keyhole" / "data" / "deliveries"
HEADER: Final = [
    "# name: deliveries",
    "# source: github.com/tidymodels/modeldata, "
    "commit 5c22676a2deab18170885be4dd6e55068a669bb3, data/deliveries.rda",
    "# licence: MIT, see LICENSE-modeldata-MIT.md",
    "# changes: reduced to four of 31 columns",
    "day,hour,distance,minutes",
]
"""Lines at the top of the file: origin, licence, changes, column names."""


def reduce(table: pa.Table) -> list[str]:
    """Return day, hour, distance and delivery time of each order.

    Parameters
    ----------
    table : pyarrow.Table
        One row per order.

    Returns
    -------
    list of str
        For each order, in the order of the table: day of the week, hour, distance in miles and
        minutes to delivery; separated by commas.

    Raises
    ------
    ValueError
        If one of them is missing.
    """
    names = ("day", "hour", "distance", "time_to_delivery")
    columns = [table[name].to_pylist() for name in names]
    for name, column in zip(names, columns, strict=True):
        if None in column:
            raise ValueError(f"{name} of row {column.index(None)} must be given, got none")
    return [
        f"{day},{hour:.10g},{distance:.10g},{minutes:.10g}"
        for day, hour, distance, minutes in zip(*columns, strict=True)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the reduced table.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process if left out.
    """
    parser = argparse.ArgumentParser(description="Make the shipped table of delivery times.")
    parser.add_argument("raw", type=Path, help="folder with deliveries.parquet")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write into")
    folders = parser.parse_args(arguments)
    lines = HEADER + reduce(pq.read_table(folders.raw / "deliveries.parquet"))
    text = "".join(f"{line}\n" for line in lines)
    (folders.out / "orders.csv").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
