"""Cached code is loaded without importing Numba."""

import json
import subprocess
import sys

import numba
import pytest

from keyhole.kernels import kernel_decorators
from keyhole.kernels.kernel_decorators import changed_compiler_settings

PLAY = """
from keyhole import simulate
from keyhole.study import Study
from keyhole.thresholding import APT, Problem

def played(database):
    problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
    curves = simulate(problem, [APT()], horizon=20, replications=10, seed=1, threads=2)
    learner = APT().learner(arms=3, threshold=0.5)
    asked = []
    for n in range(9):
        asked.append(learner.ask())
        learner.tell(n % 2)
    with Study.create(database, "mine", APT(), arms=["a", "b", "c"], threshold=0.5) as study:
        study.tell(study.ask(), 1.0)
    return [curves.values(curves.labels[0], "aggregate_regret").tolist(), asked]
"""

# What code that was kept calls, looked for before Numba is there, and after.
ALONE = """
import io, json, sys
from contextlib import redirect_stdout

from llvmlite import binding
from keyhole.cli import main
from keyhole.kernels.numba_internals import machine_code

results = played(sys.argv[1])
for words in (["catalog"], ["cache", "info"], ["doctor"], ["study", "show", sys.argv[1], "mine"]):
    sys.argv[1:] = words
    with redirect_stdout(io.StringIO()):
        try:
            main()
        except SystemExit as end:
            assert not end.code, words
assert not [name for name in sys.modules if name.split(".")[0] == "numba"]
helpers = machine_code.load_numba_extension("_helperlib").c_helpers
names = [*helpers, *(f"numba_{name}" for name in helpers), "lgamma", "log2", "PyErr_SetString"]
names += ["numba_do_raise", "PyExc_ValueError", "_Py_NoneStruct", "PyThread_get_thread_ident"]
before = [binding.address_of_symbol(name) for name in names]
kind = machine_code.describe_processor()

from numba.core.registry import cpu_target
generator = cpu_target.target_context.codegen()
assert [binding.address_of_symbol(name) for name in names] == before
assert kind == repr(generator.magic_tuple())
print(json.dumps(results))
"""


def test_cached_code_is_loaded_without_numba_and_has_the_same_symbols(tmp_path):
    scope = {}
    exec(PLAY, scope)
    expected = scope["played"](tmp_path / "here.db")
    done = subprocess.run(
        [sys.executable, "-c", PLAY + ALONE, str(tmp_path / "there.db")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == expected


BY_NAME = {
    "OPT": ("0", "max"),
    "BOUNDSCHECK": ("1",),
    "CPU_NAME": ("generic",),
    "CPU_FEATURES": ("+sse2",),
    "LOOP_VECTORIZE": ("0",),
}


@pytest.mark.parametrize(("name", "text"), [(n, t) for n, ts in BY_NAME.items() for t in ts])
def test_settings_of_numba_count_wherever_they_are_set(monkeypatch, name, text):
    kinds = {"OPT": numba.core.config._process_opt_level, "CPU_NAME": str, "CPU_FEATURES": str}
    assert name not in changed_compiler_settings()
    monkeypatch.setattr(numba.config, name, kinds.get(name, int)(text))
    assert name in changed_compiler_settings()


def test_defaults_of_numba_are_not_settings():
    defaults = kernel_decorators._DEFAULT_SETTINGS
    known = {name: repr(getattr(numba.config, name)) for name in defaults}
    assert known == kernel_decorators._DEFAULT_SETTINGS
