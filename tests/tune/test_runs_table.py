import base64
import gzip
import json
import random
import string

from keyhole.tune import SavedTune, Spec
from keyhole.tune.report import runs_table
from tests.tune.conftest import TABLE
from tests.tune.trial_records import record


def unpacked(block):
    """Return the rows of a table of runs."""
    return json.loads(gzip.decompress(base64.b64decode(block.rows)))


def test_all_runs_are_in_the_table_with_those_that_expired(spec, tmp_path):
    runs = [record("ok", 0.05, 1.0), record("failed", 0.5, 1.0, "slow", output="</script>\n\ud800")]
    runs.append(record("expired", 0.5, 1.0, "slow", reason="asleep"))
    block = runs_table(SavedTune(tmp_path, spec, runs))
    rows = unpacked(block)
    assert [dict(zip(block.head, row, strict=True))["outcome"] for row in rows] == [
        "ok", "failed", "expired"
    ]  # fmt: skip
    assert rows[1][block.head.index("why")] == r"because </script> \ud800"
    assert "<" not in block.rows
    assert runs_table(SavedTune(tmp_path, spec, runs)) == block


def test_a_table_that_would_be_too_long_has_the_last_runs(tmp_path):
    rng = random.Random(1)
    runs = [
        record("failed", 0.1, 1.0, output="".join(rng.choices(string.printable, k=500)))
        for _ in range(1000)
    ]
    block = runs_table(SavedTune(tmp_path, Spec.from_table(TABLE), runs))
    rows = unpacked(block)
    assert len(block.rows) <= 250_000
    assert 300 < len(rows) < 1000
    assert rows[-1][0] == runs[-1].round
    assert block.caption.startswith(f"The last {len(rows)} of 1,000 runs; runs.jsonl has all.")
