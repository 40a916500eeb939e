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
from keyhole.tune.saved_tune import RUNS
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
ALIVE = 5.0  # seconds within which all that a killed tuner had started is gone


@pytest.fixture
def begun(tmp_path):
    """Return a function that starts the tuner, and the tag of all its processes."""
    (tmp_path / "mine.toml").write_text(SPEC)
    tag = uuid.uuid4().hex

    def begin(*words):
        return Forked(*words, cwd=tmp_path, env=os.environ | {"KEYHOLE_TAG": tag})

    return begin, tag


def tagged(tag):
    """Return the processes that are alive and have the tag in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            state = (path / "stat").read_text().rpartition(")")[2].split()[0]
            if state != "Z" and tag.encode() in (path / "environ").read_bytes():
                found.append(int(path.name))
        except OSError:
            pass
    return found


def check_nothing_is_left(tag):
    deadline = time.monotonic() + ALIVE
    while left := tagged(tag):
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


def lines(out):
    return len((out / RUNS).read_bytes().splitlines()) if (out / RUNS).exists() else 0


def kill_and_go_on(begun, out, kills, seed):
    """Kill the tuner so often, each time at a random moment after one or two more runs."""
    begin, tag = begun
    rng, runs = random.Random(seed), 2 * kills + 4
    for _ in range(kills):
        before = lines(out)
        with begin("-c", LOOP, 10**6) as tuner:  # which is killed in the end
            deadline = time.monotonic() + 600
            while lines(out) <= before:
                assert tuner.poll() is None, tuner.finish().stderr
                assert time.monotonic() < deadline
                time.sleep(0.002)
            time.sleep(rng.uniform(0.0, 0.15))
        check_nothing_is_left(tag)
        had = {run.id for run in SavedTune.load(out).runs}
        assert len(had) > before - 1
    runs = max(runs, lines(out) + 2)
    with begin("-c", LOOP, runs) as last:
        done = last.finish()
    assert done.returncode == 0, done.stderr
    check_nothing_is_left(tag)
    tune = check_every_run_counts_once(out, runs)
    assert had <= {run.id for run in tune.runs}


def test_a_killed_tuner_can_be_resumed(begun, tmp_path):
    kill_and_go_on(begun, tmp_path / "out", 2, seed=1)


@pytest.mark.slow
def test_a_tuner_killed_at_fifty_moments_can_be_resumed(begun, tmp_path):
    kill_and_go_on(begun, tmp_path / "out", 50, seed=2)


SPACE = """
limits = [0.01, 0.03, 0.1]
instances = ["0", "0.005", "0.02", "9"]
parameters = { factor = { range = [1, 9], integer = true, default = 2 } }
[[arm]]
name = "plain"
command = "sh -c 'setsid sleep 60 & sleep {instance}; exit $(({factor} > 7))'"
"""


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_tune_of_parameters_goes_on_as_its_log_says(begun, tmp_path, workers):
    begin, tag = begun
    (tmp_path / "mine.toml").write_text(SPACE)
    out = tmp_path / "out"
    tune = ("-m", "keyhole", "tune", "mine.toml", "--workers", workers, "--quiet")
    for delay in (0.0, 0.02, 0.1):
        before = lines(out)
        with begin(*tune, "--out", out, "--runs", 10**6) as tuner:  # which is killed in the end
            deadline = time.monotonic() + 600
            while lines(out) < before + 5:
                assert tuner.poll() is None, tuner.finish().stderr
                assert time.monotonic() < deadline
                time.sleep(0.002)
            time.sleep(delay)
        check_nothing_is_left(tag)
    shutil.copytree(out, tmp_path / "copy")
    runs = len(load_tune(out).runs) + 1
    for folder in (out, tmp_path / "copy"):
        with begin(*tune[:-3], "--quiet", "--out", folder, "--runs", runs) as last:
            done = last.finish()
        assert done.returncode == 0, done.stderr
    decided = [decisions(load_tune(folder)) for folder in (out, tmp_path / "copy")]
    assert decided[0] == decided[1]
    assert len({number for number, *_ in decided[0]}) == len(decided[0]) == runs


def test_ctrl_c_kills_all_commands_and_says_how_to_resume(begun, tmp_path):
    begin, tag = begun
    words = ("tune", "mine.toml", "--out", "out", "--runs", 10**6, "--workers", 2)
    with begin("-m", "keyhole", *words) as tuner:
        deadline = time.monotonic() + 600
        while lines(tmp_path / "out") < 2:
            assert tuner.poll() is None, tuner.finish().stderr
            assert time.monotonic() < deadline
            time.sleep(0.01)
        tuner.send_signal(signal.SIGINT)
        done = tuner.finish()
    assert done.returncode == 130
    assert "the same command resumes from here" in done.stderr
    assert "Traceback" not in done.stderr
    check_nothing_is_left(tag)
