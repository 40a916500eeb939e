"""The compile cache, as separate processes see it."""

import gc
import json
import os
import subprocess
import sys
import textwrap
import weakref
from pathlib import Path

import numpy as np
import pytest
from numba import types

from keyhole.kernels import cache, jit

pytestmark = pytest.mark.skipif(
    jit.internals is None, reason="KEYHOLE_PLAIN_NUMBA is set: nothing is kept"
)

SCRIPT = """
import json, sys
import keyhole.kernels.cache as cache
import numba.core.compiler
compiled = []
real = numba.core.compiler.compile_extra
def counting(*args, **kwargs):
    compiled.append(1)
    return real(*args, **kwargs)
numba.core.compiler.compile_extra = counting
import {module} as mine
learner = mine.Mine().learner(arms=3, threshold=0.5)
asked = []
for n in range(20):
    asked.append(learner.ask())
    learner.tell(n % 3 / 2)
decided = [asked, learner.state["index"].tolist()]
print(json.dumps({{"compiled": len(compiled), "decided": decided}}))
"""

POLICY = """
from keyhole.thresholding import IndexPolicy
import helper

SCALE = {scale}

class Mine(IndexPolicy):
    def index(p, pulls, total):
        return -(SCALE * helper.distance(p, pulls, total) {sign} 0.1 * pulls)
"""

HELPER = """
from numba import njit

@njit
def distance(p, pulls, total):
    return {distance}
"""


