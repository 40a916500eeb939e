import hashlib
import json
import random
import shutil
import sys
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyhole
from keyhole.experiment import Spec, load_run, load_run_folder, run
from keyhole.experiment.run_summary import first_metric_and_means, leaders_cells
from keyhole.experiment.sweep_summary import point_names
from keyhole.files import json_checksum
from keyhole.pages.notebook_html import text_table


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
    rows = values.to_pandas()
    assert rows.groupby(["policy", "round"])["replication"].apply(list).to_dict() == {
        (policy, t): list(range(40)) for policy in ("ours", "RoundRobin()") for t in (20, 60)
    }
    means = rows.groupby(["policy", "round"])["aggregate_regret"].mean()
    shown = curves[curves["metric"] == "aggregate_regret"].set_index(["policy", "round"])["mean"]
    assert means.to_dict() == pytest.approx(shown.to_dict())


def test_curves_can_be_read_back(finished):
    curves = keyhole.load_run(finished)
    assert curves.labels == ("ours", "RoundRobin()")
    assert curves.checkpoints == (20, 60)
    assert curves.to_arrow().equals(pq.read_table(finished / "curves.parquet"))


def test_what_is_known_of_a_metric_is_known_of_a_run(text, tmp_path):
    run(Spec.from_text("details = true\n" + text), tmp_path / "run")
    curves = load_run(tmp_path / "run")
    assert curves.arms == 3
    assert curves.metric("aggregate_regret").title == "mean number of wrong labels"
    assert curves.metric("cumulative_reward").better == "higher"
    assert curves.metric("errors[2]").title == "chance of a wrong label, arm 2"
    assert curves.metric("errors[2]").drawn == "share"


def test_a_metric_that_the_setting_no_longer_has_is_shown_by_its_name(finished, monkeypatch):
    monkeypatch.setattr("keyhole.experiment.setting_registry.RegisteredSetting.metrics", {})
    assert load_run(finished).metric("simple_regret") == keyhole.Metric("simple_regret")


