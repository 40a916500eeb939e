"""A tuner that is killed loses no run, counts none twice, and leaves no process behind."""

import os
import random
import shutil
import signal
import time
import uuid
from pathlib import Path

import pytest

from keyhole.tune import SavedTune, load_tune
from keyhole.tune.trial_log import RUNS_FILE
from tests.processes import Forked
from tests.tune.spaces import decisions
from tests.tune.test_tuner import check_every_run_counts_once

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks into /proc")
SPEC = """
limits = [0.01, 0.03, 0.1]
instances = ["0", "0.005", "0.02", "9"]
[[arm]]
name = "plain"
command = "sleep {instance}"
[[arm]]
name = "family"
command = "sh -c 'setsid sleep 60 & sleep {instance}'"
"""
LOOP = """
import sys
from keyhole.tune import Spec, Tuner
Tuner(Spec.from_file("mine.toml"), "out").run(runs=int(sys.argv[1]), workers=2)
"""
MOST_SECONDS = 5.0  # until all processes that a killed tuner had started are gone


@pytest.fixture
def starter(tmp_path):
    """Return a function that starts the tuner, and the tag of all its processes."""
    (tmp_path / "mine.toml").write_text(SPEC)
    tag = uuid.uuid4().hex

    def start(*arguments):
        return Forked(*arguments, cwd=tmp_path, env=os.environ | {"KEYHOLE_TAG": tag})

    return start, tag


def find_processes(tag):
    """Return the processes that are alive and have the tag in their environment."""
    pids = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and tag.encode() in (path / "environ").read_bytes():
                pids.append(int(path.name))
        except OSError:
            pass
    return pids


def check_no_process_is_left(tag):
    deadline = time.monotonic() + MOST_SECONDS
    while pids := find_processes(tag):
        assert time.monotonic() < deadline, pids
        time.sleep(0.01)


def count_records(out):
    return len((out / RUNS_FILE).read_bytes().splitlines()) if (out / RUNS_FILE).exists() else 0


def wait_for_records(tuner, out, count):
    deadline = time.monotonic() + 600
    while count_records(out) < count:
        assert tuner.poll() is None, tuner.finish().stderr
        assert time.monotonic() < deadline
        time.sleep(0.002)


def kill_and_resume(starter, out, kills, seed):
    """Kill a tuner `kills` times, at random moments after one or two more runs; then resume it."""
    start, tag = starter
    rng, runs = random.Random(seed), 2 * kills + 4
    for _ in range(kills):
        before = count_records(out)
        with start("-c", LOOP, 10**6) as tuner:  # which is killed in the end
            wait_for_records(tuner, out, before + 1)
            time.sleep(rng.uniform(0.0, 0.15))
        check_no_process_is_left(tag)
        saved_ids = {run.id for run in SavedTune.load(out).runs}
        assert len(saved_ids) > before - 1
    runs = max(runs, count_records(out) + 2)
    with start("-c", LOOP, runs) as tuner:
        result = tuner.finish()
    assert result.returncode == 0, result.stderr
    check_no_process_is_left(tag)
    tune = check_every_run_counts_once(out, runs)
    assert saved_ids <= {run.id for run in tune.runs}


def test_a_killed_tuner_can_be_resumed(starter, tmp_path):
    kill_and_resume(starter, tmp_path / "out", 2, seed=1)


@pytest.mark.slow
def test_a_tuner_killed_at_fifty_moments_can_be_resumed(starter, tmp_path):
    kill_and_resume(starter, tmp_path / "out", 50, seed=2)


SPACE = """
limits = [0.01, 0.03, 0.1]
instances = ["0", "0.005", "0.02", "9"]
parameters = { factor = { range = [1, 9], integer = true, default = 2 } }
[[arm]]
name = "plain"
command = "sh -c 'setsid sleep 60 & sleep {instance}; exit $(({factor} > 7))'"
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_tune_of_parameters_goes_on_as_its_log_says(starter, tmp_path, workers):
    start, tag = starter
    (tmp_path / "mine.toml").write_text(SPACE)
    out = tmp_path / "out"
    tune = ("-m", "keyhole", "tune", "mine.toml", "--workers", workers, "--quiet")
    for delay in (0.0, 0.02, 0.1):
        before = count_records(out)
        with start(*tune, "--out", out, "--runs", 10**6) as tuner:  # which is killed in the end
            wait_for_records(tuner, out, before + 5)
            time.sleep(delay)
        check_no_process_is_left(tag)
    shutil.copytree(out, tmp_path / "copy")
    runs = len(load_tune(out).runs) + 1
    for folder in (out, tmp_path / "copy"):
        with start(*tune[:-3], "--quiet", "--out", folder, "--runs", runs) as tuner:
            result = tuner.finish()
        assert result.returncode == 0, result.stderr
    decisions_of_both = [decisions(load_tune(folder)) for folder in (out, tmp_path / "copy")]
    assert decisions_of_both[0] == decisions_of_both[1]
    assert len({number for number, *_ in decisions_of_both[0]}) == len(decisions_of_both[0]) == runs


def test_ctrl_c_kills_all_commands_and_says_how_to_resume(starter, tmp_path):
    start, tag = starter
    arguments = ("tune", "mine.toml", "--out", "out", "--runs", 10**6, "--workers", 2)
    with start("-m", "keyhole", *arguments) as tuner:
        wait_for_records(tuner, tmp_path / "out", 2)
        tuner.send_signal(signal.SIGINT)
        result = tuner.finish()
    assert result.returncode == 130
    assert "the same command resumes from here" in result.stderr
    assert "Traceback" not in result.stderr
    check_no_process_is_left(tag)
