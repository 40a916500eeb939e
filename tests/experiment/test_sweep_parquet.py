"""The run folder of a grid: played once, the same bytes however, read point by point."""

import json
import re
import signal
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keyhole.experiment.runner
import keyhole.play.simulation_job
from keyhole.experiment import Spec, load_run, load_run_folder, run
from keyhole.experiment.forecast import measure_forecast
from keyhole.experiment.run_folder import RESULT_FILES, write_provenance
from keyhole.experiment.sweep_parquet import column_type
from tests.processes import python

TEXT = """
name = "grid"
seed = 3
replications = 16
horizon = 60
checkpoints = [20, 60]
[problem]
setting = "thresholding"
means = [0.2, 0.45, 0.7]
threshold = 0.5
[[policy]]
name = "LSA"
[[policy]]
name = "RoundRobin"
label = "even"
[sweep]
"policy.alpha" = [1.0, 1.35]
"problem.means" = [[0.2, 0.45, 0.7], [0.1, 0.9]]
"""


@pytest.fixture(scope="module")
def grid(tmp_path_factory):
    """Return the folder of a finished grid; not to be changed."""
    folder = tmp_path_factory.mktemp("grid") / "run"
    run(Spec.from_text(TEXT), folder)
    return folder


@pytest.fixture
def played(monkeypatch):
    """Return the policies and problems that are played, as they are."""
    seen, play = [], keyhole.play.simulation_job.simulate_replications

    def counted(self, label, part, **kwargs):
        seen.append((repr(self.policies[label]), repr(self.problem), part))
        return play(self, label, part, **kwargs)

    monkeypatch.setattr(keyhole.play.simulation_job, "simulate_replications", counted)
    return seen


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(keyhole.play.simulation_job, "FIRST_ROUNDS", 8 * 60)
    monkeypatch.setattr(keyhole.play.simulation_job, "_BLOCK_SECONDS", 0.0)


def content(folder):
    return [(folder / name).read_bytes() for name in RESULT_FILES]


def test_each_point_is_what_it_would_be_alone(grid, tmp_path):
    points = Spec.from_text(TEXT).points
    found = load_run_folder(grid).points
    assert [one.values for one in found] == [point.values for point in points]
    for i, (point, one) in enumerate(zip(points, found, strict=True)):
        alone = run(point.spec, tmp_path / str(i)).curves
        assert one.curves.to_arrow().equals(alone.to_arrow())
        assert one.curves.arms == alone.arms == len(point.values["problem.means"])
        for label in alone.labels:
            for metric in alone.metrics:
                assert (one.curves.values(label, metric) == alone.values(label, metric)).all()


def test_what_points_have_in_common_is_played_once(tmp_path, played):
    run(Spec.from_text(TEXT), tmp_path / "run")
    assert len({(policy, problem) for policy, problem, _ in played}) == 6
    assert len(played) == 6


def test_the_tables_have_a_column_for_each_varied_thing_in_front(grid):
    values = pq.read_table(grid / "values.parquet")
    assert values.column_names[:5] == [
        "policy.alpha", "problem.means", "policy", "round", "replication",
    ]  # fmt: skip
    assert values.num_rows == 4 * 2 * 2 * 16
    per_point = values.num_rows // 4
    assert values["policy.alpha"].to_pylist()[:: 2 * per_point] == [1.0, 1.35]
    assert values["problem.means"].to_pylist()[::per_point][:2] == [
        "[0.2, 0.45, 0.7]", "[0.1, 0.9]",
    ]  # fmt: skip
    curves = pq.read_table(grid / "curves.parquet")
    assert curves.column_names[:4] == ["policy.alpha", "problem.means", "policy", "round"]
    found = curves.slice(0, 8).drop_columns(["policy.alpha", "problem.means"])
    assert found.equals(load_run_folder(grid).points[0].curves.to_arrow())


def test_a_point_is_written_and_read_without_the_others(grid):
    assert pq.ParquetFile(grid / "values.parquet").num_row_groups == 4


