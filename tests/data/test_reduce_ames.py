import runpy
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "keyhole" / "data" / "ames" / "houses.parquet"


def test_the_tool_keeps_the_numbers(tmp_path: Path) -> None:
    shipped = pq.read_table(SHIPPED)
    raw = shipped.append_column("Street", pa.array(["Pave"] * len(shipped)).dictionary_encode())
    pq.write_table(raw, tmp_path / "ames.parquet")
    tool = runpy.run_path(str(ROOT / "tools" / "reduce_ames.py"))
    tool["main"]([str(tmp_path), "--out", str(tmp_path)])
    assert pq.read_table(tmp_path / "houses.parquet").equals(shipped)


def test_the_houses_are_those_of_the_source() -> None:
    # Rows, columns, and what the source's description says of the prices.
    table = pq.read_table(SHIPPED)
    prices = table["Sale_Price"].to_numpy().astype(np.float64)
    assert table.shape == (2930, 34)
    assert prices.mean() == pytest.approx(180796.060068)
    assert prices.std(ddof=1) == pytest.approx(79886.692357)
    assert (np.median(prices), prices.min(), prices.max()) == (160000, 12789, 755000)
    assert table["Gr_Liv_Area"].to_numpy().mean() == pytest.approx(1499.690444, rel=1e-6)
