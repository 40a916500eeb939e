import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import keyhole.play.progress
from keyhole import simulate
from keyhole.benchmark import RESULTS_FILE, bench, read_results
from keyhole.benchmark.benchmark import VALUES_FILE
from keyhole.benchmark.rules import SCALES, SEED
from keyhole.results.estimate import paired_difference
from keyhole.thresholding import LSA, Problem, RoundRobin

pytestmark = pytest.mark.interpreted

MINE = f"{Path(__file__).parent / 'toy_policy.py'}:Told"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("bench")


def played(folder, **words):
    chosen = {"problems": ["tao-1"], "policies": ["LSA", "RoundRobin", "UCBE"], "threads": 1}
    return bench("thresholding", out=folder, **chosen | words)


def test_the_numbers_are_those_of_a_simulation(folder):
    (problem,) = played(folder).problems
    scale = SCALES["quick"]
    curves = simulate(
        Problem([0.2, 0.25, 0.3, 0.35, 0.45, 0.55, 0.65, 0.7, 0.75, 0.8], threshold=0.5),
        {"LSA": LSA(), "RoundRobin": RoundRobin()},
        horizon=1000,
        replications=scale.replications,
        seed=SEED,
        threads=1,
    )
    assert (problem.horizon, problem.replications, problem.wrong_choice) == (1000, 20, 5.0)
    found = {one.policy: one for one in problem.results}
    values = {label: curves.values(label, "aggregate_regret")[-1] for label in curves.labels}
    for label, wrong in values.items():
        one = found[label]
        assert one.mean == pytest.approx(wrong.mean(), rel=1e-5)
        assert one.std_error == pytest.approx(wrong.std(ddof=1) / 20**0.5, rel=1e-5)
        assert (one.worst, one.quantile_90) == (wrong.max(), np.sort(wrong)[18])
        assert one.linear == (wrong > 2.5).sum()
        assert one.nanoseconds > 0
    clear = paired_difference(values["RoundRobin"], values["LSA"]).low > 0
    assert found["RoundRobin"].better == (["LSA"] if clear else [])


def test_another_seed_gives_other_numbers_and_is_named_in_the_command(folder, tmp_path):
    content = played(tmp_path, seed=30, policies=["RoundRobin"])
    (problem,) = content.problems
    assert problem.seed == 30
    assert "--seed 30 --out" in content.command
    first = played(folder).problems[0].results
    assert problem.results[0].mean not in [one.mean for one in first]


def test_a_yardstick_is_not_ranked(folder):
    found = {one.policy: one for one in played(folder).problems[0].results}
    assert found["UCBE"].yardstick
    assert all("UCBE" not in one.better for one in found.values())


def test_the_file_is_what_the_call_returns(folder):
    content = played(folder)
    assert read_results(folder / RESULTS_FILE) == content
    assert content.command == (
        "keyhole bench thresholding --scale quick --problems tao-1 --policies LSA "
        "--policies RoundRobin --policies UCBE --out folder"
    )
    assert content.software.versions["keyhole"] == content.keyhole
    assert len(content.software.sources) == 16


def test_raw_values_are_those_that_the_means_are_of(folder):
    (problem,) = played(folder).problems
    table = pq.read_table(folder / VALUES_FILE)
    assert table.column_names == ["setting", "problem", "policy", "replication", "regret"]
    for one in problem.results:
        rows = table.filter(pc.field("policy") == one.policy)
        assert rows["replication"].to_pylist() == list(range(20))
        assert np.mean(rows["regret"].to_numpy()) == pytest.approx(one.mean, rel=1e-5)


def test_a_second_call_simulates_only_what_is_missing(folder, monkeypatch):
    content = played(folder)
    jobs = []
    monkeypatch.setattr(
        "keyhole.experiment.result_cache.run_locally",
        lambda job, *_: jobs.append(job.replications - sum(map(len, job.remaining))),
    )
    assert played(folder) == content
    assert jobs == [20, 20, 20]  # all of them are there


@pytest.fixture
def few_contests(monkeypatch):
    monkeypatch.setitem(SCALES, "quick", replace(SCALES["quick"], replications=3))


