"""`keyhole cache why`, with a compiler that compiles next to nothing in place of kernels."""

import json
from types import SimpleNamespace

import pytest

from keyhole.draws.streams import uniform
from keyhole.kernels import compile_cache, kernel_decorators

MINE = """
from keyhole.thresholding import IndexPolicy

WIDTH = {width}

def wide(pulls):
    return WIDTH / pulls{more}

class Mine(IndexPolicy):
    def index(p, pulls: float, total: float) -> float:
        return wide(pulls) - abs(total / pulls - p.threshold)
"""
SPEC = """
name = "mine"
horizon = 20
replications = 2
seed = 1

[problem]
setting = "thresholding"
means = [0.2, 0.7]
threshold = 0.5

[[policy]]
name = "mine.py:Mine"
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    internals = kernel_decorators.import_internals()

    def compile_entry_point(function, signature, options):
        return internals.compile_entry_point(uniform, "float64(uint64[::1])", options)

    part = SimpleNamespace(compile_entry_point=compile_entry_point)
    monkeypatch.setattr(compile_cache, "import_internals", lambda: part)
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path / "code"))
    monkeypatch.setattr(compile_cache, "_functions", {})
    monkeypatch.chdir(tmp_path)
    (tmp_path / "spec.toml").write_text(SPEC)
    write_policy(tmp_path)
    return tmp_path


def write_policy(folder, width=1.0, more=""):
    (folder / "mine.py").write_text(MINE.format(width=width, more=more))


def explain(keyhole):
    """Return what is said of each kernel."""
    code, out, err = keyhole("cache", "why", "mine.py:Mine")
    assert (code, err) == (0, "")
    return dict(line.split(": ", 1) for line in out.splitlines())


def test_a_policy_that_was_never_compiled_has_nothing_to_be_compared_with(keyhole):
    assert set(explain(keyhole).values()) == {
        "not cached: never compiled here, or removed from the cache"
    }


def test_each_kernel_is_cached_or_names_what_changed(keyhole, folder, monkeypatch):
    assert keyhole("compile", "spec.toml", "--quiet")[0] == 0
    kernels = ("Mine", "Mine loaded from a file", "Mine in BernoulliRewardEnvironment")
    states = explain(keyhole)
    assert {kernel for kernel, state in states.items() if state == "cached"} == set(kernels)
    write_policy(folder, width=2.0)
    states = explain(keyhole)
    for kernel in kernels:
        assert states[kernel] == "not cached; changed: wide uses 'WIDTH' (1.0 -> 2.0)"
    assert "never compiled" in states["Mine in BetaRewardEnvironment"]
    write_policy(folder, more=" + 1.0")
    assert explain(keyhole)["Mine"] == "not cached; changed: the source of wide"
    write_policy(folder)
    monkeypatch.setattr(compile_cache, "_compiler_versions", lambda: ["9.9", "8.8"])
    (state,) = {explain(keyhole)[kernel] for kernel in kernels}
    assert state.startswith("not cached; changed: the versions of Numba and llvmlite (['0.")
    assert state.endswith(" -> ['9.9', '8.8'])")


def test_a_change_of_no_named_part_is_said_to_be_one(keyhole, monkeypatch):
    assert keyhole("compile", "spec.toml", "--quiet")[0] == 0
    path = compile_cache._code_path
    monkeypatch.setattr(compile_cache, "_code_path", lambda digest: path(f"{digest} changed"))
    assert explain(keyhole)["Mine"] == "not cached: what changed is not recorded"


def test_the_cached_version_with_the_fewest_differences_is_compared(keyhole, folder):
    for width, more in ((1.0, ""), (2.0, " + 1.0")):
        write_policy(folder, width, more)
        assert keyhole("compile", "spec.toml", "--quiet")[0] == 0
    write_policy(folder, 3.0, " + 1.0")
    code, out, _ = keyhole("cache", "why", "mine.py:Mine", "--json")
    assert code == 0
    changed = [{"part": "wide uses 'WIDTH'", "cached": "2.0", "now": "3.0"}]
    assert json.loads(out)[0] == {"kernel": "Mine", "cached": False, "changed": changed}


def test_a_policy_of_keyhole_is_found_by_its_name(keyhole):
    code, out, _ = keyhole("cache", "why", "LSA")
    assert code == 0
    assert "LSA in BernoulliRewardEnvironment: not cached: " in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["why"], "POLICY must be given with keyhole cache why"),
        (["info", "LSA"], "POLICY must be left out without keyhole cache why"),
        (["why", "LSB"], "POLICY must be one of APGAI, APT, "),
        (["why", "no.py:Mine"], "POLICY: there is no file 'no.py'"),
    ],
)
def test_bad_input_is_one_line(keyhole, words, message):
    code, out, err = keyhole("cache", *words)
    assert (code, out, len(err.splitlines())) == (2, "", 1)
    assert err.startswith(f"keyhole: {message}")


def test_where_nothing_is_compiled_that_is_said(keyhole, monkeypatch):
    monkeypatch.setenv("KEYHOLE_INTERPRET", "1")
    assert "KEYHOLE_INTERPRET is set" in keyhole("cache", "why", "LSA")[2]
