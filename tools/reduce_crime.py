"""Make the package's tables of recorded crime by place and day.

The raw folder has ``nyc_vehicle_thefts.parquet``, with one row per theft, and
``homicides_city_day_2015.parquet``, with one row per day. The output has counts of events by place
and day. Usage::

    python tools/reduce_crime.py RAW_FOLDER [--out FOLDER]
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

SHIPPED: Final = Path(__file__).parents[1] / "src" / "keyhole" / "data" / "crime"
SOURCE: Final = "github.com/mpjashby/crimedata, commit 0617b577c27681e401157c79d36cb15df3222f90"
BANDS: Final = ("0-6", "6-12", "12-18", "18-24")
TRACTS: Final = 20
FIRST, LAST = date(2014, 1, 1), date(2017, 12, 31)
LONGEST_WINDOW: Final = 24.0
"""Hours: the hour of thefts with a longer window of uncertainty is treated as unknown."""


def header(name: str, source: str, changes: str) -> list[str]:
    """Return the comment lines at the top of a file.

    Parameters
    ----------
    name, source, changes : str
        Name of the data, file of origin, and changes.

    Returns
    -------
    list of str
        Comments.
    """
    return [
        f"# name: {name}",
        f"# source: {SOURCE}, data/{source}",
        "# licence: MIT, see LICENSE-crimedata-MIT.txt",
        f"# changes: {changes}",
    ]


def count_events(events: Iterable[tuple[date, str]], places: Sequence[str]) -> list[str]:
    """Return a table of the numbers of events by day and place.

    Parameters
    ----------
    events : iterable of (date, str)
        Day and place of each.
    places : sequence of str
        The columns.

    Returns
    -------
    list of str
        The names of the columns, then a line for every day.
    """
    found = Counter(events)
    lines = [",".join(["day", *places])]
    for n in range((LAST - FIRST).days + 1):
        day = FIRST + timedelta(days=n)
        lines.append(",".join([str(day), *(str(found[day, place]) for place in places)]))
    return lines


def tracts(thefts: pa.Table) -> list[str]:
    """Count the thefts in the census tracts with the most of them, in decreasing order."""
    events = [(row["date"].date(), row["tract"]) for row in thefts.to_pylist()]
    totals = Counter(tract for _, tract in events)
    busiest = sorted(totals, key=lambda tract: (-totals[tract], tract))[:TRACTS]
    return count_events(events, busiest)


def boroughs(thefts: pa.Table) -> list[str]:
    """Count the thefts with a known hour by borough and band of hours."""
    rows = [row for row in thefts.to_pylist() if _hour_known(row)]
    events = [(row["date"].date(), f"{row['borough']} {BANDS[row['hour'] // 6]}") for row in rows]
    names = sorted({row["borough"] for row in rows})
    return count_events(events, [f"{name} {band}" for name in names for band in BANDS])


def cities(homicides: pa.Table) -> list[str]:
    """Write the homicides by city as they are."""
    names = [name for name in homicides.column_names if name != "date"]
    lines = [",".join(["day", *names])]
    for row in homicides.to_pylist():
        lines.append(",".join([str(row["date"].date()), *(str(row[name]) for name in names)]))
    return lines


def _hour_known(row: dict[str, Any]) -> bool:
    return row["window_hours"] is not None and row["window_hours"] <= LONGEST_WINDOW


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the tables.

    Parameters
    ----------
    arguments : sequence of str, optional
        The command line; that of the process if left out.
    """
    parser = argparse.ArgumentParser(description="Make the shipped tables of recorded crime.")
    parser.add_argument("raw", type=Path, help="folder with the two Parquet files")
    parser.add_argument("--out", type=Path, default=SHIPPED, help="folder to write into")
    folders = parser.parse_args(arguments)
    thefts = pq.read_table(folders.raw / "nyc_vehicle_thefts.parquet")
    homicides = pq.read_table(folders.raw / "homicides_city_day_2015.parquet")
    files = {
        "tracts": header("tracts", "nycvehiclethefts.rda", "counted by day, in 20 of 2,142 tracts")
        + tracts(thefts),
        "boroughs": header(
            "boroughs",
            "nycvehiclethefts.rda",
            "counted by day, borough and hour, where the hour is known to within a day",
        )
        + boroughs(thefts),
        "cities": header("cities", "homicides15.rda", "counted by day and city")
        + cities(homicides),
    }
    for name, lines in files.items():
        text = "".join(f"{line}\n" for line in lines)
        (folders.out / f"{name}.csv").write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    main()