def test_a_users_policy_is_told_what_it_needs(tmp_path, few_contests):
    content = bench(
        "delayed", problems=["short", "named-mpox"], policies=[MINE], out=tmp_path, threads=1
    )
    (short, named) = content.problems
    assert [one.policy for one in short.results] == ["Told"]
    assert short.results[0].entry == {"name": MINE, "expected_delay": 50}
    assert named.results[0].entry["expected_delay"] == 12.1
    # It always pulls the best arm.
    assert (short.results[0].mean, short.results[0].worst) == (0.0, 0.0)


def test_a_tenth_of_the_rounds_is_no_fewer_than_a_thousand():
    quick = SCALES["quick"]
    assert [quick.horizon(rounds) for rounds in (324, 2000, 100_000)] == [324, 1000, 10_000]
    assert SCALES["paper"].horizon(324) == 324


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"settings": "delay"}, "setting must be one of"),
        ({"scale": "full"}, "scale must be one of quick, paper; got 'full'"),
        ({"problems": ["tao-9"]}, "problems must be one of tuning, judging, tao-1"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"policies": ["LSAA"]}, "policies must be one of APGAI, APT"),
        ({"policies": ["ODAAF"]}, "can play none of the problems: none is of its setting"),
        ({"policies": [MINE]}, "can play none of the problems: none is of its setting"),
        ({"policies": ["none.py:Mine"]}, "there is no file 'none.py'"),
    ],
)
def test_bad_arguments_are_refused(tmp_path, words, message):
    with pytest.raises((ValueError, OSError), match=message):
        bench(**{"settings": "thresholding", "out": tmp_path / "new"} | words)
    assert not (tmp_path / "new").exists()


def test_a_policy_that_can_play_nothing_is_refused(tmp_path):
    message = "policies: 'DelayedUCB1' can play none of the problems: .*feedback"
    for policies in (["DelayedUCB1"], ["ODAAF", "DelayedUCB1"]):
        with pytest.raises(ValueError, match=message):
            bench("delayed", problems=["sure"], policies=policies, out=tmp_path)


def test_a_parameter_that_no_problem_states_is_named(tmp_path):
    (tmp_path / "mine.py").write_text(
        "from keyhole.policy import parameter\n"
        "from keyhole.thresholding import IndexPolicy\n"
        "class Mine(IndexPolicy):\n"
        "    width: float = parameter(gt=0)\n"
        "    def index(p, pulls: float, total: float) -> float:\n"
        "        return p.width * pulls\n"
    )
    message = "can play none of the problems: its parameter 'width' has no default, and 'tao-1'"
    with pytest.raises(ValueError, match=message):
        bench("thresholding", policies=[f"{tmp_path}/mine.py:Mine"], out=tmp_path / "out")


def test_a_folder_with_something_else_is_refused(tmp_path):
    (tmp_path / "mine").write_text("text")
    with pytest.raises(ValueError, match="holds something other than a benchmark"):
        bench("thresholding", out=tmp_path)


def test_a_users_policy_that_fails_is_refused_before_anything_is_simulated(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        "from keyhole.thresholding import LSA\n"
        "class Mine(LSA):\n"
        "    def recommend(p, labels) -> None:\n"
        "        pass\n"
    )
    with pytest.raises(ValueError, match=r"Mine fails on the problem 'tao-1'.*labels"):
        bench("thresholding", out=tmp_path / "out", problems=["tao-1"], policies=[f"{file}:Mine"])
    assert not (tmp_path / "out").exists()


def test_progress_has_the_time_left_of_all_runs_with_compilation(
    tmp_path, monkeypatch, capsys, few_contests
):
    monkeypatch.setattr(keyhole.play.progress, "_SECONDS_BETWEEN_TOTALS", 0.0)
    chosen = {"problems": ["tao-1", "beta-*"], "policies": ["LSA"], "threads": 1}
    bench("thresholding", out=tmp_path, progress=True, **chosen)
    lines = [line for line in capsys.readouterr().err.splitlines() if "of all rounds" in line]
    first = next(line for line in lines if "left" in line)
    assert re.match(r"\d+ % of all rounds; thresholding/tao-1: LSA; about [\d.]+ s left", first)
    assert lines[-1].startswith("100 % of all rounds; ")
