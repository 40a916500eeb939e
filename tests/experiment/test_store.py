import json
import shutil

import pyarrow.parquet as pq
import pytest

import keyhole
from keyhole.experiment import Spec, load_run, open_run, run


def test_a_run_folder_holds_what_it_should(finished):
    names = {p.name for p in finished.iterdir()}
    assert {"run.json", "spec.json", "spec.toml", "values.parquet", "curves.parquet"} <= names
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


def test_the_spec_lies_beside_the_results_as_it_was_given(finished, text):
    assert Spec.from_file(finished / "spec.toml") == Spec.from_text(text, folder=finished)


@pytest.fixture
def copied(finished, tmp_path):
    """Return a copy of a finished run, to be damaged."""
    folder = tmp_path / "copied"
    shutil.copytree(finished, folder)
    assert load_run(folder).replications == 40
    return folder


def shortened(data):
    return data[:-1]


def one_bit_off(data):
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


@pytest.mark.parametrize("damage", [shortened, one_bit_off, lambda _: b""])
@pytest.mark.parametrize("name", ["values.parquet", "curves.parquet"])
def test_altered_results_are_refused(copied, name, damage):
    (copied / name).write_bytes(damage((copied / name).read_bytes()))
    with pytest.raises(ValueError, match=f"{name} is not as the run left it: its checksum"):
        load_run(copied)


def test_results_that_another_run_left_are_refused(copied, text, tmp_path):
    run(Spec.from_text(text.replace("seed = 4", "seed = 5")), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "values.parquet", copied)
    with pytest.raises(ValueError, match=r"values.parquet is not as the run left it"):
        load_run(copied)


def test_missing_results_and_missing_checksums_are_refused(copied):
    record = json.loads((copied / "run.json").read_text())
    (copied / "run.json").write_text(json.dumps(record | {"checksums": {}}))
    with pytest.raises(ValueError, match=r"values.parquet is not as the run left it"):
        load_run(copied)
    (copied / "values.parquet").unlink()
    with pytest.raises(ValueError, match=r"values.parquet cannot be read .*run the spec again"):
        load_run(copied)


def test_a_spec_that_cannot_be_read_is_refused(copied):
    (copied / "spec.json").write_text("{")
    with pytest.raises(ValueError, match="copied cannot be read"):
        load_run(copied)


def test_a_run_that_was_cut_off_before_its_end_is_not_finished(copied):
    record = json.loads((copied / "run.json").read_text())
    (copied / "run.json").write_text(json.dumps(record | {"finished": None}))
    with pytest.raises(ValueError, match="holds a run that is not finished"):
        load_run(copied)
