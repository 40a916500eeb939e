import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "keyhole" / "data" / "deliveries" / "orders.csv"
NAMES = ("day", "hour", "distance", "time_to_delivery")


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "reduce_deliveries.py"))


def test_tool_makes_the_shipped_file(tool: dict[str, Any], tmp_path: Path) -> None:
    rows = [row.split(",") for row in SHIPPED.read_text(encoding="utf-8").splitlines()[5:]]
    day, *numbers = zip(*rows, strict=True)
    columns = [day, *([float(v) for v in column] for column in numbers)]
    table = pa.table({**dict(zip(NAMES, columns, strict=True)), "item_01": [0] * len(rows)})
    pq.write_table(table, tmp_path / "deliveries.parquet")
    tool["main"]([str(tmp_path), "--out", str(tmp_path)])
    assert (tmp_path / SHIPPED.name).read_bytes() == SHIPPED.read_bytes()


def test_tool_refuses_an_order_without_its_time(tool: dict[str, Any]) -> None:
    table = pa.table(dict(zip(NAMES, (["Mon"], [12.0], [2.5], [None]), strict=True)))
    with pytest.raises(ValueError, match="time_to_delivery of row 0 must be given"):
        tool["reduce"](table)