def test_points_may_have_other_metrics_replications_and_checkpoints(tmp_path):
    text = TEXT.partition("[sweep]")[0].replace("checkpoints = [20, 60]\n", "")
    text += "[sweep]\nreplications = [8, 4]\nhorizon = [20, 30]\ndetails = [false, true]\n"
    result = run(Spec.from_text(text), tmp_path / "run")
    table = pq.read_table(tmp_path / "run" / "values.parquet")
    assert table.column_names[:3] == ["replications", "horizon", "details"]
    assert table["cumulative_reward"].null_count == table.num_rows // 2
    sizes = [(p.curves.replications, p.curves.checkpoints[-1]) for p in result.points]
    assert sizes == [(8, 20)] * 2 + [(8, 30)] * 2 + [(4, 20)] * 2 + [(4, 30)] * 2
    metrics = [len(point.curves.metrics) for point in result.points]
    assert metrics[0] == 2 < metrics[1]
    curves = pq.read_table(tmp_path / "run" / "curves.parquet")
    assert curves.column_names.count("replications") == 1


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False], "bool"), ([1, 2], "int64"), ([1, 2.5], "double"),
        (["a", "b"], "string"), ([1, "b"], "string"), ([2**70, 1], "string"),
        ([[1], [2]], "string"), ([{"a": 1}], "string"),
    ],
)  # fmt: skip
def test_numbers_texts_and_booleans_are_columns_as_they_are(values, kind):
    found, held = column_type(values)
    assert str(found) == kind
    plain = kind != "string" or all(isinstance(value, str) for value in values)
    assert [held(value) for value in values] == [v if plain else json.dumps(v) for v in values]


@pytest.mark.parametrize("threads", [1, 3])
def test_threads_and_blocks_leave_the_same_bytes(grid, tmp_path, small_blocks, threads):
    run(Spec.from_text(TEXT), tmp_path / "run", threads=threads)
    assert content(tmp_path / "run") == content(grid)
    assert not (tmp_path / "run" / "blocks").exists()


