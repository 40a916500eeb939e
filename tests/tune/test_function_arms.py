import json
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType

import pytest

from keyhole.tune import Spec, Tuner
from keyhole.tune.arms import function_command, parse_function_answer, parse_target
from tests.tune import work

FOLDER = Path(__file__).parent
SLOW_TO_LOAD = "tests.tune.slow_to_load:works"


def call(target, **fields):
    process = subprocess.run(function_command(target, fields), capture_output=True, cwd=FOLDER)
    return process.returncode, parse_function_answer(process.stdout)


def test_a_function_is_found_again_by_its_module_or_its_file():
    assert parse_target("f", work.works) == "tests.tune.work:works"
    assert parse_target("f", "module:name") == "module:name"
    start = time.monotonic()
    code, answer = call(f"{FOLDER / 'work.py'}:works", instance="2", factor=3.5, limit=60, seed=1)
    assert (code, answer.result) == (0, 7.0)
    assert 0.0 <= answer.seconds < time.monotonic() - start


def test_the_alarm_kills_a_function_that_does_not_return():
    code, answer = call(f"{FOLDER / 'work.py'}:waits", instance="2", limit=0.05)
    assert (-code, answer) == (signal.SIGALRM, None)


@pytest.mark.parametrize("name", ["prints_at_the_end", "replaces_stdout", "leaves_a_thread"])
def test_threads_and_exit_handlers_of_a_function_are_not_waited_for(name):
    code, answer = call(f"{FOLDER / 'work.py'}:{name}", limit=30.0)
    assert (code, answer.result) == (0, 0.7)


def test_a_numpy_false_is_a_failure():
    assert call(f"{FOLDER / 'work.py'}:says_no", limit=30.0)[1].result is False


def test_an_exception_is_reported_in_the_answer():
    code, answer = call(f"{FOLDER / 'work.py'}:raises", limit=30.0)
    assert (code, answer.failure) == (1, "ValueError: no good")


def test_a_script_does_not_tune_in_the_process_of_its_function(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from keyhole.tune import Spec, Tuner\ndef f(): return 1\n"
        "spec = Spec.from_table({'arm': [{'name': 'f', 'function': f}], 'limits': [1]})\n"
        "Tuner(spec, 'out').run(runs=1)\n"
    )
    code, answer = call(f"{script}:f", limit=30.0)
    assert (code, answer.seconds) == (1, 0.0)
    assert "put everything but definitions under `if __name__ == '__main__':`" in answer.failure
    assert not list(tmp_path.glob("out"))


@pytest.mark.parametrize("value", [lambda: 1, 3, "name", "module:", print.__call__])
def test_a_function_that_another_process_cannot_import_is_refused(value):
    with pytest.raises((TypeError, ValueError), match="f must be "):
        parse_target("f", value)


def test_a_typed_function_is_refused_in_one_line_that_says_what_to_do(monkeypatch):
    session = ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", session)
    exec("def nap(seconds):\n    return seconds", vars(session))
    with pytest.raises(
        ValueError, match=r"^f must be in a file, .*%%writefile FILE.py.*$"
    ) as error:
        parse_target("f", session.nap)
    assert "\n" not in str(error.value)


def test_a_typed_function_of_a_tune_of_version_0_2_0_is_still_called():
    cells = [
        "import math\nSHIFT = 0.5",
        "def nap(seconds):\n    return math.floor(seconds + SHIFT)",
    ]
    arm = {"name": "a", "function": "<typed>:nap", "cells": cells, "command": [], "parameters": {}}
    data = Spec.from_table({"arm": [{"name": "b", "command": "true"}], "limits": [1, 2]}).as_json()
    (saved,) = Spec.from_json(json.loads(json.dumps({**data, "arms": [arm]}))).arms
    command = function_command(saved.function, {"seconds": 2.75, "limit": 60.0}, saved.cells)
    process = subprocess.run(command, capture_output=True)
    assert parse_function_answer(process.stdout).result == 3


@pytest.mark.parametrize(
    "text",
    [b"", b"keyhole.runner.function_process_child: ", b"keyhole.runner.function_process_child: {}"],
)
def test_output_without_an_answer_has_none(text):
    assert parse_function_answer(text) is None


def test_a_call_imports_only_the_standard_library():
    script = Path(sys.modules["keyhole.runner.function_process_child"].__file__)
    request = json.dumps({"path": sys.path, "target": "math:exp", "fields": {"limit": 1.0}})
    process = subprocess.run(
        [sys.executable, "-I", "-S", str(script), request], capture_output=True, text=True
    )
    assert "exp" in process.stderr  # the function was found, and called without its argument


def test_functions_are_tuned_as_commands_are_and_loading_them_is_not_counted(tmp_path):
    spec = Spec.from_table(
        {
            "arm": [
                {"name": "half", "function": SLOW_TO_LOAD, "parameters": {"factor": 0.5}},
                {"name": "whole", "function": SLOW_TO_LOAD, "parameters": {"factor": 1.0}},
                {"name": "never", "function": work.waits},
            ],
            "instances": ["40", "60"],
            "success": {"scale": [0, 100]},
            "objective": {"cost_per_second": 1},
            "limits": [0.3, 0.5],
        }
    )
    tune = Tuner(spec, tmp_path / "out").run(runs=3)
    outcomes = {(run.arm, run.outcome) for run in tune.runs}
    assert outcomes == {("half", "ok"), ("whole", "ok"), ("never", "out of time")}
    assert tune.best().arm == "whole"
