"""Run folders that version 0.2.0 wrote are read, and mean, the same.

See tests/saved/README.md. That a spec means the same is seen by what it plays, to the bit.
"""

import json
import shutil
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from keyhole.experiment import Spec, load_run_folder, run
from keyhole.experiment.report import write_report

pytestmark = pytest.mark.interpreted

SAVED = Path(__file__).parents[1] / "saved"
EXPECTED = json.loads((SAVED / "runs.json").read_text())
TABLES = ("values.parquet", "curves.parquet")


def numbers(curves):
    """Return what curves hold, by policy and metric."""
    names = [getattr(metric, "name", metric) for metric in curves.metrics]
    return {
        label: {name: [float(f"{m:.9g}") for m in curves.mean(label, name)] for name in names}
        for label in curves.labels
    }


def found(folder):
    """Return what there is to see of a run."""
    opened = load_run_folder(folder)
    return {
        "name": opened.spec["name"],
        "seed": opened.provenance["seed"],
        "command": opened.provenance["command"],
        "points": [list(point.values) for point in opened.points],
        "checkpoints": list(opened.points[0].curves.checkpoints),
        "numbers": [numbers(point.curves) for point in opened.points],
    }


@pytest.fixture(params=list(EXPECTED))
def folder(request, tmp_path):
    return shutil.copytree(SAVED / request.param, tmp_path / request.param)


def test_a_run_is_opened_with_its_results_and_left_as_it_is(folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert found(folder) == EXPECTED[folder.name]
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_its_spec_means_what_it_meant(folder, tmp_path):
    spec = Spec.from_table(load_run_folder(folder).spec)
    assert spec == Spec.from_table(spec.table())
    played = run(spec, tmp_path / "played", command=EXPECTED[folder.name]["command"])
    for name in TABLES:
        old, new = (pq.read_table(one / name) for one in (folder, played.folder))
        if "metric" in old.column_names:  # there may be metrics that are newer than the run
            new = new.filter(pc.is_in(new["metric"], old["metric"].unique()))
        new = new.select([column for column in new.column_names if column in old.column_names])
        assert new.column_names == old.column_names
        for column in old.column_names:
            before, now = (table.column(column).to_pylist() for table in (old, new))
            if str(old.schema.field(column).type) == "double":
                assert now == pytest.approx(before, rel=1e-9)
            elif column == "round":
                assert now == before
    for point, expected in zip(played.points, EXPECTED[folder.name]["numbers"], strict=True):
        for label, by_metric in numbers(point.curves).items():
            assert {name: by_metric[name] for name in expected[label]} == expected[label]


def test_the_toml_beside_it_is_read_the_same_or_refused_with_one_line(folder):
    found = table_or_error(folder / "spec.toml")
    if isinstance(found, str):
        assert found.startswith(f"{folder / 'spec.toml'}: ")
        assert "\n" not in found
    else:
        assert found == Spec.from_table(load_run_folder(folder).spec).table()


def table_or_error(path):
    try:
        return Spec.from_file(path).table()
    except ValueError as error:
        return str(error)


def test_a_report_can_be_written_of_it(tmp_path, only_svg):
    folder = shutil.copytree(SAVED / "run", tmp_path / "run")
    text = write_report(folder).read_text()
    for label in EXPECTED["run"]["numbers"][0]:
        assert label in text
