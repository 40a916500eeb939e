"""The compile cache in separate processes, and after changes of sources."""

import importlib
import json
import os
import runpy
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from keyhole.draws.streams import ENVIRONMENT, seek_pull, stream, uniform
from keyhole.kernels import compile_cache
from keyhole.kernels.fingerprint import compiled_copy, fingerprint
from tests.forks import ENOUGH, in_child
from tests.processes import python

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

POLICY = """
from keyhole.thresholding import IndexPolicy
import helper

class Mine(IndexPolicy):
    def index(p, pulls, total):
        return -(helper.distance(p, pulls, total) + 0.1 * pulls)

def play():
    learner = Mine().learner(arms=3, threshold=0.5)
    asked = []
    for n in range(20):
        asked.append(learner.ask())
        learner.tell(n % 3 / 2)
    return [asked, learner.state["index"].tolist()]
"""

HELPER = """
from numba import njit

@njit
def distance(p, pulls, total):
    return {distance}
"""

PROCESS = """
import json
import sys
sys.dont_write_bytecode = True
import keyhole.kernels.compile_cache as cache
compiled, really = [], cache._compile
def counting(owner, *rest):
    compiled.append(owner)
    return really(owner, *rest)
cache._compile = counting
import users_policy
print(json.dumps([compiled, users_policy.play()]))
"""


