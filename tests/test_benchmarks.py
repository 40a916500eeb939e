"""The benchmarks run, and their yardsticks do the same work as Keyhole."""

import dataclasses
import importlib
import json
import math
import shutil
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import benchmarks.__main__
from benchmarks import command_runs, cpp, measure, spaces, start_time, study, targets
from benchmarks import semibandit as semibandit_setting
from benchmarks import stochastic as stochastic_setting
from benchmarks import threshold as threshold_setting
from benchmarks import thresholding_without_keyhole as yardsticks
from benchmarks.thresholding import POLICIES, SETUP1
from keyhole import simulate
from keyhole.experiment.setting_registry import BUILT_IN
from keyhole.thresholding import Problem
from tests.play.test_cluster_simulation import Inline

SHORT = measure.Size(horizon=10, replications=2, python_replications=1, repeats=1)
# For settings that play up to a thousand times as many rounds, too, or with 200 arms.
SHORTER = dataclasses.replace(SHORT, horizon=1)
# For problems of 1,000 arms, of which each is to be pulled once.
LONGER = measure.Size(horizon=100, replications=2, python_replications=1, repeats=1)


@pytest.fixture
def interpreted(monkeypatch):
    """Have kernels interpreted, also by processes that are started: little is played."""
    monkeypatch.setenv("KEYHOLE_INTERPRET", "1")
    # A kernel by itself would be compiled: it is looked at how it is called.
    monkeypatch.setattr(semibandit_setting, "compiled_copy", lambda kernel: signature(kernel).bind)


def check(rows):
    """Check that there are rows, each with a number; return what they are about."""
    found = list(rows)
    assert found
    for row in found:
        assert math.isfinite(row.value), row
    return "\n".join(row.what for row in found)


# Samplers by themselves would be compiled, a start takes processes, and C++ its compiler.
COSTLY_PARTS = (measure.sampling, targets.against_cpp, measure.starting)
PARTS = [
    pytest.param(part, marks=[pytest.mark.slow] * (part in COSTLY_PARTS))
    for part in (*targets.PARTS, *measure.PARTS)
]


@pytest.mark.filterwarnings("ignore:.* the horizon of:UserWarning")
@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.__name__)
def test_the_promises_are_measured(interpreted, part):
    text = check(part(LONGER if part is targets.scaling else SHORT))
    for name in {
        "against_cpp": ["C++: no compiler"] if shutil.which("c++") is None else ["/ LSA in C++"],
        "against_numpy": ["NumPy / LSA", "NumPy / RCUCB"],
        "scaling": ["one thread / two", "K = 1,000", "of a log"],
        "learning": ["ask + tell"],
        "starting": ["warm cache"],
        "sampling": ["beta"],
    }[part.__name__]:
        assert name in text


# The benchmarks of these take longer, and are alike.
COSTLY = ("delayed", "resource", "semibandit", "threshold", "thresholding")
SETTINGS = [
    pytest.param(setting, marks=[pytest.mark.slow] * (setting in COSTLY)) for setting in BUILT_IN
]


@pytest.mark.filterwarnings("ignore:.* the horizon of:UserWarning")
@pytest.mark.parametrize("setting", SETTINGS)
def test_each_policy_of_a_setting_is_measured(interpreted, setting):
    module = importlib.import_module(f"benchmarks.{setting}")
    sizes = {"thresholding": LONGER, "resource": SHORTER, "semibandit": SHORTER}
    text = check(module.rows(sizes.get(setting, SHORT)))
    for name in module.POLICIES:
        assert f"{name}: Keyhole" in text


@pytest.mark.slow
def test_studies_are_measured(interpreted, monkeypatch):
    monkeypatch.setattr(study, "PROCESSES", 1)
    text = check(study.rows(SHORT))
    assert "SQLite: 32 threads" in text
    assert "1 processes" in text


def test_running_is_measured():
    assert "run true: subprocess.run" in check(command_runs.rows(SHORT))


