import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from keyhole.data import load_labels
from keyhole.data.crowd_labels import BUNDLED

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "src" / "keyhole" / "data" / "crowd"


@pytest.fixture(scope="module")
def tool() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "tools" / "reduce_crowd_labels.py"))


def raw_table(name: str) -> pa.Table:
    """Give back one row per label, as in the raw file but for the order and the workers."""
    labels = load_labels(name)
    item = np.repeat(np.array(labels.items, dtype=np.int64), labels.counts)
    starts = np.repeat(np.cumsum(labels.counts) - labels.counts, labels.counts)
    label = np.arange(len(item)) - starts < np.repeat(labels.ones, labels.counts)
    gold = np.repeat(labels.gold, labels.counts)
    columns = {"item": item, "label": label.astype(np.int8)}
    if labels.has_gold:
        columns["gold"] = pa.array(gold, mask=gold < 0)
    return pa.table(columns)


def test_tool_makes_the_shipped_files(tool: dict[str, Any], tmp_path: Path) -> None:
    for name in BUNDLED:
        pq.write_table(raw_table(name), tmp_path / f"{name}.parquet")
    tool["main"]([str(tmp_path), "--out", str(tmp_path)])
    for name in BUNDLED:
        made, shipped = (folder / f"{name}.csv" for folder in (tmp_path, SHIPPED))
        assert made.read_bytes() == shipped.read_bytes()


def test_tool_refuses_two_gold_values_of_one_item(tool: dict[str, Any]) -> None:
    table = pa.table({"item": [7, 7], "label": [0, 1], "gold": [0, 1]})
    with pytest.raises(ValueError, match="gold of item 7 must be one value"):
        tool["reduce"](table)


def test_tool_refuses_labels_that_are_not_bits(tool: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="label of item 7 must be 0 or 1, got 2"):
        tool["reduce"](pa.table({"item": [7], "label": [2]}))
