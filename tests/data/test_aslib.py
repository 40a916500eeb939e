import math
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from keyhole import simulate
from keyhole.data import Scenario, aslib_problem, load_aslib
from keyhole.data.aslib_files import ScenarioRun
from keyhole.data.aslib_scenario import make_scenario
from keyhole.resource import RCUCB, FixedLimit, Power

FOLDER = Path(__file__).parent / "aslib"

# From the description of the data: runs of each solver, solvers, the best solver and its share of
# runs done by a hundredth, a tenth and all of the cut-off, the best pair by share of runs done less
# mean time spent, and how many runs some solver has done.
SCENARIOS = {
    "SAT11-INDU": (
        300, 18, ("glueminisat_2.2.5", 0.3333), ("glucose_2", 0.5167), ("glucose_2", 0.7167),
        ("glucose_2", 10, 0.458756), 253,
    ),
    "QBF-2014": (
        1254, 14, ("brareqs", 0.4354), ("brareqs", 0.5391), ("brareqs", 0.6260),
        ("brareqs", 10, 0.488427), 1013,
    ),
    "ASP-POTASSCO": (
        1294, 11, ("clasp/2.1.3/h10-n1", 0.5487), ("clasp/2.1.3/h1-n1", 0.7210),
        ("clasp/2.1.3/h1-n1", 0.8586), ("clasp/2.1.3/h1-n1", 3, 0.722405), 1212,
    ),
    "CSP-Minizinc-Obj-2016": (
        100, 22, ("LCG-Glucose-UC-free", 0.6200), ("LCG-Glucose-UC-free", 0.7800),
        ("LCG-Glucose-UC-free", 0.8200), ("LCG-Glucose-UC-free", 10, 0.751415), 93,
    ),
    "TSP-LION2015": (
        31060, 4, ("lkh.restart", 0.6804), ("eax.restart", 0.9768), ("eax.restart", 0.9985),
        ("eax.restart", 1, 0.980515), 31060,
    ),
    "IPC2018": (
        240, 15, ("Metis1", 0.2458), ("Delfi1", 0.4542), ("Delfi1", 0.7083),
        ("Delfi1", 10, 0.389500), 196,
    ),
    "BNSL-2016": (
        1179, 8, ("ilp-162", 0.6064), ("ilp-141", 0.7812), ("ilp-141", 0.8787),
        ("ilp-141", 3, 0.769734), 1179,
    ),
}  # fmt: skip


@cache
def shipped(name):
    """Return a scenario beside the tests, which is read once."""
    table = pq.read_table(FOLDER / f"{name}.parquet").to_pylist()
    runs = []
    for row in table:
        is_done = row["runstatus"] == "ok" and row["runtime"] < row["cutoff"]
        is_graded = is_done and row.get("objective_consistent") and row["objective"] is not None
        task = row["instance"], str(row["repetition"])
        seconds = row["runtime"] if is_done else math.inf
        quality = 1.0 - row["objective"] if is_graded else math.nan
        runs.append(ScenarioRun(task, row["algorithm"], seconds, quality))
    return make_scenario(FOLDER, name, runs, float(table[0]["cutoff"]))


@pytest.mark.parametrize(
    "name",  # one has thirty thousand runs
    [pytest.param(name, marks=[pytest.mark.slow] * (runs > 30_000))
     for name, (runs, *_) in SCENARIOS.items()],
)  # fmt: skip
def test_the_table_of_the_description_is_reproduced(name):
    runs, arms, *bests, pair, solved = SCENARIOS[name]
    scenario = shipped(name)
    assert scenario.seconds.shape == (runs, arms)
    for (solver, share), limit in zip(bests, (0.01, 0.1, 1.0), strict=True):
        shares = scenario.solved_shares(limit)
        assert round(float(shares.max()), 4) == share
        assert shares[scenario.solvers.index(solver)] == shares.max()
    problem = scenario.problem()
    arm, limit = problem.best_pair
    assert (scenario.solvers[arm], round(1 / limit)) == pair[:2]
    assert round(problem.best_gain, 6) == pair[2]
    assert round(scenario.virtual_best * runs) == solved