@pytest.mark.slow
def test_clusters_are_measured(monkeypatch):
    clusters = pytest.importorskip("benchmarks.clusters")
    monkeypatch.setattr(clusters, "connect", lambda kind, workers: Inline(workers))
    monkeypatch.setattr(clusters, "start_dask_threads", Inline)
    monkeypatch.setattr(clusters, "POLICIES", 2)
    monkeypatch.setattr(clusters, "ROUND", 1e-5)  # simulated rounds that take long: fewer of them
    text = check(clusters.rows(SHORT))
    assert "ray: a task that does nothing" in text
    assert "dask: 100 workers at work" in text


@pytest.mark.parametrize("kind", ["plain", "minisat recorded"])
def test_spaces_are_played_and_scored(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    spaces.play(kind, [300], [0.002, 0.004], ["model", "racing", "list"])
    rows = [json.loads(line) for line in Path("spaces.jsonl").read_text().splitlines()]
    assert [row[1:4] for row in rows] == [
        [share, method, 300] for method in ("model", "racing", "list") for share in (0.002, 0.004)
    ]
    assert all(-1.0 <= row[4] <= 1.0 for row in rows)


def test_the_table_is_printed(interpreted, monkeypatch, capsys):
    monkeypatch.setattr(measure, "QUICK", SHORT)
    monkeypatch.setattr("sys.argv", ["benchmarks", "--quick", "--only", "stochastic"])
    benchmarks.__main__.main()
    assert "UCB1: Keyhole" in capsys.readouterr().out


def test_the_whole_table_has_the_rows_of_all_parts(monkeypatch, capsys):
    def part_of(name):
        return lambda size: [measure.Row(f"{name}, T = {size.horizon}", 1.0, "s")]

    monkeypatch.setattr(targets, "PARTS", [part_of("a promise")])
    monkeypatch.setattr(measure, "PARTS", [part_of("a yardstick")])
    for name in benchmarks.__main__.PARTS:
        module = pytest.importorskip(f"benchmarks.{name}")
        monkeypatch.setattr(module, "rows", part_of(name))
    monkeypatch.setattr("sys.argv", ["benchmarks", "--quick", "--all"])
    benchmarks.__main__.main()
    table = capsys.readouterr().out
    for name in ("a promise", "a yardstick", *benchmarks.__main__.PARTS):
        assert f"{name}, T = {measure.QUICK.horizon}" in table


@pytest.mark.slow  # as what is measured against it
def test_the_yardstick_in_cpp_does_the_same_work():
    with cpp.compile_lsa() as program:
        if program is None:
            pytest.skip("there is no C++ compiler")
        _, wrong = cpp.run_lsa(program, horizon=150, replications=4000)
    problem = Problem(means=0.2 + 0.6 * (np.arange(10) + 0.5) / 10, threshold=0.5)
    curves = simulate(problem, {"it": POLICIES["LSA"]}, horizon=150, replications=4000, seed=2)
    mean, error = (
        curves.mean("it", "aggregate_regret")[0],
        curves.std_error("it", "aggregate_regret")[0],
    )
    assert abs(wrong - mean) < 5 * np.sqrt(2.0) * error


# Horizons, and replications of Keyhole's: bounds follow from how many there are of each.
SIZES = [
    pytest.param(30, 150, marks=pytest.mark.interpreted, id="short"),
    pytest.param(150, 4000, marks=pytest.mark.slow, id="long"),
]


@pytest.mark.parametrize(("horizon", "replications"), SIZES)
@pytest.mark.parametrize("name", ["LSA", "APT", "UCBE", "OptKG", "RoundRobin"])
def test_yardsticks_do_the_same_work(name, horizon, replications):
    problem = Problem(means=SETUP1, threshold=0.5)
    size = {"horizon": horizon, "replications": replications}
    curves = simulate(problem, {"it": POLICIES[name]}, **size, seed=2)
    mean, error = (
        curves.mean("it", "aggregate_regret"),
        curves.std_error("it", "aggregate_regret"),
    )
    samples = [
        np.array(
            [
                getattr(yardsticks, f"python_{name.lower()}")(SETUP1, horizon, i)
                for i in range(min(400, replications))
            ]
        )
    ]
    if name != "OptKG":
        vectorised = getattr(yardsticks, f"numpy_{name.lower()}")
        samples.append(vectorised(SETUP1, horizon, 4000, 0))
    for sample in samples:
        spread = np.hypot(sample.std(ddof=1) / np.sqrt(len(sample)), error[0])
        assert abs(sample.mean() - mean[0]) < 5 * spread


@pytest.mark.parametrize(("horizon", "replications"), SIZES)
@pytest.mark.parametrize("name", ["UCB1", pytest.param("KLUCB", marks=pytest.mark.slow)])
def test_yardsticks_of_the_stochastic_setting_do_the_same_work(name, horizon, replications):
    problem = stochastic_setting.Problem(stochastic_setting.MEANS)
    same_regret(
        stochastic_setting, name, problem, stochastic_setting.POLICIES[name], horizon, replications
    )


@pytest.mark.parametrize(("horizon", "replications"), SIZES)
@pytest.mark.parametrize(
    "name",
    [
        "DKWUCB",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("OPTIM", "KaplanMeierUCB")),
    ],
)
def test_yardsticks_of_the_threshold_setting_do_the_same_work(name, horizon, replications):
    policy, feedback, order = threshold_setting.POLICIES[name]
    survival = threshold_setting.SURVIVAL
    problem = threshold_setting.Problem(survival, feedback=feedback, order=order)
    same_regret(threshold_setting, name, problem, policy, horizon, replications)


