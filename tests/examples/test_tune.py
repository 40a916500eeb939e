"""The examples of tunes run as in their READMEs, on small instances and with few runs."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import python

EXAMPLES = Path(__file__).parents[2] / "examples"


def keyhole(*words, cwd):
    done = python("-m", "keyhole", "tune", *words, cwd=cwd)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_sat_solver_is_found_on_any_machine(tmp_path):
    script = EXAMPLES / "tune-sat" / "make.py"
    subprocess.run([sys.executable, script, tmp_path, "--small"], check=True, capture_output=True)
    text = keyhole("sat.toml", "--out", "out", "--runs", 25, cwd=tmp_path)
    assert "sat: 25 runs in" in text
    assert "best: " in text
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.slow
def test_a_hanging_suite_is_tuned(tmp_path):
    shutil.copytree(EXAMPLES / "tune-tests", tmp_path / "here")
    spec = tmp_path / "here" / "tests.toml"
    spec.write_text(spec.read_text().replace("to = 10", "to = 0.5"))
    suite = tmp_path / "here" / "suite.py"
    suite.write_text(suite.read_text().replace("SECONDS = 8, 0.06", "SECONDS = 8, 0.01"))
    text = keyhole(spec, "--out", "out", "--runs", 8, cwd=tmp_path)
    assert text.startswith("tests: 8 runs in")
    assert " failed" not in text.splitlines()[0]


@pytest.mark.slow
def test_parameters_of_a_solver_are_tuned_and_validated(tmp_path):
    make = (sys.executable, EXAMPLES / "tune-sat" / "make.py", tmp_path, "--small")
    subprocess.run(make, check=True, capture_output=True)
    (tmp_path / "instances" / "uniform3.cnf").rename(tmp_path / "uniform3.cnf")
    # In place of the solver, which may be missing.
    solver = tmp_path / "minisat"
    solver.write_text("#!/bin/sh\nexit 10\n")
    solver.chmod(0o755)
    text = (EXAMPLES / "tune-space" / "minisat.toml").read_text()
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    (tmp_path / "minisat.toml").write_text(f"environment = {{ PATH = '{path}' }}\n{text}")
    assert "best: " in keyhole("minisat.toml", "--out", "out", "--runs", 8, cwd=tmp_path)
    text = keyhole("validate", "out", "--instances", "uniform3.cnf", cwd=tmp_path)
    assert text.startswith("kept aside ")


@pytest.mark.parametrize("name", ["tune-sat", "tune-space", "tune-tests"])
def test_files_named_in_the_readme_of_an_example_exist(name):
    text = (EXAMPLES / name / "README.md").read_text()
    for path in re.findall(rf"examples/{name}/([\w.]+\.(?:py|toml))", text):
        assert (EXAMPLES / name / path).exists(), path
    assert "keyhole tune best" in text
