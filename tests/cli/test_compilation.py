"""`keyhole compile` and `keyhole compile_cache`."""

import json
from types import SimpleNamespace

import pytest

from keyhole.draws.streams import uniform
from keyhole.kernels import compile_cache, kernel_decorators
from tests.cli.conftest import TEXT
from tests.processes import python

JOBS = """
from keyhole.experiment.setting_registry import BUILT_IN, find_setting
from keyhole.experiment.compile_jobs import setting_jobs

for setting in BUILT_IN:
    print(*(name.replace(" ", "-") for name, _ in setting_jobs(find_setting(setting))))
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setenv("KEYHOLE_CACHE_DIR", str(tmp_path / "code"))
    monkeypatch.setattr(compile_cache, "_functions", {})
    return tmp_path / "code"


@pytest.fixture(params=[False, pytest.param(True, marks=pytest.mark.slow)])
def compiles_all(request, monkeypatch):
    """Have the compiler compile next to nothing in place of what it is given, or all of it."""
    if not request.param:
        internals = kernel_decorators.import_internals()

        def compile_entry_point(function, signature, options):
            return internals.compile_entry_point(uniform, "float64(uint64[::1])", options)

        part = SimpleNamespace(compile_entry_point=compile_entry_point)
        monkeypatch.setattr(compile_cache, "import_internals", lambda: part)


@pytest.mark.usefixtures("compiles_all")
def test_a_spec_is_compiled_ahead_shown_and_removed(keyhole, spec, folder):
    spec.write_text(TEXT.rpartition("[[policy]]")[0])
    code, out, _ = keyhole("compile", spec)
    assert code == 0
    assert [line.partition(": ")[2] for line in out.splitlines()[:-1]] == [
        "LSA",
        "LSA loaded from a file",
        "LSA in BernoulliRewardEnvironment",
    ]
    files = sorted(folder.glob("*.code"))
    assert len(files) == 3
    keyhole("compile", spec)
    assert sorted(folder.glob("*.code")) == files
    code, out, _ = keyhole("cache", "info")
    assert (code, out.splitlines()[0]) == (0, f"folder: {folder}")
    assert out.splitlines()[1].startswith("compiled code: 3 pieces, 0.")
    assert keyhole("cache", "clear")[1] == f"removed 3 pieces of compiled code from {folder}\n"
    assert list(folder.iterdir()) == []


@pytest.mark.usefixtures("compiles_all")
def test_it_says_what_was_compiled_as_json(keyhole, spec, folder):
    spec.write_text(TEXT.rpartition("[[policy]]")[0])
    names = ["LSA", "LSA loaded from a file", "LSA in BernoulliRewardEnvironment"]
    code, out, _ = keyhole("compile", spec, "--json")
    assert code == 0
    assert json.loads(out) == {"kernels": names, "compiled": 3}
    code, out, err = keyhole("compile", spec, "--json", "--quiet")
    assert (code, err) == (0, "")
    assert json.loads(out) == {"kernels": names, "compiled": 0}


def test_every_setting_lists_the_kernels_to_compile(tmp_path):
    # In a process of its own: custom distributions make environments, too.
    done = python("-c", JOBS, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    for names in map(str.split, done.stdout.splitlines()):
        assert len(names) == len(set(names)) > 4
    assert len(done.stdout.splitlines()) == 6


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compile", "tresholding"], "compile must be given one of the settings"),
        (["compile", "missing.toml"], "there is no file missing.toml"),
        (["cache", "empty"], "action must be one of info, clear, why; got 'empty'"),
    ],
)
def test_bad_input_is_one_line(keyhole, arguments, message):
    code, out, err = keyhole(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("option", [[], ["--quiet"]])
def test_quiet_commands_announce_no_compilation(keyhole, monkeypatch, option):
    quiet = []
    monkeypatch.setattr(
        "keyhole.cli.compilation.compile_ahead",
        lambda *_, **__: quiet.append(bool(compile_cache._quiet_contexts)),
    )
    assert keyhole("compile", "thresholding", *option)[0] == 0
    assert quiet == [bool(option)]
    assert not compile_cache._quiet_contexts
