"""Make the package's tables of recorded delays.

The raw folder has ``dengue_reporting.parquet`` and ``mpox_reporting.parquet``, one row per case,
and ``cdnow.parquet``, one row per order. The output has the frequency of each delay. Usage::

    python tools/reduce_delays.py RAW_FOLDER [--out FOLDER]
"""

import argparse
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

SHIPPED: Final = Path(__file__).parents[1] / "src" / "keyhole" / "data" / "delays"
REPORTS: Final = (
    ("dengue", "dengue_reporting", "onset_week", "report_week", 7),
    ("mpox-diagnosis", "mpox_reporting", "dx_date", "dx_report_date", 1),
    ("mpox-onset", "mpox_reporting", "onset_date", "onset_report_date", 1),
)
"""Name, raw file, two columns of dates, and days to a unit of the delay."""

REPORTING_HEADER: Final = [
    "# name: reporting delays",
    "# source: github.com/sarahhbellum/NobBS, commit 3eeda9432224b09beb37113998cdb5cfd6c53ea4, "
    "data/denguedat.RData and data/mpoxdat.RData",
    "# licence: MIT, see LICENSE-NobBS-MIT.txt",
    "# changes: counted by delay; cases without both dates left out",
    "set,delay,cases",
]
CDNOW_HEADER: Final = [
    "# name: CDNOW",
    "# source: github.com/CamDavidsonPilon/lifetimes, "
    "commit 4f2833f4518621343bb6983eb3e540c11f66ec6a, lifetimes/datasets/CDNOW_master.txt",
    "# licence: MIT, see LICENSE-lifetimes-MIT.txt",
    "# changes: counted by items in the first order and days to the next one (empty: none)",
    "items,delay,customers",
]
_MOST_ITEMS: Final = 4  # four and more are one arm


def reports(tables: dict[str, pa.Table]) -> list[str]:
    """Count the delays of each set, shortest first."""
    lines = []
    for name, file, first, second, unit in REPORTS:
        pairs = zip(tables[file][first].to_pylist(), tables[file][second].to_pylist(), strict=True)
        found = Counter((b - a).days // unit for a, b in pairs if a is not None and b is not None)
        lines += [f"{name},{delay},{found[delay]}" for delay in sorted(found)]
    return lines


def orders(table: pa.Table) -> list[str]:
    """Count the customers by items in the first order and days to the first later one."""
    items: Counter[int] = Counter()
    days: dict[int, set[object]] = {}
    rows = table.select(["customer", "date", "cds"]).to_pylist()
    for row in rows:
        days.setdefault(row["customer"], set()).add(row["date"])
    firsts = {customer: min(dates) for customer, dates in days.items()}  # type: ignore[type-var]
    for row in rows:
        if row["date"] == firsts[row["customer"]]:
            items[row["customer"]] += row["cds"]
    found: Counter[tuple[int, int | None]] = Counter()
    for customer, first in firsts.items():
        later = sorted(date for date in days[customer] if date > first)  # type: ignore[operator,type-var]
        delay = (later[0] - first).days if later else None  # type: ignore[operator]
        found[min(items[customer], _MOST_ITEMS), delay] += 1
    ordered = sorted(found, key=lambda key: (key[0], key[1] is None, key[1] or 0))
    return [f"{n},{'' if d is None else d},{found[n, d]}" for n, d in ordered]


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process if left out.
    """
    parser = argparse.ArgumentParser(description="Make the shipped tables of recorded delays.")
    parser.add_argument("raw", type=Path, help="folder with the three Parquet files")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write into")
    folders = parser.parse_args(arguments)
    tables = {
        name: pq.read_table(folders.raw / f"{name}.parquet")
        for name in ("dengue_reporting", "mpox_reporting", "cdnow")
    }
    for file, lines in (
        ("reporting.csv", REPORTING_HEADER + reports(tables)),
        ("cdnow.csv", CDNOW_HEADER + orders(tables["cdnow"])),
    ):
        text = "".join(f"{line}\n" for line in lines)
        (folders.out / file).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