def test_provenance_names_versions_and_no_places(finished):
    provenance = load_run_folder(finished).provenance
    assert provenance["seed"] == 4
    assert provenance["versions"]["keyhole"] == version("keyhole")
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
    with pytest.raises(ValueError, match="was written by a newer version of Keyhole"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text(json.dumps({"format": "keyhole-run", "version": "3"}))
    with pytest.raises(ValueError, match="not a run folder that this version can read"):
        load_run(tmp_path)
    (tmp_path / "run.json").write_text("[" * 100_000)
    with pytest.raises(ValueError, match="is not a run folder"):
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
    with pytest.raises(ValueError, match=f"{name} was altered after the run: its checksum"):
        load_run(copied)


def test_results_that_another_run_left_are_refused(copied, text, tmp_path):
    run(Spec.from_text(text.replace("seed = 4", "seed = 5")), tmp_path / "other")
    shutil.copy(tmp_path / "other" / "values.parquet", copied)
    with pytest.raises(ValueError, match=r"values.parquet was altered after the run"):
        load_run(copied)


def forged(folder, **change):
    """Edit run.json and make its checksum right again."""
    record = json.loads((folder / "run.json").read_text()) | change
    record = {name: value for name, value in record.items() if value is not ...}
    record.pop("checksum")
    record["checksum"] = json_checksum(record)
    (folder / "run.json").write_text(json.dumps(record))


def test_a_run_folder_of_a_version_that_was_not_published_is_refused(copied):
    forged(copied, version=2)
    message = r"is not a run folder that this version can read: \('keyhole-run', 2\)"
    with pytest.raises(ValueError, match=message):
        load_run(copied)


@pytest.mark.parametrize(
    "name", ["name", "digest", "seed", "command", "versions", "python", "system", "started"]
)
@pytest.mark.parametrize("value", [..., None, [1]])
def test_a_record_that_lacks_something_is_refused(copied, name, value):
    forged(copied, **{name: value})
    with pytest.raises(ValueError, match=rf"run.json is damaged: its entry {name} is not valid"):
        load_run(copied)


def test_an_edited_record_is_refused(copied):
    text = (copied / "run.json").read_text()
    (copied / "run.json").write_text(text.replace('"seed": 4', '"seed": 5'))
    with pytest.raises(ValueError, match=r"run.json is damaged: its checksum does not match"):
        load_run(copied)


def test_an_edited_spec_is_refused_until_the_run_is_run_again(copied, text):
    spec = (copied / "spec.json").read_text()
    (copied / "spec.json").write_text(spec.replace("0.45", "0.46"))
    with pytest.raises(ValueError, match=r"spec.json was altered after the run"):
        load_run(copied)
    run(Spec.from_text(text), copied)
    assert (copied / "spec.json").read_text() == spec


@pytest.mark.parametrize(
    "spec", ["{}", "[]", "3", '{"name": 3}', "[" * 100_000, '{"figure": "wide"}', "\x00"]
)
def test_a_spec_that_is_none_is_refused_although_its_checksum_is_right(copied, spec):
    (copied / "spec.json").write_text(spec)
    sums = json.loads((copied / "run.json").read_text())["checksums"]
    forged(copied, checksums=sums | {"spec.json": hashlib.sha256(spec.encode()).hexdigest()})
    with pytest.raises(ValueError, match=r"copied(/spec.json is not a spec| cannot be read)"):
        load_run(copied)


TABLES = {
    "no column": pa.table({}),
    "no rounds": pa.table({"policy": ["a"]}),
    "too few rows": pa.table(
        {"policy": ["a"] * 3, "round": [1, 2, 2], "r": [0, 0, 0], "m": [1] * 3}
    ),
    "texts": pa.table({"policy": ["a"], "round": ["1"], "replication": [0], "m": ["x"]}),
    "lists": pa.table({"policy": ["a"], "round": [1], "replication": [0], "m": [[1.0]]}),
    "nothing": pa.table({"policy": ["a"], "round": [1], "replication": [0], "m": [None]}),
    "NaN": pa.table({"policy": ["a"], "round": [1], "replication": [0], "m": [float("nan")]}),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_table_of_another_form_is_refused_although_its_checksum_is_right(copied, table):
    pq.write_table(table, copied / "values.parquet")
    sums = json.loads((copied / "run.json").read_text())["checksums"]
    found = hashlib.sha256((copied / "values.parquet").read_bytes()).hexdigest()
    forged(copied, checksums=sums | {"values.parquet": found})
    with pytest.raises(ValueError, match="copied cannot be read"):
        load_run(copied)


def test_any_bit_that_flips_in_a_run_folder_is_noticed_or_does_no_harm(copied):
    draw = random.Random(5)
    before = load_run(copied)
    files = [copied / name for name in ("run.json", "spec.json", "values.parquet")]
    for _ in range(150):
        path = draw.choice(files)
        data = path.read_bytes()
        place = draw.randrange(len(data))
        path.write_bytes(
            data[:place] + bytes([data[place] ^ 1 << draw.randrange(8)]) + data[place + 1 :]
        )
        with suppress(ValueError):
            found = load_run(copied)
            assert found.labels == before.labels
            for label in found.labels:
                for metric in found.metrics:
                    assert (found.values(label, metric) == before.values(label, metric)).all()
        path.write_bytes(data)


def test_missing_results_and_missing_checksums_are_refused(copied):
    forged(copied, checksums={})
    with pytest.raises(ValueError, match=r"values.parquet was altered after the run"):
        load_run(copied)
    (copied / "values.parquet").unlink()
    with pytest.raises(ValueError, match=r"values.parquet cannot be read .*run the spec again"):
        load_run(copied)


def test_a_spec_that_cannot_be_read_is_refused(copied):
    (copied / "spec.json").write_text("{")
    with pytest.raises(ValueError, match=r"spec.json was altered after the run"):
        load_run(copied)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other devices")
@pytest.mark.parametrize("name", ["values.parquet", "curves.parquet", "spec.json"])
def test_a_device_in_a_run_folder_is_refused(copied, name):
    (copied / name).unlink()
    (copied / name).symlink_to("/dev/null")
    with pytest.raises(ValueError, match=f"{name} must be a file, got a device"):
        load_run(copied)


@pytest.fixture
def swept(tmp_path):
    saved = Path(__file__).parents[1] / "saved" / "sweep"
    return shutil.copytree(saved, tmp_path / "sweep")


def one_group(path):
    pq.write_table(pq.read_table(path), path)


def no_parquet(path):
    path.write_bytes(b"PAR1" * 3)


def last_curves(run):
    return run.points[-1].curves


@pytest.mark.parametrize("damage", [one_group, no_parquet])
@pytest.mark.parametrize(("name", "read"), [("values", last_curves), ("curves", str)])
def test_forged_results_of_a_sweep_are_refused(swept, damage, name, read):
    path = swept / f"{name}.parquet"
    damage(path)
    checksums = json.loads((swept / "run.json").read_text())["checksums"]
    checksums[path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
    forged(swept, checksums=checksums)
    with pytest.raises(ValueError, match=r"sweep cannot be read: .") as error:
        read(load_run_folder(swept))
    assert str(error.value).isprintable()


def test_the_table_of_a_sweep_is_that_of_its_values(swept):
    run = load_run_folder(swept)
    means = [first_metric_and_means(point.curves) for point in run.points]
    names = list(point_names(run.spec["sweep"]))
    assert text_table(*leaders_cells(names, means)) in str(run)


@pytest.mark.parametrize("count", [10**30, 2**40, 9])
def test_more_row_groups_than_the_file_has_are_refused(swept, count):
    forged(swept, groups=[count, *[1] * 7])
    with pytest.raises(ValueError, match=r"sweep cannot be read: values.parquet has 8 row groups"):
        _ = load_run_folder(swept).points[0].curves


def test_a_run_that_was_cut_off_before_its_end_is_not_finished(copied):
    forged(copied, finished=None)
    with pytest.raises(ValueError, match="holds a run that is not finished"):
        load_run(copied)