def test_the_second_best_pair_of_ipc2018_is_as_described():
    problem = shipped("IPC2018").problem()
    assert round(float(np.sort(problem.gains.ravel())[-2]), 6) == 0.388717


def test_par10_is_a_choice_of_cost_and_penalty():
    scenario = shipped("IPC2018")
    problem = scenario.problem(cost=Power(slope=1.0), penalty=Power(slope=10.0))
    part = np.where(np.isfinite(scenario.seconds), scenario.seconds / scenario.cutoff, 10.0)
    expected = np.isfinite(scenario.seconds).mean(axis=0) - part.mean(axis=0)
    assert problem.gains[:, -1] == pytest.approx(expected, abs=1e-9)


@pytest.mark.slow
@pytest.mark.interpreted
def test_solver_and_limit_are_learnt_together():
    problem = shipped("BNSL-2016").problem()
    policies = {"RCUCB": RCUCB(), "whole": FixedLimit(limit=1.0)}
    curves = simulate(problem, policies, horizon=2_000, replications=8)
    assert curves.mean("RCUCB", "best_arm_share")[-1] > 0.2  # by chance an eighth
    assert np.isfinite(curves.values("whole", "regret")).all()


ARFF = """@RELATION ALGORITHM_RUNS_TOY

@ATTRIBUTE instance_id STRING
@ATTRIBUTE repetition NUMERIC
@ATTRIBUTE algorithm STRING
@ATTRIBUTE runtime NUMERIC
@ATTRIBUTE runstatus {ok, timeout, memout, not_applicable, crash, other}

@DATA
'a, b.cnf',1,one,3.5,ok
% a comment
'a, b.cnf',1,two,10,timeout
c.cnf,1,one,?,crash
c.cnf,1,two,0.25,ok
"""
DESCRIPTION = "scenario_id: TOY\nperformance_measures: runtime\nalgorithm_cutoff_time: 10\n"


def write(folder, runs=ARFF, description=DESCRIPTION):
    (folder / "algorithm_runs.arff").write_text(runs)
    (folder / "description.txt").write_text(description)
    return folder


def test_the_library_s_own_format(tmp_path):
    scenario = load_aslib(write(tmp_path))
    assert (scenario.name, scenario.solvers, scenario.cutoff) == ("TOY", ("one", "two"), 10)
    assert scenario.seconds.tolist() == [[3.5, math.inf], [math.inf, 0.25]]
    assert aslib_problem(tmp_path, limits=[0.05, 1.0]).gains[1].tolist() == pytest.approx(
        [0.5 - (0.025 + 0.05) / 2, 0.5 - (0.025 + 1) / 2]
    )


def test_runs_that_were_ended_before_the_largest_limit_tell_nothing():
    seconds = np.array([[1.0, 4.0], [math.inf, math.inf], [math.inf, 2.0]])
    until = np.array([[10.0, 10.0], [10.0, 5.0], [5.0, 10.0]])
    scenario = Scenario("toy", ("one", "two"), seconds, 10.0, limits=until)
    assert scenario.problem([0.3, 1.0]).gains.tolist() == [
        pytest.approx([(0.9 - 0.3) / 2, (0.9 - 1.0) / 2]),  # the first and the second run
        pytest.approx([(0.8 - 0.3) / 2, (0.6 + 0.8) / 2]),  # the first and the third
    ]


