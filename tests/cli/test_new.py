"""The stubs of `keyhole new`, run as a user would run them."""

import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from keyhole.cli.new import _spell_in_both_cases
from keyhole.experiment.setting_registry import BUILT_IN
from tests.nested_pytest import INTERPRETED_OR_COMPILED, run_pytest

ROOT = Path(__file__).parent.parent.parent
KINDS = ("policy", "setting", "entry", "problem")


def run_tests(folder, compiled):
    """Run pytest as in a folder of a stranger's own; return its exit code and what it printed."""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = run_pytest(compiled, "-W", "error", cwd=folder, env=env)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("compiled", INTERPRETED_OR_COMPILED)
def test_all_stubs_pass_their_tests_at_once(keyhole, tmp_path, compiled):
    for kind in KINDS:
        code, out, _ = keyhole("new", kind, f"My{kind.title()}", "--out", tmp_path)
        assert code == 0
        assert all((tmp_path / line).is_file() for line in out.splitlines())
    code, printed = run_tests(tmp_path, compiled)
    assert code == 0, printed
    assert "9 passed" in printed


@pytest.mark.parametrize("setting", BUILT_IN)
def test_the_stub_of_a_policy_has_the_state_that_its_setting_reads(setting, keyhole, tmp_path):
    keyhole("new", "policy", "Plain", "--setting", setting, "--out", tmp_path)
    runpy.run_path(str(tmp_path / "plain.py"))


@pytest.mark.slow
@pytest.mark.parametrize("setting_entry", BUILT_IN)
def test_the_stub_of_a_policy_keeps_the_contract_of_its_setting(setting_entry, keyhole, tmp_path):
    keyhole("new", "policy", "Plain", "--setting", setting_entry, "--out", tmp_path)
    code, printed = run_tests(tmp_path, True)
    assert code == 0, printed


def test_stubs_pass_the_linter(keyhole, tmp_path):
    for kind in KINDS:
        keyhole("new", kind, f"my_{kind}", "--out", tmp_path / "tests")
    for setting_entry in BUILT_IN:
        keyhole(
            "new",
            "policy",
            f"In_{setting_entry}",
            "--setting",
            setting_entry,
            "--out",
            tmp_path / "tests",
        )
    config = ["--config", str(ROOT / "pyproject.toml"), "--no-cache"]
    no_docstrings = ["--extend-per-file-ignores", "test_*.py:D"]
    for words in (["check", *config, *no_docstrings], ["format", "--check", *config]):
        done = subprocess.run(
            [sys.executable, "-m", "ruff", *words, str(tmp_path)],
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("name", "spellings"),
    [
        ("NarrowGap", ("narrow_gap", "NarrowGap")),
        ("narrow_gap", ("narrow_gap", "NarrowGap")),
        ("narrow-gap", ("narrow_gap", "NarrowGap")),
        ("UCB1", ("ucb1", "UCB1")),
        ("UCBV", ("ucbv", "UCBV")),
        ("UCB-V", ("ucbv", "UCBV")),
        ("Narrow_Gap", ("narrow_gap", "NarrowGap")),
        ("tao2019-setup1", ("tao2019_setup1", "Tao2019Setup1")),
    ],
)
def test_a_name_is_spelt_as_files_and_as_classes_are(name, spellings):
    assert _spell_in_both_cases(name) == spellings


@pytest.mark.parametrize("name", ["7", "a b", "", "class", "../x", "ä"])
def test_an_invalid_name_is_refused(name, keyhole, tmp_path):
    code, _, err = keyhole("new", "policy", name, "--out", tmp_path)
    assert code == 2
    assert err.startswith("keyhole: NAME must be a name such as")


def test_an_existing_file_is_kept(keyhole, tmp_path):
    (tmp_path / "test_mine.py").write_text("mine")
    code, _, err = keyhole("new", "policy", "Mine", "--out", tmp_path)
    assert code == 2
    assert "test_mine.py exists already" in err
    assert [path.name for path in tmp_path.iterdir()] == ["test_mine.py"]


def test_an_unknown_kind_or_setting_is_refused_with_the_nearest(keyhole):
    assert "(did you mean 'policy'?)" in keyhole("new", "polcy", "Mine")[2]
    assert "did you mean" in keyhole("new", "policy", "Mine", "--setting", "treshold")[2]
    assert (
        "--setting must be left out" in keyhole("new", "entry", "Mine", "--setting", "delayed")[2]
    )
