import runpy
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "keyhole" / "data" / "delays"
START = datetime(2000, 1, 3)


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "reduce_delays.py"))


def rows_of(name: str) -> list[list[str]]:
    lines = (SHIPPED / name).read_text(encoding="utf-8").splitlines()[5:]
    return [line.split(",") for line in lines]


def reported(name: str, unit: int) -> tuple[list[datetime], list[datetime]]:
    """Return dates that have the shipped delays."""
    counts = {int(d): int(n) for key, d, n in rows_of("reporting.csv") if key == name}
    delays = [d for d, n in counts.items() for _ in range(n)]
    return [START] * len(delays), [START + timedelta(days=unit * d) for d in delays]


def test_the_tool_makes_the_shipped_files(tool: dict[str, Any], tmp_path: Path) -> None:
    onset, report = reported("dengue", 7)
    pq.write_table(
        pa.table({"onset_week": onset, "report_week": report}),
        tmp_path / "dengue_reporting.parquet",
    )
    diagnosed, first = reported("mpox-diagnosis", 1)
    onsets, later = reported("mpox-onset", 1)
    missing = [None] * (len(diagnosed) - len(onsets))
    table = {
        "dx_date": diagnosed,
        "dx_report_date": first,
        "onset_date": [*onsets, *missing],
        "onset_report_date": [*later, *missing],
    }
    pq.write_table(pa.table(table), tmp_path / "mpox_reporting.parquet")
    orders, customer = [], 0
    for items, delay, count in rows_of("cdnow.csv"):
        for _ in range(int(count)):
            customer += 1
            # The first order in two rows where it can be, and an order after the second.
            parts = [1, int(items) - 1] if int(items) > 1 else [1]
            orders += [{"customer": customer, "date": START, "cds": n} for n in parts]
            if delay:
                for days in (int(delay) + 9, int(delay)):
                    date = START + timedelta(days=days)
                    orders.append({"customer": customer, "date": date, "cds": 7})
    pq.write_table(pa.Table.from_pylist(orders), tmp_path / "cdnow.parquet")
    tool["main"]([str(tmp_path), "--out", str(tmp_path)])
    for file in ("reporting.csv", "cdnow.csv"):
        assert (tmp_path / file).read_bytes() == (SHIPPED / file).read_bytes()
