import json

import pyarrow.parquet as pq
import pytest

import keyhole
from keyhole.experiment import load_run, open_run


def test_a_run_folder_holds_what_it_should(finished):
    names = {p.name for p in finished.iterdir()}
    assert {"run.json", "spec.json", "values.parquet", "curves.parquet"} <= names
    assert "blocks" not in names


def test_the_tables_are_tidy(finished):
    values = pq.read_table(finished / "values.parquet")
    assert values.column_names == [
        "policy", "round", "replication", "aggregate_regret", "simple_regret",
    ]  # fmt: skip
    assert values.num_rows == 2 * 2 * 40
    curves = pq.read_table(finished / "curves.parquet").to_pandas()
    assert list(curves.columns) == [
        "policy", "round", "metric", "mean", "std_error", "replications",
    ]  # fmt: skip


def test_curves_can_be_read_back(finished):
    curves = keyhole.load_run(finished)
    assert curves.labels == ("ours", "Uniform()")
    assert curves.checkpoints == (20, 60)
    assert curves.to_arrow().equals(pq.read_table(finished / "curves.parquet"))


def test_provenance_names_versions_and_no_places(finished):
    provenance = open_run(finished).provenance
    assert provenance["seed"] == 4
    assert provenance["versions"]["keyhole"] == "0.1.0"
    assert provenance["command"] == "keyhole run small.toml"
    assert str(finished.parent) not in (finished / "run.json").read_text()
    assert str(finished.parent) not in (finished / "spec.json").read_text()


def test_what_is_no_run_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        load_run(tmp_path / "nowhere")
    with pytest.raises(ValueError, match="is not a run folder: it has no readable run"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text("{")
    with pytest.raises(ValueError, match="is not a run folder"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"format": "keyhole-run", "version": 9}))
    with pytest.raises(ValueError, match="not a run folder that this version can read"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"format": "keyhole-run", "version": 1}))
    with pytest.raises(ValueError, match="holds a run that is not finished"):
        load_run(tmp_path)


def test_damaged_results_are_refused(finished, tmp_path):
    for name in ("run.json", "spec.json", "values.parquet"):
        (tmp_path / name).write_bytes((finished / name).read_bytes())
    assert load_run(tmp_path).replications == 40
    (tmp_path / "values.parquet").write_bytes(b"PAR1 not really")
    with pytest.raises(ValueError, match="cannot be read"):
        load_run(tmp_path)