class Workshop:
    """A folder with a user's policy, and a cache folder."""

    def __init__(self, folder):
        self.folder, self.cache = folder, folder / "cache"
        self.write()

    def write(self, *, distance="abs(total - p.threshold * pulls)"):
        (self.folder / "users_policy.py").write_text(POLICY)
        (self.folder / "helper.py").write_text(HELPER.format(distance=distance))

    def run(self):
        """Return what was compiled in a new process, and what the policy did there."""
        env = os.environ | {"KEYHOLE_CACHE_DIR": str(self.cache)}
        done = python("-c", PROCESS, cwd=self.folder, env=env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def run_here(self, monkeypatch):
        """Return the same of this process, which has it all to read anew."""
        compiled, really = [], compile_cache._compile

        def counting(owner, *rest):
            compiled.append(owner)
            return really(owner, *rest)

        with monkeypatch.context() as patch:
            patch.setenv("KEYHOLE_CACHE_DIR", str(self.cache))
            patch.setattr(compile_cache, "_compile", counting)
            patch.setattr(compile_cache, "_functions", {})
            patch.setattr(sys, "dont_write_bytecode", True)
            patch.syspath_prepend(self.folder)
            for name in ("users_policy", "helper"):
                patch.delitem(sys.modules, name, raising=False)
            try:
                return [compiled, importlib.import_module("users_policy").play()]
            finally:
                for name in ("users_policy", "helper"):
                    del sys.modules[name]


def test_a_process_finds_what_others_compiled_and_notices_changed_sources(monkeypatch, tmp_path):
    workshop = Workshop(tmp_path)
    compiled, decided = workshop.run()
    assert compiled == ["Mine"]
    assert workshop.run_here(monkeypatch) == [[], decided]
    # Whatever changes in the sources counts: see the tests of the fingerprint.
    workshop.write(distance="(total - p.threshold * pulls) ** 2")
    changed = workshop.run_here(monkeypatch)
    assert changed[0] == ["Mine"]
    assert changed[1] != decided
    workshop.write()
    assert workshop.run_here(monkeypatch) == [[], decided]


def test_a_script_and_standard_input_can_define_policies(capsys, tmp_path):
    script = textwrap.dedent(
        """
        from keyhole.thresholding import IndexPolicy

        class Mine(IndexPolicy):
            def index(p, pulls, total):
                return -helper(pulls)

        def helper(pulls):
            return pulls

        learner = Mine().learner(arms=2, threshold=0.5)
        print(learner.policy, learner.ask())
        """
    )
    (tmp_path / "script.py").write_text(script)
    runpy.run_path(str(tmp_path / "script.py"), run_name="__main__")
    assert capsys.readouterr().out == "Mine() 0\n"
    done = subprocess.run(
        [sys.executable, "-"],
        input=script,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=ENOUGH,
    )
    assert done.stdout == "Mine() 0\n", done.stderr


def test_a_redefined_helper_is_noticed_within_a_process():
    from keyhole.thresholding import IndexPolicy

    scope = {"IndexPolicy": IndexPolicy, "__name__": "cell"}
    exec(
        "def helper(pulls): return pulls\n"
        "class Mine(IndexPolicy):\n"
        "    def index(p, pulls, total): return -helper(pulls)\n",
        scope,
    )
    mine = scope["Mine"]
    first, second = mine().learner(arms=2, threshold=0.5), None
    exec("def helper(pulls): return -pulls", scope)  # as a notebook cell run again does
    second = mine().learner(arms=2, threshold=0.5)
    asked = []
    for learner in (first, second):
        for _ in range(2):
            learner.ask()
            learner.tell(1)
        learner.ask()
        learner.tell(1)
        asked.append(learner.ask())
    assert asked == [1, 0]


def test_importing_loads_no_modules_for_reports_and_files():
    heavy = ["matplotlib", "pyarrow", "pydantic", "rich", "typer", "sklearn", "scipy.stats"]
    code = f"import keyhole, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


TABLE = np.array([0.25, 0.5, 4.0])


@njit
def shared(values, rng):
    seek_pull(rng, 2, 7)
    return values[0] * TABLE[2] + uniform(rng)


def doubled(values, words):
    values[0] = 2.0 * shared(values, words)
    return 1


def tripled(values, words):
    values[0] = 3.0 * shared(values, words)
    return 1


KERNELS = {"doubled": doubled, "tripled": tripled}


def play(*names):
    """Return what kernels do, loaded in this order, then called; and what was compiled."""
    signature = "int64(float64[::1], uint64[::1])"
    compiled, really = [], compile_cache._compile
    compile_cache._compile = lambda owner, *rest: compiled.append(owner) or really(owner, *rest)
    codes = {
        name: compile_cache.compile_cached(
            name, fingerprint(KERNELS[name]), lambda it=KERNELS[name]: compiled_copy(it), signature
        )
        for name in names
    }
    found = {}
    for name, code in codes.items():
        values = np.array([5.0])
        code(values, stream(3, 1, ENVIRONMENT))
        found[name] = values[0].hex()
    return json.dumps([compiled, found])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_code_of_different_processes_runs_in_one(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(compile_cache, "_functions", {})  # the children's, too
    alone = {}
    for name in KERNELS:  # each process compiles one, and gives its symbols the same numbers
        compiled, found = json.loads(in_child(lambda it=name: play(it)))
        assert compiled == [name]
        alone |= found
    assert alone["doubled"] != alone["tripled"]
    for order in (list(KERNELS), [*reversed(KERNELS)]):
        assert json.loads(in_child(lambda it=order: play(*it))) == [[], alone]


POLICIES_TOGETHER = """
import json, sys
from keyhole.thresholding import APT, LSA, UCBE
policies = {"LSA": LSA(), "APT": APT(0.05), "UCBE": UCBE(0)}
known = {"arms": 4, "threshold": 0.5, "hardness": 500.0}
learners = {name: policies[name].learner(horizon=80, **known) for name in sys.argv[1:]}
asked = {name: [] for name in learners}
for n in range(80):
    for name, learner in learners.items():
        asked[name].append(learner.ask())
        learner.tell(n % 7 / 6)
print(json.dumps(asked))
"""


@pytest.mark.slow
def test_policies_of_different_processes_run_in_one(tmp_path):
    names = ["LSA", "UCBE", "APT"]

    def play(*which):
        done = subprocess.run(
            [sys.executable, "-c", POLICIES_TOGETHER, *which],
            env=os.environ | {"KEYHOLE_CACHE_DIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=ENOUGH,
        )
        return json.loads(done.stdout)

    alone = {name: play(name)[name] for name in names}
    assert play(*names) == alone  # all loaded, each compiled elsewhere
    assert play(*reversed(names)) == alone


MANY = """
import keyhole.kernels.compile_cache as cache
from keyhole import simulate
from keyhole.thresholding import IndexPolicy, Problem
problem = Problem(means=[0.2, 0.45, 0.7], threshold=0.5)
for number in range({count}):
    scope = {{"IndexPolicy": IndexPolicy, "SCALE": float(number), "__name__": "cell"}}
    exec(
        "class Mine(IndexPolicy):\\n"
        "    def index(p, pulls, total): return -SCALE * pulls - abs(total - p.threshold * pulls)",
        scope,
    )
    simulate(problem, [scope["Mine"]()], horizon=40, replications=4)
# What `getrusage` says is no less than what the process that started this one had.
for line in open("/proc/self/status"):
    if line.startswith("VmHWM:"):
        print(line.split()[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="looks into /proc")
def test_sixty_pairs_stay_below_400_megabytes(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MANY.format(count=60)],
        env=os.environ | {"KEYHOLE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 400_000  # kilobytes; all that is imported takes some 200,000