def same_regret(setting, name, problem, policy, horizon, replications):
    """Check that a setting's yardsticks come to the regret of its policy."""
    instance = setting.MEANS if hasattr(setting, "MEANS") else setting.SURVIVAL
    curves = simulate(problem, {"it": policy}, horizon=horizon, replications=replications, seed=2)
    mean, error = curves.mean("it", "regret")[0], curves.std_error("it", "regret")[0]
    plain = getattr(setting, f"python_{name.lower()}")
    vectorised = getattr(setting, f"numpy_{name.lower()}")
    each = min(400, replications // 3)
    for sample in (
        np.array([plain(instance, horizon, i) for i in range(min(300, replications))]),
        # All its replications share one order of thresholds: several runs, to average over that.
        np.concatenate([vectorised(instance, horizon, each, seed) for seed in range(30)]),
    ):
        groups = sample.reshape(30, -1).mean(axis=1)
        spread = np.hypot(groups.std(ddof=1) / np.sqrt(len(groups)), error)
        assert abs(sample.mean() - mean) < 5 * spread


# Interpreted, ours take longer than the loops: as many of each tell most for what they take.
@pytest.mark.parametrize(
    ("horizon", "replications"),
    [pytest.param(30, 60, marks=pytest.mark.interpreted, id="short"), SIZES[1]],
)
@pytest.mark.parametrize("name", ["MPTS", pytest.param("CTS", marks=pytest.mark.slow)])
def test_loops_on_semi_bandits_do_the_same_work(name, horizon, replications):
    policy, problem = semibandit_setting.POLICIES[name]
    curves = simulate(problem, {"it": policy}, horizon=horizon, replications=replications)
    loop = getattr(semibandit_setting, f"python_{name.lower()}")
    found = np.array([loop(problem, horizon, i) for i in range(min(300, replications))])
    error = np.hypot(curves.std_error("it", "regret")[-1], found.std() / np.sqrt(len(found)))
    assert abs(curves.mean("it", "regret")[-1] - found.mean()) < 5 * error


def test_a_start_is_measured_in_a_process_of_its_own(tmp_path):
    busy = start_time.Case("some work", ("-c", "sum(range(10**6))"))
    assert start_time.processor_seconds(busy, tmp_path, tmp_path) > 0.0
    failing = start_time.Case("a fault", ("-c", "1 / 0"))
    with pytest.raises(RuntimeError, match=r"(?s)a fault: .*ZeroDivisionError"):
        start_time.processor_seconds(failing, tmp_path, tmp_path)