class Workshop:
    """A folder with a user's policy, and a cache folder."""

    def __init__(self, folder):
        self.folder = folder
        self.cache = folder / "cache"
        self.write()

    def write(self, *, scale=1.0, sign="+", distance="abs(total - p.threshold * pulls)"):
        (self.folder / "policy.py").write_text(POLICY.format(scale=scale, sign=sign))
        (self.folder / "helper.py").write_text(HELPER.format(distance=distance))

    def run(self, **environment):
        done = subprocess.run(
            [sys.executable, "-B", "-c", SCRIPT.format(module="policy")],
            cwd=self.folder,
            env=os.environ | {"KEYHOLE_CACHE_DIR": str(self.cache)} | environment,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """Return a workshop whose policy has been compiled, and what that gave."""
    workshop = Workshop(tmp_path_factory.mktemp("workshop"))
    return workshop, workshop.run()


def test_a_second_process_compiles_nothing(warm):
    workshop, first = warm
    again = workshop.run()
    assert first["compiled"] > 0
    assert again["compiled"] == 0
    assert again["decided"] == first["decided"]


def test_a_changed_source_is_noticed_and_the_old_one_still_known(warm):
    workshop, first = warm
    changes = {
        "the policy": {"sign": "-"},
        "a constant": {"scale": 3.0},
        "a helper in another module": {"distance": "(total - p.threshold * pulls) ** 2"},
    }
    for name, change in changes.items():
        workshop.write(**change)
        changed = workshop.run()
        assert changed["compiled"] > 0, name
        assert changed["decided"] != first["decided"], name
    workshop.write()
    back = workshop.run()
    assert back["compiled"] == 0
    assert back["decided"] == first["decided"]


def twice(values):
    values[0] *= 2.0
    return 1


def thrice(values):
    values[0] *= 3.0
    return 1


class Starts:
    """Uses two compiled functions as a process does that has just been started."""

    def __init__(self, monkeypatch):
        self._patch, self._compile, self._compiled = monkeypatch, cache._compile, []
        monkeypatch.setattr(cache, "_compile", self._counting)

    def _counting(self, owner, *rest):
        self._compiled.append(owner)
        return self._compile(owner, *rest)

    def compiled(self, folder):
        """Return the names of those that were compiled; all must work."""
        self._patch.setenv("KEYHOLE_CACHE_DIR", str(folder))
        self._patch.setattr(cache, "_alive", weakref.WeakValueDictionary())
        self._patch.setattr(cache, "_recent", {})
        cache._usable.cache_clear()
        self._compiled.clear()
        for function, result in ((twice, 10.0), (thrice, 15.0)):
            name, values = function.__name__, np.array([5.0])
            code = cache.compile_cached(name, name, lambda it=function: it, SIGNATURE)
            assert (code(values), values[0]) == (1, result)
        return list(self._compiled)


SIGNATURE = types.int64(types.float64[::1])
BOTH = ["twice", "thrice"]


@pytest.fixture
def starts(monkeypatch):
    yield Starts(monkeypatch)
    cache._usable.cache_clear()


@pytest.fixture
def full(starts, tmp_path):
    """Return a cache folder that holds both functions."""
    assert starts.compiled(tmp_path / "full") == BOTH
    assert starts.compiled(tmp_path / "full") == []
    return tmp_path / "full"


def test_a_folder_that_cannot_be_written_only_costs_time(starts, tmp_path):
    (tmp_path / "file").write_text("not a folder")
    assert starts.compiled(tmp_path / "file" / "below") == BOTH
    assert starts.compiled(tmp_path / "file" / "below") == BOTH


def test_damaged_files_are_compiled_anew(starts, full):
    for path in full.iterdir():
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    assert starts.compiled(full) == BOTH
    assert starts.compiled(full) == []


def test_a_script_and_standard_input_can_define_policies(tmp_path):
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
    for command, source in (([sys.executable, "script.py"], None), ([sys.executable, "-"], script)):
        done = subprocess.run(
            command, input=source, cwd=tmp_path, capture_output=True, text=True, timeout=120
        )
        assert done.stdout == "Mine() 0\n", done.stderr


def test_a_helper_defined_anew_is_noticed_within_a_process():
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


def test_importing_brings_nothing_that_only_reports_and_files_need():
    heavy = ["matplotlib", "pyarrow", "pydantic", "rich", "typer", "sklearn", "scipy.stats"]
    code = f"import keyhole, sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


TOGETHER = """
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


def test_code_compiled_by_different_processes_gets_along_in_one(tmp_path):
    names = ["LSA", "UCBE", "APT"]

    def play(cache, *which):
        done = subprocess.run(
            [sys.executable, "-c", TOGETHER, *which],
            env=os.environ | {"KEYHOLE_CACHE_DIR": str(tmp_path / cache)},
            capture_output=True,
            text=True,
            check=True,
            timeout=180,
        )
        return json.loads(done.stdout)

    alone = {name: play("shared", name)[name] for name in names}
    assert play("shared", *names) == alone  # all loaded, each compiled elsewhere
    assert play("shared", *reversed(names)) == alone


POSIX = pytest.mark.skipif(sys.platform == "win32", reason="owners and modes are POSIX's")


@POSIX
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_folder_that_others_may_write_to_is_not_used(starts, full, mode):
    full.chmod(mode)
    with pytest.warns(UserWarning, match="is not used for compiled code"):
        assert starts.compiled(full) == BOTH
    full.chmod(0o700)
    assert starts.compiled(full) == []


@POSIX
def test_a_file_that_others_may_write_to_is_not_loaded(starts, full):
    for path in full.iterdir():
        path.chmod(0o666)
    assert starts.compiled(full) == BOTH
    assert starts.compiled(full) == []  # written anew, as the user's own


@pytest.mark.parametrize("given", ["", "relative/folder"])
def test_a_cache_home_that_is_no_absolute_path_is_as_if_unset(monkeypatch, given):
    monkeypatch.delenv("KEYHOLE_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", given)
    assert cache.cache_folder().is_absolute()
    assert Path.cwd() not in cache.cache_folder().parents


@pytest.mark.parametrize("given", ["0", "-1", "many", "1.5"])
def test_a_size_that_is_none_is_refused(monkeypatch, given):
    monkeypatch.setenv("KEYHOLE_CACHE_MB", given)
    with pytest.raises(ValueError, match="KEYHOLE_CACHE_MB must be"):
        cache.cache_limit()


def test_the_oldest_go_first_when_the_folder_is_full(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("KEYHOLE_CACHE_MB", "1")
    for age in range(3):
        path = tmp_path / f"{age:064x}.code"
        path.write_bytes(bytes(400_000))
        os.utime(path, (1e9 - age, 1e9 - age))
    cache._save(tmp_path / f"{3:064x}.code", b"code")
    assert sorted(int(path.stem, 16) for path in tmp_path.iterdir()) == [0, 1, 3]
    assert cache.clear_cache() == 3
    assert cache.cached_files() == []


def test_long_compiling_is_announced_once(monkeypatch, tmp_path):
    workshop = Workshop(tmp_path)
    command = [sys.executable, "-c", QUIET]
    environment = os.environ | {"KEYHOLE_CACHE_DIR": str(workshop.cache)}
    first, second = (
        subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        for _ in range(2)
    )
    assert first.stderr == "keyhole: compiling Uniform (once, and kept for later runs)\n"
    assert second.stderr == ""


def test_what_cannot_be_kept_is_not_said_to_be(tmp_path):
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "cache"
    found = subprocess.run(
        [sys.executable, "-c", QUIET],
        env=os.environ | {"KEYHOLE_CACHE_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )
    said = f"keyhole: compiling Uniform (once, in every process: nothing can be kept in {folder})\n"
    assert found.stderr == said


QUIET = """
import keyhole.kernels.cache as cache
from keyhole.thresholding import Uniform
cache._SAY_AFTER_SECONDS = 0.0
Uniform().learner(arms=3, threshold=0.5).ask()
"""


def test_code_is_let_go_with_its_last_holder(monkeypatch):
    from keyhole.thresholding import Uniform

    monkeypatch.setattr(cache, "_RECENT", 0)
    learner = Uniform().learner(arms=2, threshold=0.5)
    held = weakref.ref(learner._step)
    assert held() is not None
    del learner
    gc.collect()
    assert held() is None


MANY = """
import resource
import keyhole.kernels.cache as cache
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
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the unit of ru_maxrss is Linux's")
def test_two_hundred_pairs_stay_below_a_gigabyte(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", MANY.format(count=200)],
        env=os.environ | {"KEYHOLE_CACHE_DIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) < 1_000_000


def test_code_under_another_name_is_not_taken(starts, full):
    one, other = full.glob("*.code")
    codes = one.read_bytes(), other.read_bytes()
    other.write_bytes(codes[0])
    one.write_bytes(codes[1])
    assert starts.compiled(full) == BOTH


def test_what_killed_processes_left_goes_with_the_rest(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path))
    name = "0" * 64
    for path in (f"{name}.code", f"{name}-x1.draft", f"{name}.lock", "mine.lock", "mine.code"):
        (tmp_path / path).write_bytes(b"")
    (tmp_path / f"{'1' * 64}.code").mkdir()
    assert cache.clear_cache() == 3
    assert sorted(path.name for path in tmp_path.iterdir())[1:] == ["mine.code", "mine.lock"]