@pytest.mark.parametrize("after", [0, 3, 5])
def test_a_grid_goes_on_where_it_was_interrupted(grid, tmp_path, monkeypatch, played, after):
    counted = keyhole.play.simulation_job.simulate_replications

    def failing(self, label, part, **kwargs):
        if len(played) == after:
            raise KeyboardInterrupt
        return counted(self, label, part, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(keyhole.play.simulation_job, "simulate_replications", failing)
        with pytest.raises(KeyboardInterrupt):
            run(Spec.from_text(TEXT), tmp_path / "run")
    with pytest.raises(ValueError, match="not finished"):
        load_run_folder(tmp_path / "run")
    run(Spec.from_text(TEXT), tmp_path / "run")
    assert len(played) == len(set(played)) == 6
    assert content(tmp_path / "run") == content(grid)


def test_a_grid_goes_on_where_its_tables_were_interrupted(grid, tmp_path, monkeypatch, played):
    tables, seen = keyhole.experiment.runner._make_tables, []

    def failing(spec, cache):
        if len(seen) == 2:
            raise KeyboardInterrupt
        seen.append(spec)
        return tables(spec, cache)

    with monkeypatch.context() as patch:
        patch.setattr(keyhole.experiment.runner, "_make_tables", failing)
        with pytest.raises(KeyboardInterrupt):
            run(Spec.from_text(TEXT), tmp_path / "run")
    assert not any((tmp_path / "run" / name).exists() for name in RESULT_FILES)
    run(Spec.from_text(TEXT), tmp_path / "run")
    assert len(played) == 6
    assert content(tmp_path / "run") == content(grid)


@pytest.mark.skipif(sys.platform == "win32", reason="has no SIGKILL")
def test_a_killed_grid_ends_with_the_same_bytes(grid, tmp_path):
    (tmp_path / "spec.toml").write_text(TEXT)
    killed = """
import os, signal, sys
import keyhole.experiment.result_cache as cache
from keyhole.experiment import Spec, run
write, left = cache.write_block, [3]
def writing(*args):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    write(*args)
cache.write_block = writing
run(Spec.from_file("spec.toml"), "run")
"""
    done = python("-c", killed, cwd=tmp_path)
    assert done.returncode == -signal.SIGKILL
    assert len(list((tmp_path / "run" / "blocks").iterdir())) == 2
    run(Spec.from_text(TEXT), tmp_path / "run")
    assert content(tmp_path / "run") == content(grid)


def test_a_run_of_a_grid_has_no_curves_of_its_own(grid):
    with pytest.raises(ValueError, match=r"run with \[sweep\], which has curves at each of its 4"):
        load_run(grid)


def test_a_plain_run_has_one_point(finished):
    (point,) = load_run_folder(finished).points
    assert point.values == {}
    assert point.curves.labels == ("ours", "RoundRobin()")


@pytest.mark.parametrize("name", RESULT_FILES)
def test_altered_results_of_a_grid_are_refused(grid, tmp_path, name):
    run(Spec.from_text(TEXT), tmp_path / "run")
    data = bytearray((tmp_path / "run" / name).read_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "run" / name).write_bytes(data)
    with pytest.raises(ValueError, match=f"{name} was altered after the run"):
        load_run_folder(tmp_path / "run")


def test_a_table_that_is_not_that_of_the_points_is_refused(grid, tmp_path):
    result = run(Spec.from_text(TEXT), tmp_path / "run")
    write_provenance(tmp_path / "run", result.provenance | {"groups": [1, 1]})
    with pytest.raises(ValueError, match="run cannot be read"):
        load_run_folder(tmp_path / "run")


def test_a_folder_of_another_grid_is_refused(grid):
    other = TEXT.replace("[1.0, 1.35]", "[1.0, 1.5]")
    with pytest.raises(ValueError, match=r"of another spec \(not the same sweep\)"):
        run(Spec.from_text(other), grid)


def test_a_grid_tells_its_progress_as_one(tmp_path):
    told = []
    run(Spec.from_text(TEXT), tmp_path / "run", progress=lambda *args: told.append(args))
    assert {name for name, _, _ in told} == {"6 runs"}
    assert {total for _, _, total in told} == {6 * 16 * 60}
    played = [done for _, done, _ in told]
    assert played == sorted(played)
    assert played[-1] == 6 * 16 * 60


def test_means_of_a_grid_are_those_of_its_values(grid):
    values = pq.read_table(grid / "values.parquet").to_pandas()
    curves = pq.read_table(grid / "curves.parquet").to_pandas()
    keys = ["policy.alpha", "problem.means", "policy", "round"]
    means = values.groupby(keys)["simple_regret"].mean()
    found = curves[curves.metric == "simple_regret"].set_index(keys)["mean"]
    assert np.allclose(means.sort_index(), found.sort_index())


def test_the_grid_of_the_documentation_is_what_it_says(tmp_path):
    page = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()
    (text,) = (t for t in re.findall(r"```toml\n(.*?)```", page, re.DOTALL) if "[sweep]" in t)
    spec = Spec.from_text(text)
    assert measure_forecast(spec, measure=lambda *_, **__: 0.0).distinct == 8 + 2
    found = run(spec, tmp_path / "folder").points
    assert len(found) == 8
    assert found[0].curves.mean("LSA()", "simple_regret")[-1] < 0.5


@pytest.mark.slow
def test_the_grid_of_the_benchmark_has_a_thousand_million_rounds():
    spec = Spec.from_file(Path(__file__).parents[2] / "benchmarks" / "hundred_problems.toml")
    found = measure_forecast(spec, measure=lambda *_, **__: 0.0)
    assert (found.points, found.distinct, found.rounds) == (100, 200, 10**9)


def test_integers_that_no_column_of_numbers_holds_are_stored_as_text():
    for values in ([0.5, 2**53 + 1], [1, 10**25], [-(2**70), 0.5]):
        column, encode = column_type(values)
        assert column == pa.string()
        assert [json.loads(encode(value)) for value in values] == values