def test_a_shipped_scenario_is_read_from_the_library_s_own_format(tmp_path):
    table = pq.read_table(FOLDER / "IPC2018.parquet").to_pylist()
    lines = [
        f"'{row['instance']}',{row['repetition']},{row['algorithm']},{row['runtime']!r},"
        f"{row['runstatus']}"
        for row in table
    ]
    head = ARFF[: ARFF.index("@DATA")].replace("runtime", "time")
    write(tmp_path, head + "@data\n" + "\n".join(lines), "algorithm_cutoff_time: 1800.0\n")
    found, expected = load_aslib(tmp_path), shipped("IPC2018")
    assert found.solvers == expected.solvers
    assert np.array_equal(found.seconds, expected.seconds)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("@DATA", "", "@DATA must follow the attributes"),
        ("@ATTRIBUTE algorithm STRING\n", "", "the attribute algorithm must be given, got"),
        ("@ATTRIBUTE runtime", "@ATTRIBUTE quality", "the attribute runtime must be given"),
        ("@RELATION", "@ATTRIBUTE x", "the run must have 6 fields, got 5"),
        ("c.cnf,1,two,0.25,ok", "c.cnf,1,tw", "line 14: the run must have 5 fields, got 3"),
        ("c.cnf,1,two,0.25,ok\n", "", "two on c.cnf, 1 must be given"),
        ("c.cnf,1,two", "c.cnf,1,one", "one on c.cnf, 1 must be given once, got 2"),
        ("0.25,ok", "0.25,fine", "line 14: runstatus must be one of ok, .*got 'fine'"),
        ("0.25,ok", "-1,ok", "line 14: runtime must be seconds, at least 0, got '-1'"),
        ("0.25,ok", "?,ok", r"line 14: runtime must be seconds, at least 0, got '\?'"),
        (ARFF[ARFF.index("'a, b") :], "", "at least one run must be given, got none"),
    ],
)
def test_bad_runs_are_named(tmp_path, old, new, message):
    assert old in ARFF
    with pytest.raises(ValueError, match=rf"algorithm_runs.arff.*{message}"):
        load_aslib(write(tmp_path, ARFF.replace(old, new)))


LISTS = """scenario_id: TOY
performance_measures:
    - PAR10
maximize:
    - false
performance_type:
    - runtime
algorithm_cutoff_time: 10
algorithms_deterministic:
    - one
"""


@pytest.mark.parametrize(
    "description",
    [
        LISTS,
        LISTS.replace("\n    - PAR10", " PAR10").replace("\n    - runtime", " [runtime]"),
        LISTS.replace("    - ", "- "),
    ],
)
def test_the_time_is_the_measure_that_the_description_calls_a_runtime(tmp_path, description):
    runs = ARFF.replace("runtime", "PAR10").replace("10,timeout", "100,timeout")
    scenario = load_aslib(write(tmp_path, runs, description))
    assert scenario.seconds.tolist() == [[3.5, math.inf], [math.inf, 0.25]]
    assert scenario.quality is None
    (tmp_path / "description.txt").write_text(description.replace("PAR10", "wall"))
    with pytest.raises(ValueError, match="the attribute wall must be given, got"):
        load_aslib(tmp_path)


QUALITY = """scenario_id: TOY
performance_measures: score,runtime
maximize: {more},false
performance_type: solution_quality,runtime
algorithm_cutoff_time: 10
"""


@pytest.mark.parametrize(("more", "expected"), [("true", (0.75, 0.5)), ("false", (0.25, 0.5))])
def test_the_quality_of_answers_can_be_the_reward(tmp_path, more, expected):
    runs = ARFF.replace("@ATTRIBUTE runst", "@ATTRIBUTE score NUMERIC\n@ATTRIBUTE runst")
    for old, new in (
        ("3.5,", "3.5,0.75,"),
        ("10,t", "10,0,t"),
        ("?,", "?,?,"),
        (".25,", ".25,.5,"),
    ):
        runs = runs.replace(old, new)
    scenario = load_aslib(write(tmp_path, runs, QUALITY.format(more=more)))
    assert scenario.quality[[0, 1], [0, 1]].tolist() == list(expected)
    assert np.isnan(scenario.quality[[1, 0], [0, 1]]).all()
    problem = aslib_problem(tmp_path, limits=[1.0], reward="quality")
    one, two = expected
    assert problem.gains[:, 0].tolist() == pytest.approx(
        [(one - 0.35 - 1) / 2, (two - 0.025 - 1) / 2]
    )
    with pytest.raises(ValueError, match="reward must be one of done, quality; got 'best'"):
        scenario.problem(reward="best")


