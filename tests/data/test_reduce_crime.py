import runpy
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "keyhole" / "data" / "crime"


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "reduce_crime.py"))


def rows_of(name: str) -> list[list[str]]:
    lines = (SHIPPED / f"{name}.csv").read_text(encoding="utf-8").splitlines()[4:]
    return [line.split(",") for line in lines]


def day(text: str) -> datetime:
    return datetime.fromisoformat(text)


def test_the_tool_makes_the_shipped_files(tool: dict[str, Any], tmp_path: Path) -> None:
    # Thefts that would give the shipped counts by tract; their boroughs are made up.
    header, *table = rows_of("tracts")
    thefts = [
        {"date": day(d), "hour": 3, "window_hours": 1.0, "borough": "Bronx", "tract": tract}
        for d, *counts in table
        for tract, count in zip(header[1:], counts, strict=True)
        for _ in range(int(count))
    ]
    pq.write_table(pa.Table.from_pylist(thefts), tmp_path / "nyc_vehicle_thefts.parquet")
    header, *table = rows_of("cities")
    homicides = [
        {"date": day(d), **dict(zip(header[1:], map(int, counts), strict=True))}
        for d, *counts in table
    ]
    pq.write_table(pa.Table.from_pylist(homicides), tmp_path / "homicides_city_day_2015.parquet")
    tool["main"]([str(tmp_path), "--out", str(tmp_path)])
    for name in ("tracts", "cities"):
        file = f"{name}.csv"
        assert (tmp_path / file).read_bytes() == (SHIPPED / file).read_bytes()
    made = (tmp_path / "boroughs.csv").read_text().splitlines()
    assert made[:4] == (SHIPPED / "boroughs.csv").read_text().splitlines()[:4]
    assert made[4] == "day,Bronx 0-6,Bronx 6-12,Bronx 12-18,Bronx 18-24"


def test_thefts_without_an_hour_are_in_no_band(tool: dict[str, Any]) -> None:
    thefts = [
        {"date": day("2014-01-01"), "hour": hour, "window_hours": window, "borough": "Queens"}
        for hour, window in ((5, 0.0), (6, 24.0), (23, 24.1), (12, None), (17, 2.0), (18, 2.0))
    ]
    lines = tool["boroughs"](pa.Table.from_pylist(thefts))
    assert lines[0] == "day,Queens 0-6,Queens 6-12,Queens 12-18,Queens 18-24"
    assert lines[1] == "2014-01-01,1,1,1,1"
    assert len(lines) == 1 + (date(2017, 12, 31) - date(2014, 1, 1)).days + 1
