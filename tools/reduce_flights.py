"""Make the package's table of arrival delays from the raw flights.

The raw file, ``flights.parquet``, has one row per flight, with the columns ``dest``, ``origin``,
``carrier`` and ``arr_delay`` (whole minutes; null for a flight that did not arrive). The output has
counts of flights per route, origin, carrier and minute. Usage::

    python tools/reduce_flights.py RAW_FOLDER [--out FOLDER]
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

SHIPPED: Final = Path(__file__).parents[1] / "src" / "keyhole" / "data" / "nycflights13"
HEADER: Final = [
    "# name: nycflights13",
    "# source: github.com/tidyverse/nycflights13, "
    "commit df98ef215aa8216fe0838a0b8ac5bada646d814c, flights",
    "# licence: CC0-1.0, see LICENSE-CC0-1.0.txt",
    "# changes: reduced from one row per flight to counts per minute of arrival delay",
    "dest,origin,carrier,delays",
]
"""Lines at the top of the file: origin, licence, changes, column names."""


def reduce(table: pa.Table) -> list[str]:
    """Count the flights by their delay.

    Parameters
    ----------
    table : pyarrow.Table
        One row per flight.

    Returns
    -------
    list of str
        For each route, origin and carrier, in alphabetical order, their codes and the delays with
        the number of flights of each, as in ``-3:2 0:1 never:1``.

    Raises
    ------
    ValueError
        If a code is missing.
    """
    counts: dict[tuple[str, ...], Counter[Any]] = {}
    codes = zip(*(table[name].to_pylist() for name in ("dest", "origin", "carrier")), strict=True)
    for row, (key, delay) in enumerate(zip(codes, table["arr_delay"].to_pylist(), strict=True)):
        if None in key:
            raise ValueError(f"dest, origin and carrier of row {row} must be given, got {key}")
        counts.setdefault(key, Counter())[delay] += 1
    return [",".join((*key, _delays(counts[key]))) for key in sorted(counts)]


def _delays(flights: Counter[Any]) -> str:
    never = flights.pop(None, 0)
    arrived = [f"{delay}:{count}" for delay, count in sorted(flights.items())]
    return " ".join(arrived + ([f"never:{never}"] if never else []))


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the reduced table.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process if left out.
    """
    parser = argparse.ArgumentParser(description="Make the shipped table of arrival delays.")
    parser.add_argument("raw", type=Path, help="folder with flights.parquet")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write into")
    folders = parser.parse_args(arguments)
    lines = HEADER + reduce(pq.read_table(folders.raw / "flights.parquet"))
    text = "".join(f"{line}\n" for line in lines)
    (folders.out / "arrival_delays.csv").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