def test_objectives_that_cannot_be_believed_are_left_out():
    scenario = shipped("CSP-Minizinc-Obj-2016")
    done = np.isfinite(scenario.seconds)
    table = pq.read_table(FOLDER / "CSP-Minizinc-Obj-2016.parquet").to_pylist()
    believed = {row["instance"] for row in table if row["objective_consistent"]}
    assert len(believed) == 67
    # Instances without a run that is done tell nothing of quality, and stay.
    rows = ~np.isnan(scenario.quality).any(axis=1, where=done)
    assert rows.sum() == 67 + (~done.any(axis=1)).sum()
    problem = scenario.problem(reward="quality")
    assert len(problem.distributions[0].rewards) == rows.sum()
    with pytest.raises(ValueError, match="reward must be 'done' for IPC2018, which has no quality"):
        shipped("IPC2018").problem(reward="quality")


@pytest.mark.parametrize("value", ["", "algorithm_cutoff_time: ?", "algorithm_cutoff_time: 0"])
def test_bad_descriptions_are_named(tmp_path, value):
    with pytest.raises(ValueError, match=r"description.txt: algorithm_cutoff_time must be a numb"):
        load_aslib(write(tmp_path, description=f"scenario_id: X\n{value}\n"))


def test_missing_files_are_named(tmp_path):
    with pytest.raises(
        FileNotFoundError, match=r"description.txt must be a text file; there is no such file"
    ):
        load_aslib(tmp_path)
    (tmp_path / "description.txt").write_text(DESCRIPTION)
    with pytest.raises(
        FileNotFoundError, match=r"algorithm_runs.arff must be a text file; there is no such file"
    ):
        load_aslib(tmp_path)
    write(tmp_path)
    with pytest.raises(ValueError, match=r"path must be the folder of a scenario.*runs.arff"):
        load_aslib(tmp_path / "algorithm_runs.arff")


def test_limits_beyond_the_cut_off_are_refused():
    scenario = Scenario("x", ("a",), np.array([[1.0]]), 10.0)
    with pytest.raises(ValueError, match="limits must be at most 1, the cut-off, got 2"):
        scenario.problem([0.5, 2.0])


def test_spaces_quotes_and_comments_are_those_of_the_definition(tmp_path):
    runs = (
        ARFF[: ARFF.index("@DATA")]
        + """@DATA
  % an indented comment
'i 1', 1, 'a b', 5, ok
"it's" , 1 , 'a b' , 6 , ok
'i 1',1,"c, 'd'",2,ok
'it\\'s',1,'c, ''d''', 3,ok
"""
    )
    description = """# ASlib
scenario_id: 'TOY # 1'  # its name
performance_measures:
  # one of them
  - runtime  # in seconds
algorithm_cutoff_time: 10 # seconds
"""
    scenario = load_aslib(write(tmp_path, runs, description))
    assert (scenario.name, scenario.cutoff) == ("TOY # 1", 10)
    assert scenario.solvers == ("a b", "c, 'd'")
    assert scenario.seconds.tolist() == [[5, 2], [6, 3]]


def test_a_quotation_mark_that_is_not_closed_is_refused(tmp_path):
    with pytest.raises(ValueError, match="line 14: quotation marks must enclose a whole field"):
        load_aslib(write(tmp_path, ARFF.replace("c.cnf,1,two", "'c.cnf,1,two")))


def test_marks_of_windows_are_left_out(tmp_path):
    write(tmp_path, "\ufeff" + ARFF, "\ufeff" + DESCRIPTION)
    assert load_aslib(tmp_path).name == "TOY"
    (tmp_path / "description.txt").write_bytes(DESCRIPTION.encode("utf-16"))
    with pytest.raises(ValueError, match=r"description\.txt is UTF-16: save it as UTF-8"):
        load_aslib(tmp_path)
