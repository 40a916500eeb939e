import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "keyhole" / "data" / "nycflights13" / "arrival_delays.csv"
CODES = ("dest", "origin", "carrier")


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "reduce_flights.py"))


def raw_table() -> pa.Table:
    """Give back one row per flight, as in the raw file but for the order and the dates."""
    rows = []
    for line in SHIPPED.read_text(encoding="utf-8").splitlines()[5:]:
        *codes, delays = line.split(",")
        for pair in delays.split(" "):
            delay, count = pair.split(":")
            rows += [(*codes, None if delay == "never" else int(delay))] * int(count)
    columns = dict(zip((*CODES, "arr_delay"), zip(*reversed(rows), strict=True), strict=True))
    return pa.table({**columns, "arr_delay": pa.array(columns["arr_delay"], pa.int16())})


def test_tool_makes_the_shipped_file(tool: dict[str, Any], tmp_path: Path) -> None:
    table = raw_table()
    assert table.num_rows == 336_776
    pq.write_table(table, tmp_path / "flights.parquet")
    tool["main"]([str(tmp_path), "--out", str(tmp_path)])
    assert (tmp_path / SHIPPED.name).read_bytes() == SHIPPED.read_bytes()


def test_tool_counts_by_minute_and_keeps_what_never_arrived(tool: dict[str, Any]) -> None:
    flights = [("SFO", "JFK", "DL", d) for d in (5, None, -3, 5)] + [("ATL", "EWR", "UA", None)]
    table = pa.table(dict(zip((*CODES, "arr_delay"), zip(*flights, strict=True), strict=True)))
    assert tool["reduce"](table) == ["ATL,EWR,UA,never:1", "SFO,JFK,DL,-3:1 5:2 never:1"]


def test_tool_refuses_a_flight_without_carrier(tool: dict[str, Any]) -> None:
    table = pa.table({"dest": ["SFO"], "origin": ["JFK"], "carrier": [None], "arr_delay": [1]})
    with pytest.raises(ValueError, match="dest, origin and carrier of row 0 must be given"):
        tool["reduce"](table)
