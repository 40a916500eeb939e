"""Every test ends: see the `conftest.py` that stands beside `pyproject.toml`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ENDLESS = """
import ctypes
import time

import conftest
import pytest

conftest.GRACE = 10  # a busy machine takes its time to say why a test failed


@pytest.mark.timeout(1)
def test_python():
    try:
        while True:
            time.sleep(0.01)
    finally:
        conftest.GRACE = 0  # of the next, which only the watchdog ends


@pytest.mark.timeout(1)
def test_compiled():
    mutex, c = ctypes.create_string_buffer(256), ctypes.PyDLL(None)
    c.pthread_mutex_init(mutex, None)
    while True:  # C that holds the interpreter's lock and is not interrupted by signals
        c.pthread_mutex_lock(mutex)


def test_after():
    pass
"""


@pytest.mark.slow
def test_tests_that_never_end_fail_and_compiled_ones_too(tmp_path):
    (tmp_path / "test_endless.py").write_text(ENDLESS)
    words = "-p conftest -p no:cacheprovider -n 1 -o timeout=300 -o timeout_method=signal"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "--rootdir",
            ".",
            "-c",
            os.devnull,
            *words.split(),
            "--cpu-times=0",
        ],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1, done.stdout
    assert "2 failed, 1 passed" in done.stdout
    assert "Timeout (>1.0s) from pytest-timeout" in done.stdout
    assert "crashed while running 'test_endless.py::test_compiled'" in done.stdout
    assert " in test_compiled" in done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("  ")]
    assert ["3", "test_endless.py"] in [row[-2:] for row in rows]
    assert ["3", "in", "all"] in [row[-3:] for row in rows]
