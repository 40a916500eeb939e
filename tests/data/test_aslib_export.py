import math

import numpy as np
import pytest

from keyhole.data import RunToExport, load_aslib, write_aslib

RUNS = [
    RunToExport("a.cnf", "slow", 1.5, "ok", 10.0),
    RunToExport("a.cnf", "it's quick", 0.5, "ok", 1.0),
    RunToExport("b, c.cnf", "it's quick", 1.0, "timeout", 1.0),
    RunToExport("a.cnf", "it's quick", 0.25, "crash", 10.0),
]


def test_what_was_written_is_read_back(tmp_path):
    scenario = load_aslib(write_aslib(tmp_path / "out", "mine", 10.0, RUNS))
    assert (scenario.name, scenario.cutoff) == ("mine", 10.0)
    assert repr(scenario) == "Scenario(mine: 2 solvers, 4 runs in all, cut-off 10 s)"
    assert scenario.solvers == ("it's quick", "slow")
    assert scenario.seconds.tolist() == [[0.5, 1.5], [math.inf] * 2, [math.inf] * 2]
    assert scenario.limits.tolist() == [[1.0, 10.0], [1.0, 0.0], [10.0, 0.0]]


def test_a_run_that_was_given_up_says_nothing_of_larger_limits(tmp_path):
    scenario = load_aslib(write_aslib(tmp_path, "mine", 10.0, RUNS))
    assert scenario.solved_shares(0.1).tolist() == [1 / 3, 0.0]
    assert scenario.solved_shares(1.0).tolist() == [0.0, 1.0]
    problem = scenario.problem(limits=[0.1, 1.0])
    assert problem.gains[:, 1].tolist() == pytest.approx([-1.0, 1.0 - 0.15])


def test_how_good_an_answer_is_comes_along(tmp_path):
    made = [RUNS[0]._replace(quality=0.75), RUNS[2]]
    scenario = load_aslib(write_aslib(tmp_path, "mine", 10.0, made))
    assert np.nan_to_num(scenario.quality, nan=-1.0).tolist() == [[-1.0, 0.75], [-1.0, -1.0]]


def test_a_status_that_there_is_not_is_refused(tmp_path):
    with pytest.raises(ValueError, match="status must be one of ok, timeout, memout, crash"):
        write_aslib(tmp_path, "mine", 10.0, [RUNS[0]._replace(status="solved")])
